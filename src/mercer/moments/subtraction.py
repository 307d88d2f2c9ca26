"""Subtract rows that were added, and refuse others: what is left must be sums over some rows.

.. math::

    G = \\sum_i w_i z_i z_i' \\succeq 0, \\qquad z_i = (h(x_i), 1, y_i)

If rows were never added, or were subtracted before, or had another weight, the matrix that is left
can have negative eigenvalues; no set of rows has such sums. A single row of leverage
``w h'S^+h > 1`` is a case of this. By the Schur complement, G is positive semi-definite if and only
if ``A = sum_i w_i (h_i, 1)(h_i, 1)'`` is, and ``sum_i w_i y_i^2 >= b'A^+b`` for
``b = sum_i w_i (h_i, 1) y_i`` (Boyd and Vandenberghe, 2004, appendix A.5.5).

Subtraction also leaves the rounding of the largest sums there ever were. If what is left is too
small against that, it is refused as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer.contracts import Array, Precision
from mercer.moments.moments import Moments
from mercer.storage.state import Part, Sizes, State

#: Negative eigenvalues up to this share of the trace are rounding. Functions of similar landmarks
#: are orthogonalized, which multiplies the rounding of float64 by up to some 10^4.
ROUNDING = {"float32": 4e-6, "float64": 1e-10}
#: The largest relative rounding error that what is left may have, and in units of rounding.
LOST, LOST_UNITS = 1e-6, 1e4
ASKED = (
    "forget needs rows that were fitted and not yet forgotten, with the same targets and weights"
)
CHECK = "remember_rows=True tells which rows those are"


class NotAddedError(ValueError):
    """The rows to subtract cannot have been added before."""


@dataclass(frozen=True)
class Peak:
    """The largest sums there were: ``trace(S)`` and the sums of y^2, whose rounding remains."""

    state = State(sum_yy=Part(np.ndarray))
    trace: float
    sum_yy: Array  # (k,)

    @classmethod
    def of(cls, moments: Moments) -> Peak:
        """Return the sums of moments."""
        return cls(float(np.trace(moments.gram)), np.asarray(moments.sum_yy, dtype=np.float64))

    def joined(self, other: Peak | None) -> Peak:
        """Return the larger of both.

        >>> Peak(2.0, np.array([1.0])).joined(Peak(1.0, np.array([3.0])))
        Peak(trace=2.0, sum_yy=array([3.]))
        """
        if other is None:
            return self
        return Peak(max(self.trace, other.trace), np.maximum(self.sum_yy, other.sum_yy))

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless all sums are finite and nonnegative."""
        outputs = sizes["k"]
        values = np.concatenate([[self.trace], np.asarray(self.sum_yy, dtype=float).ravel()])
        if values.shape != (outputs + 1,) or not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError(f"the largest sums must be {outputs + 1} nonnegative numbers")


def subtracted(
    total: Moments,
    part: Moments,
    precision: Precision = "float64",
    peak: Peak | None = None,
    origin: Array | float = 0.0,
) -> Moments:
    """Return ``total - part``; raise NotAddedError if ``part`` cannot be a part of ``total``.

    Parameters
    ----------
    total, part : Moments
        The sums of all rows, and of those to subtract.
    precision : "float32" or "float64"
        That of block products, whose rounding is in the sums.
    peak : Peak or None
        The largest sums before; None if they were never larger than ``total``.
    origin : array of shape (k,)
        What was subtracted from y, in its units here.

    Examples
    --------
    >>> H, y = np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])
    >>> subtracted(Moments.of(H, y), Moments.of(H[:1], y[:1])).gram
    array([[4.]])
    >>> subtracted(Moments.of(H, y), Moments.of(3 * H[:1], y[:1]))
    Traceback (most recent call last):
        ...
    mercer.moments.subtraction.NotAddedError: these rows cannot all be in the model: without them, \
the sums over x would not be those of any rows; forget needs rows that were fitted and not yet \
forgotten, with the same targets and weights (remember_rows=True tells which rows those are)
    """
    left = total - part
    peak = Peak.of(total).joined(peak)
    eps = float(np.finfo(precision).eps)
    _check_counts(total, part)
    _check_sums(left, peak, ROUNDING[precision] * peak.trace)
    _check_lost(left, peak, eps, origin)
    return left


