"""Leave out a row together with the landmark at it.

A landmark drawn from the rows is at one of them. If only the row is left out, the function of its
landmark stays, which no function does for a new row: rows at landmarks then have errors that new
rows do not have, larger ones for rough kernels. So the coefficient ``c_i = t_i'v`` of the landmark
is held at 0. With ``F = (A + lambda)^-1``, in the coordinates of a decomposition of A, this
replaces F by

.. math:: P_i = F - \\frac{F t_i t_i' F}{t_i' F t_i}

in the leverage ``g_i'P_i g_i`` and in the fit ``g_i'P_i \\beta``; rows without a landmark keep F.
For the full kernel nothing changes: there a coefficient is 0 without its row.

Where rows are few, one row far from the others can decide, by luck. So the error of a row at a
landmark is a mean of both: with the weight ``tau = min(1/2, 50 / n)`` its landmark stays.

If some rows have no label, only the label of a row is left out, and the row itself stays in the
sums over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from mercer.bases import Landmarks
from mercer.contracts import Array, Reading, Targets
from mercer.rows.rowset import RowSet
from mercer.sampling import uniform_indices
from mercer.selection.leave_one_out import Chosen, LeftOutFormula, sum_of_left_out
from mercer.systems import LeftOut, MomentSystem
from mercer.systems.left_out import ROUNDING, left_out_squares

#: tau of n rows is this over n.
FEW = 50


def leave_landmark_out(
    rows: RowSet,
    targets: Targets,
    reading: Reading,
    system: MomentSystem,
    alphas: Array,
    sample: int,
) -> LeftOut:
    """Return the errors of about ``sample`` labelled rows, from a pass over these rows.

    The rows are the same for any seed and any number of shards.
    """
    labelled = system.total.target_rows
    # Not the draw of landmarks with random_state=0, or the sample could be the landmarks.
    seed = [0, 1]
    # A uniform sample of all rows has about this many labelled ones.
    wanted = ceil(sample * rows.n_rows / max(1, labelled))
    for number in (wanted, rows.n_rows):
        indices = uniform_indices(rows.n_rows, number, np.random.default_rng(seed))
        landmark, formula = LandmarkFormula.of(system, alphas, indices)
        chosen = {}
        start = 0
        for shard, part in rows.split_indices(indices).items():
            chosen[shard] = Chosen(part, landmark[start : start + len(part)])
            start += len(part)
        errors, weight, count = sum_of_left_out(rows, targets, reading, system, formula, chosen)
        if weight > 0:  # otherwise a sample of rows that do not count
            break
    return LeftOut(errors / weight, count, labelled)


@dataclass(frozen=True)
class LandmarkFormula:
    """The arrays needed to leave out a row and its landmark, sent to the shards."""

    base: LeftOutFormula
    constraints: Array  # (landmarks in the sample, r): t_i
    kept: float  # tau
    #: The labelled rows' weight, and ``F gbar`` (r, alphas) with the mean of g over them, if some
    #: rows have no label.
    label_weight: float | None = None
    with_mean: Array | None = None

    @classmethod
    def of(
        cls, system: MomentSystem, alphas: Array, indices: Array
    ) -> tuple[Array, LandmarkFormula]:
        """Return for each row its place among the constraints, -1 without one; and the formula."""
        base, basis = LeftOutFormula.of(system, alphas), system.basis
        landmark = np.full(len(indices), -1)
        constraints = np.zeros((0, len(base.shift)))
        if isinstance(basis, Landmarks) and basis.indices_ is not None:
            shared = np.isin(basis.indices_, indices)
            number = np.count_nonzero(shared)
            landmark[np.searchsorted(indices, basis.indices_[shared])] = np.arange(number)
            units = np.zeros((basis.size, number))
            units[np.flatnonzero(shared), np.arange(number)] = 1.0
            constraints = base.row_map(basis.vectors(units).T.astype(base.precision))
        total = system.total
        kept = min(0.5, FEW / max(1, total.target_rows))
        if total.target_rows == total.rows:
            return landmark, cls(base, constraints, kept)
        mean = total.target_sum_h / total.target_weight
        labelled = system.coordinates_of(mean - system.mean_h)
        with_mean = system.decomposition.shifted(alphas).apply(
            np.repeat(labelled[:, None], len(alphas), axis=1)
        )
        return landmark, cls(base, constraints, kept, total.target_weight, with_mean)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the sums: alphas, and outputs if they are kept apart."""
        return self.base.shape

    @property
    def partial(self) -> bool:
        """Whether some rows have no label."""
        return self.label_weight is not None

    def errors(self, H: Array, Y: Array, weight: Array, landmark: Array | None) -> Array:
        """Return the squared errors (rows, alphas) of rows left out one at a time."""
        assert landmark is not None
        G, fitted = self.base.fitted(H, Y.shape[1])
        at, others = np.flatnonzero(landmark >= 0), np.flatnonzero(landmark < 0)
        t = self.constraints[landmark[at]]
        forms = self.base.shifted.pairs(G[at], t)
        own_leverage, across, own = (form.astype(np.float64) for form in forms)
        leverage = np.empty((len(G), self.base.alphas))
        leverage[others], leverage[at] = self.base.shifted.quadratic(G[others]), own_leverage
        mean = None
        if self.with_mean is not None:
            mean = G @ self.with_mean
        errors = self._squares(Y, weight, fitted, leverage, mean)
        if len(at):
            share = np.divide(across, own, out=np.zeros_like(own), where=own > 0)
            coefficient = (t @ self.base.solutions).reshape(len(at), -1, Y.shape[1])
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
        base = self.base
        if mean is not None:
            return self._without_label(Y, weight, fitted, leverage, mean)
        residual = (Y - base.mean_y)[:, None] - fitted
        room = 1.0 - (weight / base.weight)[:, None] * (leverage + base.intercept)
        return left_out_squares(residual, room, base.units, ROUNDING[base.precision])

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
        deviation = Y - self.base.mean_y
        own = weight[:, None] * leverage
        change = (weight / rest)[:, None] * deviation if self.base.intercept else 0.0 * deviation
        scale = total if self.base.intercept else rest[:, None]
        left = (
            (scale * deviation)[:, None]
            - total * fitted
            + own[:, :, None] * deviation[:, None]
            - change[:, None] * (total * with_mean - own)[:, :, None]
        )
        return np.asarray((left / rest[:, None, None]) ** 2 @ self.base.units)
