"""Distances of sparse rows, by sparse or dense points: compared with differences, one by one."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer import Gaussian, Matern
from mercer.kernels import distances
from mercer.kernels.combined import InMetric
from mercer.kernels.distances import MET, ScaledDistances, share_met
from mercer.kernels.metric import Metric
from pairs import over_each

D = 2000
CLOSE = {"float32": 3e-6, "float64": 1e-13}


def thin(n_rows, seed=0, filled=0.02):
    """Rows with few values, the last of them with none."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n_rows, D)) * (rng.random((n_rows, D)) < filled)
    values[-1] = 0.0
    return values


def expected(X, Z, bandwidth=1.0):
    scale = np.ones(X.shape[1]) * bandwidth
    return -0.5 * cdist(X / scale, Z / scale, "sqeuclidean")


def with_indices(X, dtype):
    """Sparse rows whose indices have this type."""
    found = sparse.csr_array(X)
    found.indices, found.indptr = found.indices.astype(dtype), found.indptr.astype(dtype)
    return found


@over_each(
    precision=["float32", "float64"],
    bandwidth=[2.0, np.linspace(0.5, 3.0, D)],
    points=[np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array],
    indices=[np.int32, np.int64],
    dtype=[np.float64, np.float32, np.int64],
)
def test_sparse_rows_and_points(precision, bandwidth, points, indices, dtype):
    X, Z = (np.round(4 * thin(n, seed)).astype(dtype) for n, seed in ((60, 0), (25, 1)))
    rows, given = with_indices(X, indices), points(Z)
    assert share_met(given) <= MET
    found = ScaledDistances(given, bandwidth, precision)(rows)
    assert found.dtype == precision
    np.testing.assert_allclose(found, expected(X, Z, bandwidth), rtol=1e-6, atol=CLOSE[precision])
    np.testing.assert_array_equal(rows.toarray(), X)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_dense_rows_and_sparse_points(precision):
    X, Z = thin(60) + 0.1, thin(25, 1)
    found = ScaledDistances(sparse.csr_array(Z), 2.0, precision)(X)
    np.testing.assert_allclose(found, expected(X, Z, 2.0), rtol=1e-6, atol=CLOSE[precision])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("met", [0.0, 1.0])
def test_sparse_and_dense_points_agree(precision, met, monkeypatch):
    monkeypatch.setattr(distances, "MET", met)
    X, Z = thin(60, filled=0.2), thin(25, 1, filled=0.2)
    found = ScaledDistances(Z, 2.0, precision)(sparse.csr_array(X))
    np.testing.assert_allclose(found, expected(X, Z, 2.0), rtol=1e-6, atol=CLOSE[precision])


def test_tiles_are_the_rows(monkeypatch):
    X, Z = thin(60), thin(25, 1)
    whole = ScaledDistances(Z, 1.0, "float64")(sparse.csr_array(X))
    monkeypatch.setattr(distances, "TILE", 25 * 7)  # sixty rows in nine tiles
    turned = np.empty((25, 60)).T  # blocks of moments have the order of columns
    parts = ScaledDistances(Z, 1.0, "float64")(sparse.csr_array(X), turned)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("offset", [1.0, 1e2, 1e4, 1e6])
def test_a_full_column_far_from_zero(precision, offset):
    """One column that every row has, far out: sparse rows are not shifted."""
    X, Z = thin(60), thin(25, 1)
    X[:, 0], Z[:, 0] = offset + np.arange(60) / 64, offset + np.arange(25) / 64
    found = ScaledDistances(Z, 1.0, precision)(sparse.csr_array(X))
    atol = CLOSE[precision] + 1e-15 * offset**2
    np.testing.assert_allclose(found, expected(X, Z), rtol=2e-6, atol=atol)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.5, 1.0)], ids=str)
@pytest.mark.parametrize("filled", [0.02, 0.5])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_gram_matrices_of_sparse_points(kernel, filled, offset):
    """They are factored, so that an offset must cost no digits beyond 1e-7."""
    Z = thin(100, filled=filled) / 4
    Z[:, 0] = offset + np.arange(100) / 64
    assert (share_met(Z) <= MET) == (filled < 0.5)
    np.testing.assert_allclose(kernel(sparse.csr_array(Z)), kernel(Z), rtol=0, atol=1e-7)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gram_matrices_of_sparse_points_in_a_metric(offset):
    Z = thin(100) / 4
    Z[:, 0] = offset + np.arange(100) / 64
    kernel = InMetric(Gaussian(1.0), Metric(None, np.linspace(0.5, 1.5, D)))
    np.testing.assert_allclose(kernel(sparse.csr_array(Z)), kernel(Z), rtol=0, atol=1e-7)


def test_values_that_are_stored_twice_add_up():
    where = np.array([0, 5, 5, 7, 2]), np.array([0, 3, 5])
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, -1.0, 4.0]), *where), shape=(2, D))
    Z, before = thin(25, 1), X.data.copy()
    for points in (Z, thin(25, 1, filled=0.9)):
        found = ScaledDistances(points, 1.0, "float64")(X)
        np.testing.assert_allclose(found, expected(X.toarray(), points), rtol=1e-13)
    np.testing.assert_array_equal(X.data, before)


def test_nothing_is_positive_and_equal_rows_have_distance_zero():
    Z = thin(40)
    found = ScaledDistances(Z, 1.0, "float64")(sparse.csr_array(Z))
    assert found.max() <= 0.0
    np.testing.assert_allclose(np.diag(found), 0.0, atol=1e-14)


def test_no_values_at_all():
    found = ScaledDistances(np.zeros((3, D)), 1.0, "float64")(sparse.csr_array((4, D)))
    np.testing.assert_array_equal(found, np.zeros((4, 3)))


@pytest.mark.parametrize("filled", [0.01, 0.5])
def test_the_share_of_points_that_values_meet(filled):
    Z = thin(400, filled=filled)
    pairs = (sparse.csr_array(Z) != 0).astype(float)
    met = (pairs @ pairs.T).sum() / (400 * pairs.sum())
    assert share_met(Z) == pytest.approx(met) == share_met(sparse.csr_array(Z))
    assert met == pytest.approx(filled, rel=0.3)
