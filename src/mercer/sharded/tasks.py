"""What runs where the rows are. Tasks can be imported, so that they can be sent by name."""

from __future__ import annotations

import numpy as np

from mercer.bases import BasisTransformer
from mercer.combine import LocalModel, ShardSystem
from mercer.contracts import Array
from mercer.fit import accumulate, fit
from mercer.moments import Moments
from mercer.result import Targets
from mercer.selection import Plan, plan_fit
from mercer.sharded.settings import Settings
from mercer.sources.shards import Shard, naming


def moments_of(
    shard: Shard, targets: Targets, basis: BasisTransformer, plan: Plan, seed: int
) -> list[Moments]:
    """Return the moments of a shard, by fold: a task."""
    with naming(shard):
        rng = np.random.default_rng([seed, shard.number])
        return accumulate(shard.source, targets, basis, plan, rng)


def model_of(
    shard: Shard, settings: Settings, shared: BasisTransformer | None, plan: Plan | None
) -> LocalModel:
    """Return the model that a shard fits to its own rows: a task.

    ``plan`` is None where the shard makes one of its own, for functions of its own.
    """
    source, solver = shard.source, settings.solver
    with naming(shard):
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
            )
            solver = found
        fitted = fit(
            source,
            settings.targets,
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
    coefficients, points = fitted.coefficients, None
    if shared is None:
        coefficients, points = fitted.basis.expansion(coefficients)
    return LocalModel(
        rows=fitted.n_rows,
        weight=fitted.weight,
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
    (moments,) = moments_of(shard, targets, basis, plan, 0)
    return ShardSystem(moments, basis.whitener(), alpha, intercept)


def right_of(system: ShardSystem, with_model: bool) -> tuple[float, Array, Array | None]:
    """Return the weight of a shard, its right-hand side, and its own solution: a task."""
    return system.weight, system.b, system.solve(system.b) if with_model else None


def answer_of(system: ShardSystem, question: str, V: Array) -> Array:
    """Return a shard's product or solve with V: a task."""
    found: Array = getattr(system, question)(V)
    return found
