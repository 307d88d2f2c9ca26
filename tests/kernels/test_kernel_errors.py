"""Bad parameters of kernels are refused in words that name them."""

import numpy as np
import pytest

from cases import rows
from mercer import (
    ArcCosine,
    ChiSquared,
    Gaussian,
    KernelRegressor,
    LaplacianL1,
    LaplacianL2,
    Matern,
    PeriodicSpline,
    Polynomial,
    RandomFeatures,
    Sobolev,
)
from mercer.kernels import Kernel, as_kernel
from pairs import over_each

X = rows(5)


@over_each(
    cls=[Gaussian, LaplacianL1, LaplacianL2, Matern, ChiSquared],
    wrong=[
        (0, "bandwidth must be a finite number greater than 0, got 0"),
        (0.0, "bandwidth must be a finite number greater than 0"),
        (-1.5, "got -1.5"),
        (np.nan, "got nan"),
        (np.inf, "got inf"),
        ([1.0, 0.0], "in column 1"),
        ([1.0, -2.0], "in column 1"),
        ([1.0, 2.0, 3.0], "X has 2 columns, bandwidth has shape"),
        (np.ones((2, 2)), "bandwidth has shape"),
        ("medain", "did you mean 'median'"),
        ("wide", "'median'"),
    ],
)
def test_bandwidths_that_are_no_length(cls, wrong):
    bandwidth, words = wrong
    with pytest.raises(ValueError, match="bandwidth") as caught:
        cls(bandwidth=bandwidth)(X)
    assert words in str(caught.value)


@pytest.mark.parametrize("bandwidth", [None, True, Gaussian()])
def test_bandwidths_that_are_no_number(bandwidth):
    with pytest.raises(TypeError, match="bandwidth must be a number"):
        Gaussian(bandwidth)(X)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Matern(nu=0.7), "nu of Matern must be 0.5, 1.5 or 2.5, got 0.7"),
        (Matern(nu="rough"), "nu of Matern must be 0.5, 1.5 or 2.5"),
        (Polynomial(degree=0), "degree of Polynomial must be at least 1, got 0"),
        (Polynomial(gamma=-1.0), "gamma of Polynomial"),
        (Polynomial(offset=-1.0), "offset of Polynomial"),
        (ArcCosine(order=2), "order of ArcCosine must be 0 or 1, got 2"),
        (PeriodicSpline(order=1.0), "order of PeriodicSpline"),
        (PeriodicSpline(order=np.nan), "order of PeriodicSpline"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_other_parameters(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel(X)
    with pytest.raises(ValueError, match=words):  # before any row is read
        KernelRegressor(kernel).fit("no such file.csv", "y")


@pytest.mark.parametrize("kernel", [Polynomial(degree=1.5), Polynomial(degree=True)], ids=str)
def test_degrees_that_are_not_whole(kernel):
    with pytest.raises(TypeError, match="degree of Polynomial must be an integer"):
        kernel(X)


def test_a_smoothness_without_closed_form_is_refused_for_random_features_too():
    """The same parameter must not be an error with one basis and pass with another."""
    with pytest.raises(ValueError, match=r"nu of Matern must be 0.5, 1.5 or 2.5, got 0.7"):
        RandomFeatures(10, kernel=Matern(nu=0.7), random_state=0).fit(X)


def test_orthogonal_features_of_the_l1_laplacian():
    with pytest.raises(ValueError, match=r"orthogonal=True needs .* LaplacianL2"):
        RandomFeatures(10, orthogonal=True, kernel=LaplacianL1(), random_state=0).fit(X)


@pytest.mark.parametrize("kernel", [Polynomial(), Sobolev()], ids=str)
def test_kernels_without_random_features_say_what_to_use(kernel):
    with pytest.raises(ValueError, match=r"has no random features; try basis='landmarks'"):
        RandomFeatures(10, kernel=kernel, random_state=0).fit(X)


@pytest.mark.parametrize("kernel", [Sobolev(), ChiSquared(1.0)], ids=str)
def test_values_below_zero_are_refused_in_every_place(kernel):
    below = X - 0.9
    for call in (
        lambda: kernel(below),
        lambda: kernel(X, below),
        lambda: kernel(below, X),
        lambda: kernel.diag(below),
    ):
        with pytest.raises(ValueError, match=r"needs nonnegative columns"):
            call()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sigmoid", r"'sigmoid' is no kernel: tanh.* is positive semi-definite for no gamma .*try"),
        ("additive_chi2", r"is no kernel: .* try ChiSquared\(\)"),
    ],
)
def test_functions_of_scikit_learn_that_are_no_kernels(name, words):
    for call in (lambda: as_kernel(name), lambda: KernelRegressor(name).fit(X, X[:, 0])):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("rbf", Gaussian), ("laplacian", LaplacianL1), ("poly", Polynomial), ("chi2", ChiSquared)],
)
def test_names_of_scikit_learn(name, kind):
    assert type(as_kernel(name)) is kind


def test_unknown_names_get_the_closest():
    with pytest.raises(ValueError, match=r"unknown kernel 'gausian'; did you mean 'gaussian'\?"):
        as_kernel("gausian")
    with pytest.raises(ValueError, match=r"unknown kernel 'zzz'; it must be one of 'gaussian'"):
        as_kernel("zzz")


def test_a_class_is_not_an_object():
    with pytest.raises(TypeError, match=r"got the class Gaussian: write Gaussian\(\)"):
        as_kernel(Gaussian)


def test_other_things_are_not_kernels():
    with pytest.raises(TypeError, match=r"kernel must be a name .* got float"):
        as_kernel(1.5)


def test_an_unfinished_kernel_says_what_is_missing():
    class Mine(Kernel):
        pass

    with pytest.raises(TypeError, match=r"Mine does not define against\(\)"):
        Mine()(X)
    with pytest.raises(TypeError, match=r"Mine does not define diag\(\)"):
        Mine().diag(X)
