"""Sums over blocks: any blocks, any number of lanes, float32 with the digits that matter."""

from dataclasses import fields

import numpy as np
import pytest

from cases import BASES, DTYPES, KERNELS, Case, fits_together, rows, targets, weights
from mercer import Gaussian, Landmarks, LaplacianL1, Moments, Polynomial
from mercer.contracts import Reading
from mercer.moments import MomentSums, Workspace, sum_moments
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.targets.number_targets import Numbers
from pairs import all_pairs, over_each

NAMES = [field.name for field in fields(Moments)]


def sums_of(basis, X, Y, w=None, block=None):
    """Accumulate in blocks of some rows."""
    sums = MomentSums(basis, Y.shape[1])
    block = block or len(X)
    for start in range(0, len(X), block):
        at = slice(start, start + block)
        sums.add(X[at], Y[at], None if w is None else w[at])
    return sums.total()


def assert_close(found, expected, rtol):
    for name in NAMES:
        value = getattr(expected, name)
        np.testing.assert_allclose(
            getattr(found, name), value, rtol=0, atol=rtol * np.max(np.abs(value)), err_msg=name
        )


@over_each(
    kernel=KERNELS,
    how=all_pairs([basis for basis in BASES if basis != "full"], DTYPES, [False, True], [1, 7, 30]),
    allowed=lambda kernel, how: fits_together(kernel, *how),
)
def test_blocks_of_any_size_are_the_definition(kernel, how):
    basis, dtype, weighted, block = how
    X, Y = rows(), targets(rows(), outputs=2)
    w = weights() if weighted else None
    case = Case(kernel, basis, dtype)
    basis = case.estimator().fit(X, Y).basis_
    expected = Moments.of(basis.orthogonalized(X), Y, w)
    # Orthogonalized functions differ between blocks by the rounding of h over the smallest pivot.
    factor = getattr(basis, "factor_", np.eye(1))
    tolerance = case.rounding / min(1.0, np.diag(factor).min())
    assert_close(sums_of(basis, X, Y, w, block), expected, tolerance)


def whitened_error(orthogonalized):
    """The error of A = R'SR/n in float32, for a wide positive kernel on many rows."""
    rng = np.random.default_rng(0)
    X = rng.random((6000, 3))
    basis = Landmarks(300, random_state=0)
    basis.fit_source(ArraySource(X), Gaussian(0.7), np.random.default_rng(0), "float32")
    # The values of h are rounded in both ways: what is tested is the sum.
    H = (basis.orthogonalized(X) if orthogonalized else basis.evaluate(X)).astype(np.float32)
    S = np.zeros((basis.size, basis.size))
    for start in range(0, 6000, 2000):
        block = H[start : start + 2000]
        S += block.T @ block
    exact = H.astype(np.float64)
    difference = S - exact.T @ exact
    if orthogonalized:
        return np.abs(basis.whitener().matrix(difference)).max() / len(X)
    half = np.linalg.solve(basis.factor_, difference)
    return np.abs(np.linalg.solve(basis.factor_, half.T)).max() / len(X)


def test_grading_takes_the_error_of_float32_sums_away():
    assert whitened_error(orthogonalized=True) < whitened_error(orthogonalized=False) / 30


