"""Leave-one-out from a second pass, for a basis of M functions.

With eigendirections ``T = R U`` and ``g_i = T'(h(x_i) - m)``, the leverage of row i is

.. math:: \\ell_i(\\lambda) = \\frac{w_i}{W}\\Big(1 + \\sum_j \\frac{g_{ij}^2}{s_j + \\lambda}\\Big)

(without the 1 if there is no intercept): one product per row for all alphas together. The score of
an alpha is a sum over rows,

.. math:: \\frac1W \\sum_i w_i \\Big(\\frac{y_i - f(x_i)}{1 - \\ell_i(\\lambda)}\\Big)^2,

so a shard sends one number per alpha, and the sum of its weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
from mercer.selection.leave_query_out import leave_query_out
from mercer.systems import MomentSystem


@dataclass(frozen=True)
class SecondPass:
    """A second pass over the rows: ``(system, alphas, sample, rng)`` -> one error per alpha."""

    rows: RowSet
    targets: Targets
    reading: Reading

    def __call__(
        self, system: MomentSystem, alphas: Array, sample: int | None, rng: np.random.Generator
    ) -> Array:
        """Return the mean squared error of left-out rows or queries."""
        if self.targets.pairs is not None:
            return leave_query_out(
                self.rows, self.targets, self.reading, system, alphas, sample, rng
            )
        return leave_one_out(self.rows, self.targets, self.reading, system, alphas, sample, rng)


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
        chosen = rows.split_indices(uniform_indices(rows.n_rows, sample, rng))
    functions = share_functions(rows, system.basis)
    formula = rows.share(LeftOutFormula.of(system, alphas), "leave-one-out formula")
    errors, weight = rows.sum(
        left_out_of,
        add_errors,
        targets,
        functions,
        rows.reading(reading),
        formula,
        chosen,
        label="leave-one-out",
        record="leave-one-out errors",
    )
    if chosen is not None and not weight > 0:  # a sample of rows that do not count
        return leave_one_out(rows, targets, reading, system, alphas, None, rng)
    return np.asarray(errors / weight)


def add_errors(left: tuple[Array, float], right: tuple[Array, float]) -> tuple[Array, float]:
    """Add sums of errors, and of weights."""
    return left[0] + right[0], left[1] + right[1]


@dataclass(frozen=True)
class LeftOutFormula:
    """The arrays needed to compute ``(y_i - f(x_i)) / (1 - l_i)``, sent to the shards."""

    directions: Array  # T, of shape (M, r)
    shift: Array  # m'T
    filters: Array  # (r, alphas), 1 / (s + alpha)
    solutions: Array  # (r, alphas * k), in eigencoordinates
    mean_y: Array
    units: Array
    weight: float  # W
    intercept: bool

    @classmethod
    def of(cls, system: MomentSystem, alphas: Array) -> LeftOutFormula:
        """Compute them from the moments of all rows."""
        spectrum = system.spectrum
        kept = spectrum.values > 0
        filters = np.stack([spectrum.filter(alpha)[kept] for alpha in alphas], axis=1)
        beta = spectrum.beta[kept]
        T = system.directions[:, kept]
        precision = system.basis.precision_
        return cls(
            T.astype(precision),
            (system.mean_h @ T).astype(precision),
            filters.astype(precision),
            np.hstack([f[:, None] * beta for f in filters.T]).astype(precision),
            system.mean_y,
            system.units,
            system.weight,
            system.intercept,
        )

    def errors(self, H: Array, Y: Array, weight: Array) -> Array:
        """Return the squared errors (rows, alphas) of rows left out one at a time."""
        G = H @ self.directions
        G -= self.shift
        fitted = (G @ self.solutions).astype(np.float64)
        np.square(G, out=G)
        leverage = (G @ self.filters).astype(np.float64)
        leverage += self.intercept
        leverage *= (weight / self.weight)[:, None]
        room = np.maximum(1.0 - leverage, 1e-12)
        fitted = fitted.reshape(len(Y), -1, Y.shape[1])
        residual = (Y - self.mean_y)[:, None, :] - fitted
        return np.asarray((residual / room[:, :, None]) ** 2 @ self.units)


class _Errors:
    """Sums of errors, one per block, so that they can be added in row order."""

    def __init__(self, basis: BasisTransformer, formula: LeftOutFormula) -> None:
        self.basis, self.formula = basis, formula
        self.parts: dict[int, tuple[Array, float]] = {}
        self._workspace = Workspace(basis.size, basis.precision_)

    def add(self, start: int, X: Rows, Y: Array, weight: Array | None) -> None:
        rows = X.shape[0]
        w = np.ones(rows) if weight is None else weight
        H = self.basis.orthogonalized(
            X, self._workspace.block(0, rows), self._workspace.block(1, rows)
        )
        self.parts[start] = w @ self.formula.errors(H, Y, w), float(w.sum())


def left_out_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    formula: LeftOutFormula,
    chosen: dict[int, Array] | None,
) -> tuple[Array, float]:
    """Task: return the weighted sum of the errors of a shard's rows, and the sum of weights."""
    wanted = None if chosen is None else chosen.get(shard.number, np.zeros(0, dtype=int))

    def pieces() -> Iterator[tuple[int, Any, Array, Array | None]]:
        for block, Y in checked_blocks(shard.source, targets, reading.block_rows):
            end = block.start + block.n_rows
            if wanted is None:
                yield block.start, block.X, Y, block.weight
            else:
                low, high = np.searchsorted(wanted, [block.start, end])
                at = wanted[low:high] - block.start
                if len(at):
                    weight = None if block.weight is None else block.weight[at]
                    yield block.start, block.X[at], Y[at], weight
            shard.report("leave-one-out", end)

    with shard.naming():
        lanes = Lanes(lambda: _Errors(basis, formula), reading.lanes).run(
            pieces(), lambda errors, piece: errors.add(*piece)
        )
    parts = {start: part for lane in lanes for start, part in lane.parts.items()}
    total: tuple[Array, float] = (np.zeros(formula.filters.shape[1]), 0.0)
    for start in sorted(parts):
        total = add_errors(total, parts[start])
    return total
