"""Scales of columns: sums that add, and quantiles that bear anything."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtri
from scipy.stats import rankdata

from mercer.columns import ColumnSums, column_sums, quantile_scaling
from mercer.columns.column_encoders import DateColumn
from mercer.columns.scaling import StandardScaling
from mercer.kernels import Metric
from mercer.metric import learned_matrix
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.storage.state import check_state

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 3)) * [1.0, 1e-6, 1e5] + [0.0, 1e3, -1e8]


@pytest.mark.parametrize("parts", [1, 2, 9])
def test_sums_of_parts_add_up_far_from_zero(parts):
    pieces = [ColumnSums.of(part) for part in np.array_split(X, parts)]
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    np.testing.assert_allclose(total.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(total.scale, X.std(axis=0), rtol=1e-6)


def test_weights_are_repeated_rows():
    weight = RNG.integers(1, 4, len(X)).astype(float)
    total = ColumnSums.of(X, weight)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(total.scale, repeated.std(axis=0), rtol=1e-6)


def test_a_constant_column_maps_to_zeros_even_with_rounding():
    constant = np.column_stack([X, np.full(len(X), 0.1), np.full(len(X), 1e9 / 3)])
    rows = RowSet.in_one_place(ArraySource(constant))
    scaling = column_sums(rows).scaling()
    assert scaling.scale[3:].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(scaling(constant)[:, 3:], 0.0)


@pytest.mark.parametrize("weight", [None, RNG.random(200)], ids=["alike", "weighted"])
def test_sparse_columns_have_the_means_and_spreads_of_dense_ones(weight):
    thin = sparse.random(200, 5, 0.3, format="csr", random_state=0)
    thin[:, 4] = 1e8 + RNG.random((200, 1))  # squares about 0 would lose all of its spread
    total, expected = (ColumnSums.of(rows, weight) for rows in (thin, thin.toarray()))
    np.testing.assert_allclose(total.mean, expected.mean, rtol=1e-13)
    np.testing.assert_allclose(total.scale, expected.scale, rtol=1e-6)
    twice = sparse.csr_array(  # a value that is stored in two parts is their sum
        (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), shape=(2, 1)
    )
    np.testing.assert_allclose(ColumnSums.of(twice).scale, [0.5])


def test_centered_sparse_rows_are_sparse_rows_and_a_shift():
    thin = sparse.random(200, 5, 0.3, format="csr", random_state=0)
    scaling = ColumnSums.of(thin).scaling()
    scaled, expected = scaling(thin), scaling(thin.toarray())
    assert scaled.values.nnz == thin.nnz
    np.testing.assert_allclose(np.asarray(scaled), expected, atol=1e-13)
    np.testing.assert_allclose(np.asarray(scaled[10:20]), expected[10:20], atol=1e-13)
    W = RNG.standard_normal((5, 3))
    np.testing.assert_allclose(scaled @ W, expected @ W, atol=1e-12)
    assert sparse.issparse(scaling.uncentered()(thin))
    for matrix in (RNG.random(5), np.array([1.0, 0.0, 2.0, 0.0, 0.0]), W):
        metric = Metric(scaling, matrix)
        np.testing.assert_allclose(np.asarray(metric(thin)), metric(thin.toarray()), atol=1e-12)


def test_quantiles_of_values_that_differ_by_rounding_are_one():
    noise = np.where(np.arange(10) % 2, 0.3, 0.1 + 0.2)[:, None]
    assert len(np.unique(noise)) == 2
    np.testing.assert_allclose(quantile_scaling(noise)(noise), 0.0, atol=1e-12)


def test_days_that_are_weeks_apart_have_the_same_quantiles():
    days = DateColumn(origin=18000.0, fill=18000.0, cycles=("week", "day"))
    columns = days.encoded(np.arange(18000.0, 19400.0) + 0.5)[:, 1:]
    assert [len(np.unique(column)) for column in columns.T] == [7, 7, 1, 1]
    scaled = quantile_scaling(columns)(columns)
    assert np.ptp(scaled.reshape(200, 7, 4), axis=0).max() == 0.0


def test_slopes_of_quantiles_at_knots():
    column = np.array([[0.0], [1.0], [3.0]])
    scaling = quantile_scaling(column)
    sides = [scaling.slope(column + sign * 1e-9) for sign in (1, -1)]
    np.testing.assert_allclose(scaling.mean_slope(column), np.mean(sides, axis=0))
    np.testing.assert_array_equal(scaling.slope(column), sides[1])


def test_quantiles_bear_outliers_and_heavy_tails():
    column = RNG.standard_cauchy((2000, 1))
    column[7] = 1e12
    scaled = quantile_scaling(column)(column)
    assert abs(scaled.mean()) < 0.01
    assert abs(scaled.std() - 1) < 0.01
    assert np.abs(scaled).max() < 3.5
    order = np.argsort(column[:, 0])
    assert (np.diff(scaled[order, 0]) >= 0).all()


@pytest.mark.parametrize("values", [[1.0], [0.0, 1.0], np.arange(300.0)], ids=len)
def test_quantiles_of_few_values(values):
    column = RNG.choice(values, (400, 1))
    scaling = quantile_scaling(column)
    check_state(scaling, d=1)
    scaled = scaling(column)
    assert np.isfinite(scaled).all()
    assert len(np.unique(scaled)) == len(np.unique(column)) or len(values) == 300


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_slopes_are_derivatives(scaling):
    rows = RNG.standard_normal((500, 3)) * [1.0, 1e-3, 1e4]
    found = ColumnSums.of(rows).scaling() if scaling == "standard" else quantile_scaling(rows)
    at, step = rows[:50], 1e-6 * rows.std(axis=0)
    expected = (found(at + step) - found(at - step)) / (2 * step)
    before, after = (np.broadcast_to(found.slope(at + s), at.shape) for s in (-step, step))
    smooth = before == after  # no knot in between
    assert smooth.mean() > 0.3
    np.testing.assert_allclose(after[smooth], expected[smooth], rtol=1e-6)


def test_states_from_files_are_checked():
    with pytest.raises(ValueError, match="shape"):
        check_state(StandardScaling(np.zeros(2), np.ones(3)), d=3)
    with pytest.raises(ValueError, match="at least 0"):
        check_state(StandardScaling(np.zeros(3), np.array([1.0, -1.0, 1.0])), d=3)
    backwards = quantile_scaling(X)
    backwards.knots[:] = backwards.knots[:, ::-1]
    with pytest.raises(ValueError, match="increase"):
        check_state(backwards, d=3)


def test_a_root_of_nothing_is_no_metric():
    assert learned_matrix(np.zeros(3), 0.5) is None
    assert learned_matrix(np.zeros((3, 3)), 0.25) is None


def test_a_root_of_the_full_matrix():
    A = RNG.standard_normal((4, 4))
    G = A @ A.T
    P = learned_matrix(G, 0.5)
    np.testing.assert_allclose(P @ P.T, G / np.linalg.eigvalsh(G)[-1], atol=1e-10)


def test_equal_values_share_their_middle_rank():
    column = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 9.0])
    quantile = ndtri((rankdata(column) - 0.5) / 6)
    quantile = (quantile - quantile.mean()) / quantile.std()
    found = quantile_scaling(column[:, None])(column[:, None])
    np.testing.assert_allclose(found[:, 0], quantile)
