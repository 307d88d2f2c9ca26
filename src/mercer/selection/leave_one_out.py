"""Leave-one-out from a second pass, for a basis of M functions.

In coordinates ``g_i = T'(h(x_i) - m)`` of a decomposition of A, the leverage of row i is

.. math:: \\ell_i(\\lambda) = \\frac{w_i}{W}\\big(1 + g_i' F g_i\\big), \\qquad
          F = (T'AT + \\lambda)^{-1}

(without the 1 if there is no intercept), where ``T'AT`` is diagonal or a band. The score of
an alpha is a sum over rows,

.. math:: \\frac1W \\sum_i w_i \\Big(\\frac{y_i - f(x_i)}{1 - \\ell_i(\\lambda)}\\Big)^2,

so a shard sends one number per alpha, the sum of its weights, and how many rows it left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, Rows, Targets
from mercer.engines import Lanes
from mercer.moments import Workspace
from mercer.moments.by_fold import share_functions
from mercer.rows.checked import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import uniform_indices
from mercer.systems import MomentSystem, RowMap, Shifted
from mercer.systems.left_out import ROUNDING, left_out_squares


@dataclass(frozen=True)
class Chosen:
    """Rows of a shard, increasing, and for each the landmark at it (see ``LandmarkFormula``)."""

    rows: Array
    landmark: Array | None = None


class Formula(Protocol):
    """Computes the errors of left-out rows; sent to the shards."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the sums: alphas, and outputs if they are kept apart."""

    @property
    def partial(self) -> bool:
        """Whether some rows have no label; they are skipped."""

    def errors(self, H: Array, Y: Array, weight: Array, landmark: Array | None) -> Array:
        """Return the squared errors (rows, *shape) of rows left out one at a time."""


#: Weighted sum of squared errors for each alpha, sum of weights, number of rows.
Sums: TypeAlias = tuple[Array, float, int]


def leave_one_out(
    rows: RowSet,
    targets: Targets,
    reading: Reading,
    system: MomentSystem,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> Array:
    """Return the mean leave-one-out squared error for every alpha, from a second pass."""
    chosen = None
    if sample is not None:
        drawn = rows.split_indices(uniform_indices(rows.n_rows, sample, rng))
        chosen = {number: Chosen(part) for number, part in drawn.items()}
    formula = LeftOutFormula.of(system, alphas)
    errors, weight, _ = sum_of_left_out(rows, targets, reading, system, formula, chosen)
    if chosen is not None and not weight > 0:  # a sample of rows that do not count
        return leave_one_out(rows, targets, reading, system, alphas, None, rng)
    return np.asarray(errors / weight)


def sum_of_left_out(
    rows: RowSet,
    targets: Targets,
    reading: Reading,
    system: MomentSystem,
    formula: Formula,
    chosen: dict[int, Chosen] | None,
) -> Sums:
    """Return the sums over the chosen rows of all shards; None means all rows."""
    functions = share_functions(rows, system.basis)
    found: Sums = rows.sum(
        left_out_of,
        add_errors,
        targets,
        functions,
        rows.reading(reading),
        rows.share(formula, "leave-one-out formula"),
        chosen,
        label="leave-one-out",
        record="leave-one-out errors",
    )
    return found


def add_errors(left: Sums, right: Sums) -> Sums:
    """Add sums of errors, of weights, and numbers of rows."""
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


@dataclass(frozen=True)
class LeftOutFormula:
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
    partial = False

    @classmethod
    def of(cls, system: MomentSystem, alphas: Array) -> LeftOutFormula:
        """Compute them from the moments of all rows."""
        shifted, precision = system.decomposition.shifted(alphas), system.basis.precision_
        return cls(
            system.row_map(),
            system.coordinates_of(system.mean_h).astype(precision),
            shifted.astype(precision),
            shifted.solutions.astype(precision),
            len(alphas),
            precision,
            system.mean_y,
            system.units,
            system.weight,
            system.intercept,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the sums: alphas, and outputs if they are kept apart."""
        return (self.alphas, *self.units.shape[1:])

    def fitted(self, H: Array, outputs: int) -> tuple[Array, Array]:
        """Return g (rows, r) and ``g'F beta`` (rows, alphas, k)."""
        G = self.row_map(H)
        G -= self.shift
        fitted = (G @ self.solutions).astype(np.float64).reshape(len(H), -1, outputs)
        return G, fitted

    def errors(self, H: Array, Y: Array, weight: Array, landmark: Array | None = None) -> Array:
        """Return the squared errors (rows, alphas) of rows left out one at a time."""
        G, fitted = self.fitted(H, Y.shape[1])
        leverage = self.shifted.quadratic(G).astype(np.float64)
        leverage += self.intercept
        leverage *= (weight / self.weight)[:, None]
        residual = (Y - self.mean_y)[:, None, :] - fitted
        return left_out_squares(residual, 1.0 - leverage, self.units, ROUNDING[self.precision])


class _Errors:
    """Sums of errors, one per block, so that they can be added in row order."""

    def __init__(self, basis: BasisTransformer, formula: Formula) -> None:
        self.basis, self.formula = basis, formula
        self.parts: dict[int, Sums] = {}
        self._workspace = Workspace(basis.size, basis.precision_)

    def add(
        self, start: int, X: Rows, Y: Array, weight: Array | None, landmark: Array | None
    ) -> None:
        rows = X.shape[0]
        w = np.ones(rows) if weight is None else weight
        H = self.basis.orthogonalized(X, self._workspace.block(rows))
        errors = self.formula.errors(H, Y, w, landmark)
        sums = np.tensordot(w, errors, 1)
        self.parts[start] = sums, float(w.sum()), int(np.count_nonzero(w))


def left_out_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    formula: Formula,
    chosen: dict[int, Chosen] | None,
) -> Sums:
    """Task: return the sums over the chosen rows of a shard."""
    nothing = Chosen(np.zeros(0, dtype=int))
    wanted = None if chosen is None else chosen.get(shard.number, nothing)

    def pieces() -> Iterator[tuple[int, Any, Array, Array | None, Array | None]]:
        blocks = checked_blocks(shard.source, targets, reading.block_rows, partial=formula.partial)
        for block, Y in blocks:
            end = block.start + block.n_rows
            if wanted is None:
                yield block.start, block.X, Y, block.weight, None
            else:
                low, high = np.searchsorted(wanted.rows, [block.start, end])
                at = wanted.rows[low:high] - block.start
                landmark = None if wanted.landmark is None else wanted.landmark[low:high]
                if formula.partial:
                    labelled = ~np.isnan(Y[at]).any(axis=1)
                    at = at[labelled]
                    landmark = None if landmark is None else landmark[labelled]
                if len(at):
                    weight = None if block.weight is None else block.weight[at]
                    yield block.start, block.X[at], Y[at], weight, landmark
            shard.report("leave-one-out", end)

    with shard.naming():
        lanes = Lanes(lambda: _Errors(basis, formula), reading.lanes).run(
            pieces(), lambda errors, piece: errors.add(*piece)
        )
    parts = {start: part for lane in lanes for start, part in lane.parts.items()}
    total: Sums = (np.zeros(formula.shape), 0.0, 0)
    for start in sorted(parts):
        total = add_errors(total, parts[start])
    return total
