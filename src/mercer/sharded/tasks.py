"""What runs where the rows are. Tasks can be imported, so that they can be sent by name."""

from __future__ import annotations

import numpy as np

from mercer.bases import BasisTransformer
from mercer.combine import FunctionShard, LocalModel, ShardSystem
from mercer.contracts import Array, Rows
from mercer.fit import fit
from mercer.moments import Moments, PartialMoments
from mercer.passes import accumulate, leverage, running_sums
from mercer.result import Targets, checked_blocks
from mercer.selection import Plan, plan_fit
from mercer.sharded.settings import Settings
from mercer.sources.shards import Shard, naming
from mercer.validation import check_finite


def moments_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    seed: int,
    with_gram: bool = True,
) -> list[Moments] | list[PartialMoments]:
    """Return the moments of a shard, by fold: a task."""
    with naming(shard):
        rng = np.random.default_rng([seed, shard.number])
        sums = running_sums(shard.source, targets, basis, plan, rng, with_gram=with_gram)
        return [total.part() for total in sums]


def model_of(
    shard: Shard, settings: Settings, shared: BasisTransformer | None, plan: Plan | None
) -> LocalModel:
    """Return the model that a shard fits to its own rows: a task.

    ``plan`` is None where the shard makes one of its own, for functions of its own.
    """
    source, solver = shard.source, settings.solver
    with naming(shard):
        targets = settings.targets.within(source)
        if plan is None:
            plan, found = plan_fit(
                source,
                settings.kernel,
                settings.basis,
                solver,
                open_alpha=False,
                dtype=settings.local_dtype,
                memory_limit=settings.memory_limit,
                outputs=settings.targets.outputs,
                folds=settings.pieces,
                held_out=settings.held_out,
                fixed_basis=targets.pairs is not None,  # centered by query: no dual system
            )
            solver = found
        fitted = fit(
            source,
            targets,
            settings.kernel,
            plan,
            solver,
            alpha=settings.alpha,
            alphas=settings.alphas,
            criterion=settings.criterion,
            intercept=settings.intercept,
            rng=settings.rng(2, shard.number),
            shared=shared,
        )
    weight = fitted.weight
    if fitted.folds is not None:  # a shard counts by the labels it has
        weight = sum(fold.target_weight for fold in fitted.folds)
    coefficients, points = fitted.coefficients, None
    if shared is None:
        coefficients, points = fitted.basis.expansion(coefficients)
    return LocalModel(
        rows=fitted.n_rows,
        weight=fitted.weight,
        share=targets.share(weight),
        coefficients=coefficients,
        intercept=fitted.intercept,
        points=points,
        status=fitted.solution.status,
        reason=fitted.solution.reason,
        steps=fitted.solution.steps,
    )


def system_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    plan: Plan,
    alpha: float,
    intercept: bool,
) -> ShardSystem:
    """Return the system of a shard, which it keeps between rounds: a task."""
    with naming(shard):
        (moments,) = accumulate(shard.source, targets, basis, plan, np.random.default_rng(0))
    return ShardSystem(moments, basis.whitener(), alpha, intercept)


def leverage_of(
    shard: Shard, basis: BasisTransformer, plan: Plan, directions: Array, inverse: Array
) -> Array:
    """Return the leverage of the rows of a shard: a task."""
    with naming(shard):
        return leverage(shard.source, basis, plan, directions, inverse)


def points_of(shard: Shard) -> Rows:
    """Return all rows of a shard: a task of rounds in function space, which exchange them."""
    with naming(shard):
        rows = shard.source.take(np.arange(shard.source.n_rows))
        check_finite(rows, names=shard.source.feature_names)
        return rows


def function_shard_of(
    shard: Shard, settings: Settings, points: Array, starts: dict[int, int], alpha: float
) -> FunctionShard:
    """Return what a shard keeps between rounds in function space: a task."""
    source, targets = shard.source, settings.targets
    with naming(shard):
        ((block, Y),) = checked_blocks(source, targets, max(1, source.n_rows))
    weight = np.ones(len(Y)) if block.weight is None else block.weight
    query: Array | None = None
    if targets.pairs is not None:
        query = targets.codes(block)
        weight = weight * targets.pairs.factor[query]
    elif targets.ranks:
        query = np.zeros(len(Y), dtype=int)  # all rows of the shard are one
    first = starts[shard.number]
    own = slice(first, first + len(Y))
    return FunctionShard(settings.kernel, points, own, Y, weight, query, alpha)


def function_side_of(system: FunctionShard, with_model: bool) -> tuple[float, Array, Array | None]:
    """Return the weight of a shard, its right-hand side, and its own solution: a task."""
    return system.weight, system.b, system.model if with_model else None


def right_of(system: ShardSystem, with_model: bool) -> tuple[float, Array, Array | None]:
    """Return the weight of a shard, its right-hand side, and its own solution: a task."""
    return system.weight, system.b, system.solve(system.b) if with_model else None


def answer_of(system: ShardSystem | FunctionShard, question: str, V: Array) -> Array:
    """Return a shard's product or solve with V: a task."""
    found: Array = getattr(system, question)(V)
    return found
