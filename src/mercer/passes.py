"""What one pass over the rows gives: moments, the kernel matrix, errors of rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, RowSource
from mercer.engines import Lanes
from mercer.moments import Moments, MomentSums, QuerySums, Workspace
from mercer.result import Progress, Targets, checked_blocks
from mercer.sampling import fold_labels, uniform_indices
from mercer.selection import Plan, PrimalProblem
from mercer.selection.leave_one_out import QueryErrors, RowErrors, RowScores
from mercer.solvers import DualSystem
from mercer.solvers.dual import ABSENT
from mercer.validation import check_finite, check_overflow


def accumulate(
    source: RowSource,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Moments]:
    """Return the moments of a source, one for each fold of the plan, from one pass."""
    return [sums.total() for sums in running_sums(source, targets, basis, plan, rng, progress)]


def candidate_plan(plan: Plan, basis: BasisTransformer) -> Plan:
    """Return the plan of a pass over more functions than the fit will have."""
    rows = max(256, plan.block_rows * plan.size // max(1, basis.size))
    return replace(plan, folds=1, held_out=None, block_rows=min(plan.block_rows, rows))


def settle(
    basis: BasisTransformer,
    source: RowSource,
    targets: Targets,
    plan: Plan,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> None:
    """Choose among the candidates of a basis, if it has any, by a pass over the rows."""
    if basis.unsettled:
        narrow = candidate_plan(plan, basis)
        (sums,) = running_sums(source, targets, basis, narrow, rng, progress, basis.needs_gram)
        basis.settle(sums.total(), rng)


def running_sums(
    source: RowSource,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    rng: np.random.Generator,
    progress: Progress | None = None,
    with_gram: bool = True,
) -> Sequence[MomentSums]:
    """Add up all rows of a source, by fold.

    Where targets are ranked within queries, rows are centered by query, and queries are dealt to
    folds as a whole: by the seed of the targets, so that all parts of a query have the same fold.
    """
    seed, pairs = int(rng.integers(2**63)), targets.pairs
    dealt: Array | None = None
    if pairs is not None and plan.folds > 1:
        deal = np.random.default_rng(targets.seed)
        dealt = fold_labels(len(pairs.weight), plan.folds, deal, plan.held_out)

    def pieces() -> Iterator[tuple[int, tuple[Any, ...], int]]:
        # With folds, as many rows are read as fill a block for each, so that blocks stay large.
        for number, (block, Y) in enumerate(
            checked_blocks(source, targets, plan.block_rows * plan.folds, partial=True)
        ):
            columns: tuple[Any, ...] = (block.X, Y, block.weight)
            if pairs is not None:
                columns = (*columns, targets.codes(block))
            if plan.folds == 1:
                yield 0, columns, block.n_rows
                continue
            if dealt is not None:
                labels = dealt[columns[-1]]
            else:
                deal = np.random.default_rng([seed, number])
                labels = fold_labels(block.n_rows, plan.folds, deal, plan.held_out)
            for fold in range(plan.folds):
                at = np.flatnonzero(labels == fold)
                if len(at) or pairs is None:
                    taken = tuple(None if column is None else column[at] for column in columns)
                    yield fold, taken, len(at)

    def make() -> list[MomentSums]:
        workspace = Workspace(basis.size, basis.precision_)
        if pairs is not None:
            return [
                QuerySums(basis, targets.outputs, pairs, workspace, with_gram)
                for _ in range(plan.folds)
            ]
        return [MomentSums(basis, targets.outputs, workspace, with_gram) for _ in range(plan.folds)]

    done = 0

    def report(piece: tuple[int, tuple[Any, ...], int]) -> None:
        nonlocal done
        done += piece[2]
        if progress is not None:
            progress("moments", done, source.n_rows)

    lanes = Lanes(make, plan.lanes).run(
        pieces(), lambda sums, piece: sums[piece[0]].add(*piece[1]), report
    )
    for lane in lanes[1:]:
        for total, part in zip(lanes[0], lane, strict=True):
            total.absorb(part)
    return lanes[0]


def dual_system(
    source: RowSource, targets: Targets, basis: BasisTransformer, intercept: bool
) -> DualSystem:
    """Return the dual system of all rows of a source."""
    blocks = list(checked_blocks(source, targets, max(1, source.n_rows)))
    Y = np.vstack([Y for _, Y in blocks])
    weights = [
        np.ones(block.n_rows) if block.weight is None else block.weight for block, _ in blocks
    ]
    weight = np.concatenate(weights)
    gram = basis.gram()
    assert gram is not None
    check_overflow(gram, "float64")
    # Rows of weight 0 have no part in the fit; their coefficient is 0 through an infinite ridge.
    return DualSystem(gram, Y, np.maximum(weight, ABSENT), intercept)


def leave_one_out(
    source: RowSource,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    problem: PrimalProblem,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Read rows a second time; return squared errors (rows, alphas) and weights.

    Where targets are ranked within queries, it is queries that are left out.
    """
    if targets.pairs is not None:
        return leave_query_out(source, targets, basis, plan, problem, alphas, sample, rng)
    chosen = None if sample is None else uniform_indices(source.n_rows, sample, rng)

    def pieces() -> Iterator[tuple[int, Any, Array, Array | None]]:
        for block, Y in checked_blocks(source, targets, plan.block_rows):
            if chosen is None:
                yield block.start, block.X, Y, block.weight
                continue
            low, high = np.searchsorted(chosen, [block.start, block.start + block.n_rows])
            at = chosen[low:high] - block.start
            if len(at):
                weight = None if block.weight is None else block.weight[at]
                yield block.start, block.X[at], Y[at], weight

    lanes = Lanes(lambda: RowErrors(basis, problem, alphas), plan.lanes).run(
        pieces(), lambda errors, piece: errors.add(*piece)
    )
    errors = {start: e for lane in lanes for start, e in lane.errors.items()}
    weights = {start: w for lane in lanes for start, w in lane.weights.items()}
    order = sorted(errors)
    return np.vstack([errors[i] for i in order]), np.concatenate([weights[i] for i in order])


