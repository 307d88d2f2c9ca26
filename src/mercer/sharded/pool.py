"""Leverage scores of a pool of rows, in one place or over shards.

.. math:: c_j = \\| (\\Sigma_N + \\alpha)^{-1/2} \\varphi(x_j) \\|^2, \\qquad
          \\Sigma_N = \\frac1N \\sum_j \\varphi(x_j) \\varphi(x_j)'

One pass sums up the moments, another one scores every row. Only moments, and a number a row, leave
a shard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, as_generator
from mercer.combine import add_folds
from mercer.contracts import Array, RowSource
from mercer.kernels import Kernel
from mercer.passes import accumulate, leverage
from mercer.result import Clock, Progress, Targets
from mercer.selection import PrimalProblem
from mercer.selection.plan import make_plan
from mercer.sharded.tasks import leverage_of, moments_of
from mercer.solvers import Ridge, Spectrum
from mercer.sources.shards import ShardedSource


@dataclass(frozen=True)
class PoolScores:
    """The scores of all rows of a pool, and what they were found with."""

    scores: Array  # (N,)
    alpha: float
    effective_dimension: float
    basis: BasisTransformer
    seconds: dict[str, float]


def score_pool(
    source: RowSource,
    targets: Targets,
    kernel: Kernel,
    basis: Any,
    choose_alpha: Callable[[Spectrum], float],
    *,
    dtype: str,
    memory_limit: Any,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> PoolScores:
    """Score the rows of a pool; ``targets`` are of no meaning, but for their number of columns."""
    clock = Clock()
    plan = make_plan(
        source,
        kernel,
        basis,
        dtype=dtype,
        memory_limit=memory_limit,
        outputs=targets.outputs,
        second_pass=True,
        fixed_basis=True,
    )
    seed = getattr(plan.basis, "random_state", None)
    rng = rng if seed is None else as_generator(seed)  # a basis with a seed keeps to it
    with clock.stage("basis"):
        fitted = plan.basis.fit_source(source, kernel, rng, plan.precision, plan.may_widen)
        if fitted.unsettled:
            raise ValueError(
                "a pool has no labels, and its features are not chosen among candidates: use "
                "RandomFeatures(sampling='plain'), or landmarks"
            )
    with clock.stage("moments"):
        if isinstance(source, ShardedSource):
            folds = source.engine.reduce(
                moments_of,
                add_folds,
                source.shards,
                targets,
                source.engine.share(fitted.lean()),
                replace(plan, lanes=1),
                0,
                label="moments",
            )
        else:
            folds = accumulate(source, targets, fitted, plan, rng, progress)
    with clock.stage("solve"):
        problem = PrimalProblem(folds, fitted, Ridge(), False, np.ones(targets.outputs))
        spectrum = problem.spectrum
        alpha = choose_alpha(spectrum)
        kept = spectrum.values > 0
        directions, inverse = problem.directions[:, kept], spectrum.filter(alpha)[kept]
    with clock.stage("scores"):
        if isinstance(source, ShardedSource):
            share = source.engine.share
            parts = source.engine.map(
                leverage_of,
                source.shards,
                share(fitted.lean()),
                replace(plan, lanes=1),
                share(directions),
                share(inverse),
                label="scores",
            )
            scores = np.concatenate(parts)
        else:
            scores = leverage(source, fitted, plan, directions, inverse, progress)
    return PoolScores(scores, alpha, spectrum.effective_dimension(alpha), fitted, clock.seconds)
