"""Leave one row out at a time, from a second pass, for a basis of M functions.

In coordinates ``g_i = T'(h(x_i) - m)`` of a decomposition of A, the leverage of row i is

.. math:: \\ell_i(\\lambda) = \\frac{w_i}{W}\\big(1 + g_i' F g_i\\big), \\qquad
          F = (T'AT + \\lambda)^{-1}

(without the 1 if there is no intercept), where ``T'AT`` is diagonal or tridiagonal. The score of
an alpha is a sum over rows,

.. math:: \\frac1W \\sum_i w_i \\Big(\\frac{y_i - f(x_i)}{1 - \\ell_i(\\lambda)}\\Big)^2,

so a shard sends one number per alpha, the sum of its weights, and how many rows it left out.

A landmark drawn from the rows is at one of them. If only the row is left out, the function of its
landmark stays, which no function does for a new row: rows at landmarks then have errors that new
rows do not have, larger ones for rough kernels. So :func:`leave_landmark_out` holds the coefficient
``c_i = t_i'v`` of the landmark at 0, which replaces F by

.. math:: P_i = F - \\frac{F t_i t_i' F}{t_i' F t_i}

in the leverage ``g_i'P_i g_i`` and in the fit ``g_i'P_i \\beta``; rows without a landmark keep F.
For the full kernel nothing changes: there a coefficient is 0 without its row. Nor does it where
most landmarks were dropped because they depend on others, as with a kernel of finite rank: these
rows have the function of a landmark without its row.

Where rows are few, one row far from the others can decide, by luck. So the error of a row at a
landmark is a mean of both: with the weight ``tau = min(1/2, 50 / n)`` its landmark stays.

Where the leverage is 1 up to rounding, the quotient is 0 / 0: the error at the next larger alpha
stands in, because the error of a row that the others say nothing about hardly depends on alpha.

If some rows have no label, only the label of a row is left out, and the row itself stays in the
sums over all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import TypeAlias

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Reading, Rows, Targets
from mercer.engines import in_order
from mercer.moments import Pass, Workspace
from mercer.moments.by_fold import share_functions
from mercer.rows.labels import checked_blocks
from mercer.rows.shards import Shard
from mercer.sampling import uniform_indices
from mercer.systems import MomentSystem, RowMap, Shifted

#: tau of n rows is this over n.
FEW = 50


@dataclass(frozen=True)
class Chosen:
    """Rows of a shard, increasing, and the places of landmarks at them, -1 without."""

    rows: Array
    landmark: Array


#: Weighted sum of squared errors for each alpha, sum of weights, number of rows.
Sums: TypeAlias = tuple[Array, float, int]


def leave_one_out(
    system: MomentSystem,
    again: Pass,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> Array:
    """Return the mean leave-one-out squared error for every alpha, with all landmarks."""
    rows = again.rows
    formula, chosen = RowFormula.of(system, alphas), None
    if sample is not None:
        drawn = rows.split_indices(uniform_indices(rows.n_rows, sample, rng))
        chosen = {number: Chosen(part, np.full(len(part), -1)) for number, part in drawn.items()}
    errors, weight, _ = _sum_of_errors(system, again, formula, chosen)
    if chosen is not None and not weight > 0:  # a sample of rows that do not count
        return leave_one_out(system, again, alphas, None, rng)
    return np.asarray(errors / weight)


def leave_landmark_out(system: MomentSystem, again: Pass, alphas: Array, sample: int) -> LeftOut:
    """Return the errors of about ``sample`` labelled rows, each left out with the landmark at it.

    The rows are the same for any seed and any number of shards.
    """
    rows, labelled = again.rows, system.total.target_rows
    # Not the draw of landmarks with random_state=0, or the sample could be the landmarks.
    seed = [0, 1]
    # A uniform sample of all rows has about this many labelled ones.
    wanted = ceil(sample * rows.n_rows / max(1, labelled))
    for number in (wanted, rows.n_rows):
        indices = uniform_indices(rows.n_rows, number, np.random.default_rng(seed))
        landmark, shared = _landmarks_at(system.basis, indices)
        landmark = landmark[np.argsort(rows.places(indices))]  # as the shards have their rows
        chosen, start = {}, 0
        for shard, part in rows.split_indices(indices).items():
            chosen[shard] = Chosen(part, landmark[start : start + len(part)])
            start += len(part)
        formula = RowFormula.of(system, alphas, shared)
        errors, weight, count = _sum_of_errors(system, again, formula, chosen)
        if weight > 0:  # otherwise a sample of rows that do not count
            break
    return LeftOut(errors / weight, count, labelled)


def _landmarks_at(basis: BasisTransformer, indices: Array) -> tuple[Array, Array]:
    """Return for each row its place among the landmarks at these rows, -1 without; and those."""
    landmark = np.full(len(indices), -1)
    if not isinstance(basis, Landmarks) or basis.indices_ is None or basis.n_dropped_ > basis.size:
        return landmark, np.zeros(0, dtype=np.intp)
    shared = np.flatnonzero(np.isin(basis.indices_, indices))
    landmark[np.searchsorted(indices, basis.indices_[shared])] = np.arange(len(shared))
    return landmark, shared


def _sum_of_errors(
    system: MomentSystem, again: Pass, formula: RowFormula, chosen: dict[int, Chosen] | None
) -> Sums:
    """Return the sums over the chosen rows of all shards; None means all rows."""
    return again.rows.sum(
        left_out_of,
        add_errors,
        again.targets,
        share_functions(again.rows, system.basis),
        again.rows.reading(again.reading),
        again.rows.share(formula, "leave-one-out formula"),
        chosen,
        label="leave-one-out",
        record="leave-one-out errors",
    )


def add_errors(left: Sums, right: Sums) -> Sums:
    """Add sums of errors, of weights, and numbers of rows."""
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


@dataclass(frozen=True)
class RowFormula:
    """The arrays needed to compute ``(y_i - f(x_i)) / (1 - l_i)``, sent to the shards."""

    row_map: RowMap  # T'h, where T'AT is easily inverted for every alpha
    shift: Array  # T'm
    shifted: Shifted  # F = (T'AT + alpha)^-1
    solutions: Array  # (r, alphas * k), in the same coordinates
    alphas: int
    precision: str
    mean_y: Array
    units: Array
    weight: float  # W
    intercept: bool
    constraints: Array  # (landmarks that are left out, r): t_i
    kept: float  # tau
    #: The labelled rows' weight, and ``F gbar`` (r, alphas) with the mean of g over them, if some
    #: rows have no label.
    label_weight: float | None = None
    with_mean: Array | None = None

    @classmethod
    def of(cls, system: MomentSystem, alphas: Array, landmarks: Array | None = None) -> RowFormula:
        """Compute them from the moments of all rows; ``landmarks`` may be left out."""
        shifted, precision = system.decomposition.shifted(alphas), system.basis.precision_
        row_map, total = system.row_map(), system.total
        units = np.zeros((system.basis.size, 0 if landmarks is None else len(landmarks)))
        if landmarks is not None:
            units[landmarks, np.arange(len(landmarks))] = 1.0
        label_weight, with_mean = None, None
        if total.target_rows != total.rows:
            mean = total.target_sum_h / total.target_weight
            labelled = system.coordinates_of(mean - system.mean_h)
            label_weight = total.target_weight
            with_mean = shifted.apply(np.repeat(labelled[:, None], len(alphas), axis=1))
        return cls(
            row_map,
            system.coordinates_of(system.mean_h).astype(precision),
            shifted.astype(precision),
            shifted.solutions.astype(precision),
            len(alphas),
            precision,
            system.mean_y,
            system.units,
            system.weight,
            system.intercept,
            row_map(system.basis.vectors(units).T.astype(precision)),
            min(0.5, FEW / max(1, total.target_rows)),
            label_weight,
            with_mean,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the sums: alphas, and outputs if they are kept apart."""
        return (self.alphas, *self.units.shape[1:])

    @property
    def partial(self) -> bool:
        """Whether some rows have no label; they are skipped."""
        return self.label_weight is not None

    def errors(self, H: Array, Y: Array, weight: Array, landmark: Array) -> Array:
        """Return the squared errors (rows, alphas) of rows left out one at a time."""
        G = self.row_map(H)
        G -= self.shift
        fitted = (G @ self.solutions).astype(np.float64).reshape(len(H), -1, Y.shape[1])
        at, others = np.flatnonzero(landmark >= 0), np.flatnonzero(landmark < 0)
        t = self.constraints[landmark[at]]
        forms = self.shifted.pairs(G[at], t)
        own_leverage, across, own = (form.astype(np.float64) for form in forms)
        leverage = np.empty((len(G), self.alphas))
        leverage[others], leverage[at] = self.shifted.quadratic(G[others]), own_leverage
        mean = None if self.with_mean is None else G @ self.with_mean
        errors = self._squares(Y, weight, fitted, leverage, mean)
        if len(at):
            share = np.divide(across, own, out=np.zeros_like(own), where=own > 0)
            coefficient = (t @ self.solutions).reshape(len(at), -1, Y.shape[1])
            fitted, leverage = fitted[at] - share[:, :, None] * coefficient, leverage[at]
            if mean is not None:
                mean = mean[at] - share * (t @ self.with_mean)
            without = self._squares(Y[at], weight[at], fitted, leverage - share * across, mean)
            errors[at] = self.kept * errors[at] + (1 - self.kept) * without
        return errors

    def _squares(
        self, Y: Array, weight: Array, fitted: Array, leverage: Array, mean: Array | None
    ) -> Array:
        """Return squared errors from ``g'P beta``, ``g'Pg`` and, if labels lack, ``g'P gbar``."""
        if mean is not None:
            return self._without_label(Y, weight, fitted, leverage, mean)
        leverage = (weight / self.weight)[:, None] * (leverage + self.intercept)
        residual = (Y - self.mean_y)[:, None] - fitted
        return left_out_squares(residual, 1.0 - leverage, self.units, ROUNDING[self.precision])

    def _without_label(
        self, Y: Array, weight: Array, fitted: Array, leverage: Array, with_mean: Array
    ) -> Array:
        """Return the squared errors of rows of which only the label is left out.

        The mean of y changes by ``w e / (L - w)`` where ``e = y - ybar``, and
        ``(L - w) beta_i = L beta - w g e + (ybar - ybar_i)(L gbar - w g)``.
        """
        total = self.label_weight
        assert total is not None
        rest = np.maximum(total - weight, 1e-12 * total)
        deviation = Y - self.mean_y
        own = weight[:, None] * leverage
        change = (weight / rest)[:, None] * deviation if self.intercept else 0.0 * deviation
        scale = total if self.intercept else rest[:, None]
        left = (
            (scale * deviation)[:, None]
            - total * fitted
            + own[:, :, None] * deviation[:, None]
            - change[:, None] * (total * with_mean - own)[:, :, None]
        )
        return np.asarray((left / rest[:, None, None]) ** 2 @ self.units)