def _check_counts(total: Moments, part: Moments) -> None:
    """Raise NotAddedError if there are fewer rows, or less weight, than is subtracted."""
    for name, label in (
        ("rows", "rows"),
        ("target_rows", "labelled rows"),
        ("weight", "weight"),
        ("target_weight", "weight of labelled rows"),
    ):
        have, given = getattr(total, name), getattr(part, name)
        if given - have > 1e-9 * have:
            raise NotAddedError(
                f"these rows cannot all be in the model, which has {label} {have:.6g}, but "
                f"{given:.6g} were given; {ASKED} ({CHECK})"
            )


def _check_lost(left: Moments, peak: Peak, eps: float, origin: Array | float) -> None:
    """Raise ValueError if the rounding of earlier sums is too much of what is left."""
    limit = max(LOST, LOST_UNITS * eps)
    double = float(np.finfo(np.float64).eps)
    trace = max(float(np.trace(left.gram)), 0.0)
    # In the units of y, a mean that only the origin hides is not small.
    square = left.sum_yy + 2.0 * origin * left.sum_y + left.target_weight * np.square(origin)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_x = float(np.nan_to_num(np.float64(eps * peak.trace) / trace))
        ratio = np.where(peak.sum_yy > 0, peak.sum_yy / np.maximum(square, 0.0), 0.0)
        of_y = float(np.max(np.maximum(double * ratio, eps * np.sqrt(ratio)), initial=0.0))
    lost = "X" if of_x > limit else "y"
    if max(of_x, of_y) <= limit:
        return
    raise ValueError(
        f"after forgetting these rows, rounding would be {min(max(of_x, of_y), 1.0):.1g} of the "
        f"sums of {lost} that are left, because values of {lost} that were in the model are so "
        f"much larger: fit again from the rows that remain"
    )


def _check_sums(left: Moments, peak: Peak, tolerance: float) -> None:
    """Raise NotAddedError unless the matrix of (h, 1, y) is positive semi-definite."""
    if not tolerance > 0:
        return
    ones = np.sqrt(peak.trace / max(left.weight, 1e-300))  # so that 1 counts as much as h
    if left.rows != left.target_rows:
        _factor(left.gram, ones * left.sum_h, ones**2 * left.weight, tolerance)
    lower = _factor(left.gram, ones * left.target_sum_h, ones**2 * left.target_weight, tolerance)
    scale = np.where(peak.sum_yy > 0, np.sqrt(peak.trace / np.maximum(peak.sum_yy, 1e-300)), 0.0)
    b = np.vstack([left.cross, ones * left.sum_y[None, :]]) * scale
    explained = np.square(solve_triangular(lower, b, lower=True)).sum(axis=0)
    if np.any(left.sum_yy * scale**2 + 2 * tolerance < explained):
        raise _no_rows("y")


def _factor(gram: Array, column: Array, corner: float, tolerance: float) -> Array:
    """Return the Cholesky factor of ``[[S, s], [s', W]]`` plus the tolerance."""
    size = len(gram)
    A = np.empty((size + 1, size + 1))
    A[:size, :size], A[size, :size], A[:size, size], A[size, size] = gram, column, column, corner
    A[np.diag_indices(size + 1)] += 2 * tolerance
    try:
        return np.asarray(cholesky(A, lower=True, overwrite_a=True, check_finite=False))
    except LinAlgError:
        raise _no_rows("x") from None


def _no_rows(what: str) -> NotAddedError:
    return NotAddedError(
        f"these rows cannot all be in the model: without them, the sums over {what} would not be "
        f"those of any rows; {ASKED} ({CHECK})"
    )
