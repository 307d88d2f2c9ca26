"""A kernel given by a function of blocks, in an estimator as on its own."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from cases import rows, targets
from mercer import FunctionKernel, Gaussian, KernelRegressor, save
from mercer.testing import check_kernel

X, NEW = rows(40), rows(9, seed=5)
Y = targets(X)


def overlap(A, B):
    """The histogram intersection, a kernel that the library does not have."""
    return np.minimum(A[:, None], B).sum(axis=2)


def test_the_kernel_passes_the_public_checks():
    check_kernel(FunctionKernel(overlap))
    check_kernel(FunctionKernel(partial(rbf_kernel, gamma=2.0)))


@pytest.mark.parametrize(
    "function", [partial(rbf_kernel, gamma=2.0), RBF(0.5)], ids=["partial", "object"]
)
@pytest.mark.parametrize("basis", ["full", "landmarks"])
def test_a_function_is_the_kernel_that_it_computes(function, basis):
    wanted = KernelRegressor(Gaussian(0.5), basis, alpha=1e-3, dtype="float64", random_state=0)
    model = clone(wanted).set_params(kernel=function)
    found = pickle.loads(pickle.dumps(clone(model).fit(X, Y)))
    np.testing.assert_allclose(found.predict(NEW), wanted.fit(X, Y).predict(NEW), atol=1e-8)


def test_all_else_may_be_left_open():
    model = KernelRegressor(overlap).fit(X, Y)
    assert model.kernel_.get_params() == {"function": overlap}  # as given: not in a metric
    assert model.score(X, Y) > 0.8


def test_a_function_of_two_rows_as_scikit_learn_takes_it():
    def of_rows(x, z):
        return np.exp(-2.0 * np.sum((x - z) ** 2))

    theirs = KernelRidge(alpha=0.04, kernel=of_rows).fit(X, Y)
    ours = KernelRegressor(
        lambda A, B: pairwise_kernels(A, B, metric=of_rows), "full", 0.001, fit_intercept=False
    ).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-9)
    with pytest.raises(ValueError, match=r"must be a function of blocks|broadcast") as caught:
        KernelRegressor(of_rows).fit(X, Y)
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "metric=of_rows" in told


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A, B: A @ B.T + A[:, :1], r"must be symmetric, got K\(x, z\) = "),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "must be finite, got nan"),
        (lambda A, B: -overlap(A, B), "must be positive semi-definite, got the eigenvalue -"),
        (lambda A, B: (A @ B.T).ravel(), r"\(n, d\) and \(m, d\) -> \(n, m\).* got \(18,\)"),
    ],
    ids=["skew", "nan", "negative", "flat"],
)
def test_what_is_no_kernel_is_refused(function, words):
    with pytest.raises(ValueError, match=words):
        KernelRegressor(function).fit(X, Y)


def test_a_file_holds_no_code(tmp_path):
    for kernel in (overlap, FunctionKernel(overlap), Gaussian(0.5) + FunctionKernel(overlap)):
        model = KernelRegressor(kernel, alpha=1e-3).fit(X, Y)
        with pytest.raises(TypeError, match="is a function, and a model file never holds code"):
            save(model, tmp_path / "model")


def test_something_that_cannot_be_called():
    with pytest.raises(TypeError, match="function of FunctionKernel must be callable"):
        KernelRegressor(FunctionKernel("rbf")).fit(X, Y)