def accumulated(lanes, precision="float64", y_offset=0.0, folds=1):
    """Moments of 3000 rows through the lanes of the engine."""
    X = np.random.default_rng(0).random((3000, 2))
    y = np.sin(X.sum(axis=1)) + y_offset
    source = ArraySource(X, y, np.random.default_rng(1).random(3000))
    kernel = LaplacianL1(0.5)
    basis = Landmarks(100).fit_source(source, kernel, np.random.default_rng(2), precision)
    targets = Numbers("", intercept=True).of_source(source)
    return sum_moments(
        RowSet.in_one_place(source), targets, basis, Reading(256, lanes, folds), seed=2
    )


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("folds", [1, 3])
def test_any_number_of_lanes_agrees_to_rounding(precision, folds):
    one = accumulated(1, precision, folds=folds)
    assert sum(fold.rows for fold in one) == 3000
    for lanes in (2, 3):
        for found, expected in zip(accumulated(lanes, precision, folds=folds), one, strict=True):
            assert_close(found, expected, 1e-12 if precision == "float64" else 1e-6)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_same_number_of_lanes_is_the_same_bit_for_bit(precision, lanes):
    first, second = accumulated(lanes, precision)[0], accumulated(lanes, precision)[0]
    for name in NAMES:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_an_offset_of_y_is_taken_off_before_it_is_summed(precision):
    near, far = accumulated(1, precision)[0], accumulated(1, precision, y_offset=1e6)[0]
    for name in ("gram", "sum_h", "cross", "sum_yy", "weight"):
        value = getattr(near, name)
        np.testing.assert_allclose(
            getattr(far, name), value, rtol=0, atol=1e-6 * np.max(np.abs(value)), err_msg=name
        )


def basis_at(points, kernel, precision="float64"):
    basis = Landmarks(sampling=points)
    source = ArraySource(np.asarray(points, dtype=float))
    return basis.fit_source(source, kernel, np.random.default_rng(0), precision)


def test_sums_start_at_zero_and_count():
    empty = MomentSums(basis_at(rows(3), Gaussian(0.5)), 1).total()
    assert (empty.rows, empty.weight, empty.gram.sum()) == (0, 0.0, 0.0)


def test_sums_of_no_functions():
    basis = basis_at(np.zeros((3, 2)), Polynomial(2, 1.0, 0.0))
    assert basis.size == 0
    found = sums_of(basis, rows(), targets(rows(), 2))
    assert (found.rows, found.gram.shape, found.cross.shape) == (30, (0, 0), (0, 2))


@pytest.mark.parametrize("large", [0, 1])
def test_an_overflow_of_any_function_is_found(large):
    """A single function that overflows float32 must not pass as an infinite moment."""
    basis = basis_at(np.eye(2), Polynomial(3, 1.0, 0.0), "float32")
    assert basis.size == 2
    X = np.ones((4, 2))
    X[:, large] = 1e8
    with pytest.raises(ValueError, match=r"overflow float32: scale the columns of X"):
        sums_of(basis, X, np.ones((4, 1)))


def test_running_sums_of_float32_blocks_are_kept_in_float64():
    """Of 2,000 blocks each rounds its own products; what was added before is not rounded again."""
    X = np.random.default_rng(0).random((10_000, 2))
    basis = basis_at(rows(5, seed=7), LaplacianL1(0.5), "float32")
    H = basis.orthogonalized(X).astype(np.float64)
    found = sums_of(basis, X, np.ones((len(X), 1)), block=5)
    assert {getattr(found, name).dtype for name in ("gram", "cross", "sum_h")} == {H.dtype}
    error = np.abs(found.gram - H.T @ H) / np.sqrt(np.outer(*[np.sum(H**2, axis=0)] * 2))
    assert error.max() < 3e-8


def test_absorbing_a_lane_adds_it():
    X, Y = rows(), targets(rows(), outputs=2)
    basis = basis_at(rows(5, seed=7), LaplacianL1(0.5))
    workspace = Workspace(basis.size, "float64")
    left, right = (MomentSums(basis, 2, workspace) for _ in range(2))
    left.add(X[:10], Y[:10])
    right.add(X[10:], Y[10:])
    left.absorb(right)
    assert_close(left.total(), Moments.of(basis.orthogonalized(X), Y), 1e-12)


def test_sums_may_share_their_buffers():
    X, Y = rows(), targets(rows(), outputs=2)
    basis = basis_at(rows(5, seed=7), LaplacianL1(0.5))
    workspace = Workspace(basis.size, "float64")
    sums = [MomentSums(basis, 2, workspace) for _ in range(2)]
    for start in (0, 10, 20):
        for number, one in enumerate(sums):
            at = slice(start + 5 * number, start + 5 * number + 5)
            one.add(X[at], Y[at])
    together = sums[0].total() + sums[1].total()
    assert_close(together, Moments.of(basis.orthogonalized(X), Y), 1e-12)
