"""Leave one query out at a time, from a second pass over the rows of a ranking.

Let G have the rows ``g_i = T'h(x_i)`` of a query, centered by query and scaled by the square roots
of their shares of the weight. When the query is left out, its residuals r become

.. math:: \\big(I - G\\, \\mathrm{diag}(s_j + \\lambda)^{-1} G'\\big)^{-1} r

Queries with rows in several shards are sent as rows of G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Reading, Targets
from mercer.leaving_out.leave_one_out import LeftOut
from mercer.moments import PairWeights, Pass
from mercer.moments.by_fold import share_functions
from mercer.moments.queries import WHOLE
from mercer.rows.labels import checked_blocks
from mercer.rows.shards import Shard
from mercer.sampling import uniform_indices
from mercer.systems import MomentSystem

#: Fewer queries than this are too few to leave one out at a time.
FEW_QUERIES = 10


def leave_query_out(
    system: MomentSystem,
    again: Pass,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> Array:
    """Return the mean squared error of left-out queries for every alpha, from a second pass."""
    rows, targets = again.rows, again.targets
    pairs = targets.pairs
    number = len(pairs.weight)
    wanted = np.zeros(number, dtype=bool)
    wanted[slice(None) if sample is None else uniform_indices(number, sample, rng)] = True
    wanted &= pairs.factor > 0
    if not wanted.any():  # a sample of queries without pairs
        wanted = pairs.factor > 0
    formula = QueryFormula.of(system, alphas)
    parts = rows.map(
        queries_left_out_of,
        targets,
        share_functions(rows, system.basis),
        rows.reading(again.reading),
        rows.share(formula, "leave-one-out formula"),
        wanted,
        label="leave-one-out",
        record="leave-one-out errors",
    )
    total = QueryErrors.joined(parts, formula, pairs)
    return np.asarray(total.errors / total.weight)


def some_queries_out(system: MomentSystem, again: Pass, alphas: Array, sample: int) -> LeftOut:
    """Return the errors of queries with about ``sample`` rows in all.

    The queries are the same for any seed and any number of shards.
    """
    number = int(np.count_nonzero(again.targets.pairs.factor > 0))
    if number < FEW_QUERIES:
        return LeftOut(None, note=f"{number} queries are too few to leave one out")
    wanted = max(FEW_QUERIES, ceil(sample * number / again.rows.n_rows))
    rng = np.random.default_rng(0)
    errors = leave_query_out(system, again, alphas, wanted, rng)
    return LeftOut(errors, min(wanted, number), number, "queries")


@dataclass(frozen=True)
class QueryFormula:
    """The arrays needed to leave out a query, sent to the shards."""

    directions: Array  # T, of shape (M, r)
    filters: Array  # (alphas, r), 1 / (s + alpha)
    beta: Array  # (r, k)
    units: Array
    weight: float  # of all rows

    @classmethod
    def of(cls, system: MomentSystem, alphas: Array) -> QueryFormula:
        """Compute them from the moments of all rows."""
        spectrum = system.spectrum
        kept = spectrum.values > 0
        filters = np.stack([spectrum.filter(alpha)[kept] for alpha in alphas])
        return cls(
            system.directions[:, kept], filters, spectrum.beta[kept], system.units, system.weight
        )

    def errors(self, G: Array, Y: Array, weight: Array) -> Array:
        """Return the weighted sum of squared errors of one left-out query, for every alpha."""
        total = float(weight.sum())
        root = np.sqrt(weight / self.weight)[:, None]

        def centered(values: Array) -> Array:
            return np.asarray(root * (values - weight @ values / total))

        G, target = centered(G), centered(Y)
        errors = np.empty(len(self.filters))
        few = len(G) <= G.shape[1]
        products = None if few else G.T @ G
        for number, inverse in enumerate(self.filters):
            residual = target - G @ (inverse[:, None] * self.beta)
            if products is None:
                room = np.eye(len(G)) - (G * inverse) @ G.T
                left = np.linalg.solve(room, residual)
            else:  # equivalent, with the smaller (r, r) matrix
                room = np.diag(1.0 / inverse) - products
                left = residual + G @ np.linalg.solve(room, G.T @ residual)
            errors[number] = np.sum(left**2 @ self.units)
        return errors * self.weight


@dataclass
class QueryErrors:
    """Sums over left-out queries, and the rows of incomplete queries."""

    errors: Array  # (alphas,)
    weight: float = 0.0
    #: Rows of G, targets and weights, by query.
    open: dict[int, list[tuple[Array, Array, Array]]] = field(default_factory=dict)

    def add(
        self,
        query: int,
        part: tuple[Array, Array, Array],
        formula: QueryFormula,
        pairs: PairWeights,
    ) -> None:
        """Add rows of one query; its errors are computed when it is complete."""
        parts = self.open.setdefault(query, [])
        parts.append(part)
        if sum(float(w.sum()) for *_, w in parts) >= WHOLE * pairs.weight[query]:
            del self.open[query]
            weight = np.concatenate([w for *_, w in parts]) * pairs.factor[query]
            G, Y = (np.vstack([part[at] for part in parts]) for at in (0, 1))
            self.errors = self.errors + formula.errors(G, Y, weight)
            self.weight += float(weight.sum())

    @classmethod
    def joined(
        cls, parts: Sequence[QueryErrors], formula: QueryFormula, pairs: PairWeights
    ) -> QueryErrors:
        """Add the errors of all shards, and complete the queries with rows in several shards."""
        total = cls(np.zeros(len(formula.filters)))
        for part in parts:
            total.errors = total.errors + part.errors
            total.weight += part.weight
        for part in parts:
            for query, pieces in part.open.items():
                for piece in pieces:
                    total.add(query, piece, formula, pairs)
        return total


def queries_left_out_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    formula: QueryFormula,
    wanted: Array,
) -> QueryErrors:
    """Task: return the errors of a shard's left-out queries, and the rows of incomplete ones."""
    found = QueryErrors(np.zeros(len(formula.filters)))
    with shard.naming():
        for block, Y in checked_blocks(shard.source, targets, reading.block_rows):
            codes = targets.codes(block)
            weight = np.ones(len(Y)) if block.weight is None else block.weight
            bounds = np.flatnonzero(np.r_[True, np.diff(codes) != 0, True])
            for low, high in pairwise(bounds.tolist()):
                query = int(codes[low])
                if wanted[query]:
                    values = basis.orthogonalized(block.X[low:high]).astype(np.float64)
                    part = (values @ formula.directions, Y[low:high], weight[low:high])
                    found.add(query, part, formula, targets.pairs)
            shard.report("leave-one-out", block.start + block.n_rows)
    return found
