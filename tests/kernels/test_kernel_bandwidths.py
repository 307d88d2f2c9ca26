"""The bandwidth: a number, one a column, or the median distance between distinct rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from cases import rows
from mercer import Gaussian, LaplacianL1, LaplacianL2, Matern
from mercer.kernels.bandwidth import SAMPLE, median_distance

STATIONARY = [Gaussian, LaplacianL1, LaplacianL2, Matern]


def test_the_median_is_that_of_all_pairs():
    X = rows(41)
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=1e-14)
    assert median_distance(X, "cityblock") == pytest.approx(np.median(pdist(X, "cityblock")))


def test_duplicated_rows_change_nothing():
    X = rows(41)
    many = np.vstack([X, X[:20], X[:20], X[[0] * 50]])
    assert median_distance(many) == median_distance(X)


def test_the_order_of_rows_changes_nothing():
    X = rows(41)
    assert median_distance(X[::-1]) == pytest.approx(median_distance(X), rel=1e-14)


def test_sparse_rows_have_the_same_median():
    X = rows(41)
    X[X < 0.3] = 0.0
    assert median_distance(sparse.csr_array(X)) == median_distance(X)


@pytest.mark.parametrize("X", [np.zeros((5, 2)), np.ones((1, 3))], ids=["equal rows", "one row"])
def test_without_two_distinct_rows_the_bandwidth_is_one(X):
    assert median_distance(X) == 1.0


def test_many_rows_are_thinned_and_stay_close():
    X = np.random.default_rng(0).standard_normal((5 * SAMPLE + 3, 2))
    assert median_distance(X) == pytest.approx(median_distance(X[:SAMPLE]), rel=0.1)


@pytest.mark.parametrize("cls", STATIONARY)
@pytest.mark.parametrize("word", ["auto", "median"])
def test_fitted_turns_the_word_into_a_number_and_leaves_the_kernel(cls, word):
    X = rows(41)
    assert cls().bandwidth == "auto"
    kernel = cls(bandwidth=word)
    fitted = kernel.fitted(X)
    assert kernel.bandwidth == word
    assert fitted.bandwidth == median_distance(X, kernel.metric)
    assert type(fitted) is cls
    assert fitted.fitted(X) is fitted


def test_the_laplacian_takes_the_median_of_its_own_distance():
    X = rows(41)
    assert LaplacianL1().fitted(X).bandwidth == np.median(pdist(X, "cityblock"))
    assert LaplacianL2().fitted(X).bandwidth == np.median(pdist(X))


@pytest.mark.parametrize("cls", STATIONARY)
def test_with_bandwidth_is_a_copy(cls):
    kernel = cls(bandwidth=1.0)
    other = kernel.with_bandwidth(2.0)
    assert (kernel.bandwidth, other.bandwidth, type(other)) == (1.0, 2.0, cls)


def test_with_bandwidth_keeps_other_parameters():
    assert Matern(nu=2.5).with_bandwidth(3.0).nu == 2.5