def leave_query_out(
    source: RowSource,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    problem: PrimalProblem,
    alphas: Array,
    sample: int | None,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Read rows a second time; return mean squared errors (queries, alphas) and weights."""
    pairs = targets.pairs
    assert pairs is not None
    number = len(pairs.weight)
    wanted = np.zeros(number, dtype=bool)
    wanted[slice(None) if sample is None else uniform_indices(number, sample, rng)] = True
    wanted &= pairs.factor > 0
    if not wanted.any():  # a sample of queries without pairs
        wanted = pairs.factor > 0

    def pieces() -> Iterator[tuple[int, Any, Array, Array | None]]:
        for block, Y in checked_blocks(source, targets, plan.block_rows):
            codes = targets.codes(block)
            bounds = np.flatnonzero(np.r_[True, np.diff(codes) != 0, True])
            for low, high in pairwise(bounds.tolist()):
                if wanted[codes[low]]:
                    weight = None if block.weight is None else block.weight[low:high]
                    yield int(codes[low]), block.X[low:high], Y[low:high], weight

    errors = QueryErrors(basis, problem, alphas, pairs)
    for piece in pieces():
        errors.add(*piece)
    return errors.found()


def leverage(
    source: RowSource,
    basis: BasisTransformer,
    plan: Plan,
    directions: Array,
    inverse: Array,
    progress: Progress | None = None,
) -> Array:
    """Read rows a second time; return the leverage of each.

    ``directions`` (M, r) are those of the moments of all rows, and ``inverse`` (r,) is what their
    eigenvalues plus alpha are divided by.
    """
    done = 0

    def pieces() -> Iterator[tuple[int, Any]]:
        for block in source.blocks(plan.block_rows):
            check_finite(block.X, start=block.start, names=source.feature_names)
            yield block.start, block.X

    def report(piece: tuple[int, Any]) -> None:
        nonlocal done
        done += piece[1].shape[0]
        if progress is not None:
            progress("scores", done, source.n_rows)

    lanes = Lanes(lambda: RowScores(basis, directions, inverse), plan.lanes).run(
        pieces(), lambda scores, piece: scores.add(*piece), report
    )
    found = {start: part for lane in lanes for start, part in lane.scores.items()}
    return np.concatenate([found[start] for start in sorted(found)])