def left_out_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    formula: RowFormula,
    chosen: dict[int, Chosen] | None,
) -> Sums:
    """Task: return the sums over the chosen rows of a shard."""
    none = np.zeros(0, dtype=np.intp)
    wanted = None if chosen is None else chosen.get(shard.number, Chosen(none, none))

    def pieces() -> Iterator[tuple[Rows, Array, Array, Array]]:
        blocks = checked_blocks(shard.source, targets, reading.block_rows, partial=formula.partial)
        for block, Y in blocks:
            end = block.start + block.n_rows
            at, landmark = np.arange(block.n_rows), np.full(block.n_rows, -1)
            if wanted is not None:
                low, high = np.searchsorted(wanted.rows, [block.start, end])
                at, landmark = wanted.rows[low:high] - block.start, wanted.landmark[low:high]
            if formula.partial:
                labelled = ~np.isnan(Y[at]).any(axis=1)
                at, landmark = at[labelled], landmark[labelled]
            weight = np.ones(len(at)) if block.weight is None else block.weight[at]
            if len(at) == block.n_rows:
                yield block.X, Y, weight, landmark
            elif len(at):
                yield block.X[at], Y[at], weight, landmark
            shard.report("leave-one-out", end)

    def errors(workspace: Workspace, piece: tuple[Rows, Array, Array, Array]) -> Sums:
        X, Y, weight, landmark = piece
        H = basis.orthogonalized(X, workspace.block(X.shape[0]))
        sums = np.tensordot(weight, formula.errors(H, Y, weight, landmark), 1)
        return sums, float(weight.sum()), int(np.count_nonzero(weight))

    def workspace() -> Workspace:
        return Workspace(basis.size, basis.precision_)

    with shard.naming():
        parts = in_order(workspace, pieces(), errors, reading.lanes)
    return reduce(add_errors, parts, (np.zeros(formula.shape), 0.0, 0))


#: Below this, ``1 - leverage`` is rounding, by the precision of the values.
ROUNDING = {"float64": 1e-10, "float32": 1e-4}


@dataclass(frozen=True)
class LeftOut:
    """Mean squared errors of left-out rows for every alpha, and how many rows there were.

    If outputs are kept apart, their shape is (alphas, k).

    ``errors`` is None if no rows can be left out; ``note`` then has the reason.

    >>> LeftOut(np.ones(20), 2000, 20_640).label
    'leave-one-out on 2,000 of 20,640 rows'
    """

    errors: Array | None
    number: int = 0
    total: int = 0
    what: str = "rows"
    note: str = ""

    @property
    def label(self) -> str:
        """What was left out, for reports."""
        if self.total == 1:
            return "leave-one-out on the only row"
        some = "all" if self.number >= self.total else f"{self.number:,} of"
        return f"leave-one-out on {some} {self.total:,} {self.what}"


def left_out_squares(residual: Array, room: Array, units: Array, floor: float) -> Array:
    """Return squared errors (rows, alphas), summed over outputs; or (rows, alphas, k) for each.

    Parameters
    ----------
    residual : array of shape (rows, alphas, k)
        ``y - f``, for increasing alphas.
    room : array of shape (rows, alphas)
        ``1 - leverage``.
    units : array of shape (k,) or (k, k)
        Squared scale of each output; a diagonal matrix keeps outputs apart.
    floor : float
        Below it, ``room`` is rounding.
    """
    safe = room > floor
    errors = np.asarray((residual / np.where(safe, room, 1.0)[:, :, None]) ** 2 @ units)
    for column in range(room.shape[1] - 2, -1, -1):
        unsafe = ~safe[:, column]
        errors[unsafe, column] = errors[unsafe, column + 1]
    return errors
