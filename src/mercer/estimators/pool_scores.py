"""Leverage scores of a pool of rows, locally or over shards.

.. math:: c_j = \\| (\\Sigma_N + \\alpha)^{-1/2} \\varphi(x_j) \\|^2
          + \\frac{\\rho_j}{\\alpha + \\rho_j / N}, \\qquad
          \\Sigma_N = \\frac1N \\sum_j \\varphi(x_j) \\varphi(x_j)'

with the residual ``rho_j = K(x_j, x_j) - ||phi(x_j)||^2`` of a basis that projects the kernel on
its span: a row that no landmark is near has phi = 0 and would never be drawn for its projection.

One pass sums the moments, and a second pass scores every row. The residuals do not depend on alpha,
but an alpha chosen by the effective dimension depends on them; a third pass is needed only if they
change the alpha that the moments alone suggest. Only moments and three numbers per row leave a
shard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, as_generator
from mercer.contracts import Array
from mercer.estimators.pool_dimension import PoolDimension
from mercer.estimators.targets import RegressionTargets
from mercer.kernels import Kernel
from mercer.moments import sum_moments
from mercer.plan import make_plan
from mercer.request import OneStream, Request
from mercer.result import Clock
from mercer.rows.rowset import RowSet
from mercer.selection import LeaveOneOut
from mercer.systems import MomentSystem
from mercer.systems.leverage_of_rows import leverage_of_rows


@dataclass(frozen=True)
class PoolScores:
    """The scores of all rows of a pool, and how they were computed."""

    scores: Array  # (N,)
    alpha: float
    effective_dimension: float
    basis: BasisTransformer
    seconds: dict[str, float]


def pool_request(labeller: Any, kernel: Kernel, rng: np.random.Generator) -> Request:
    """Return what a labeller asks of its pool."""
    seed = getattr(labeller.basis, "random_state", None)
    return Request(
        RegressionTargets(np.zeros(1), np.ones(1), False),
        kernel=kernel,
        basis=labeller.basis,
        criterion=LeaveOneOut(),  # scoring needs a second pass over the rows
        intercept=False,
        dtype=labeller.dtype,
        memory_limit=labeller.memory_limit,
        needs_sums=True,
        # A basis with a seed uses its own.
        seeds=OneStream(rng if seed is None else as_generator(seed)),
    )


def score_pool(
    rows: RowSet, request: Request, choose_alpha: Callable[[PoolDimension], float]
) -> PoolScores:
    """Score the rows of a pool; only the number of target columns is used."""
    clock = Clock()
    plan = make_plan(rows, request)
    with clock.stage("basis"):
        # The functions are the same for any number of shards: draws and bandwidth use all rows.
        basis = plan.basis.fit_source(
            rows,  # type: ignore[arg-type]
            request.kernel,
            request.seeds.basis(),
            plan.precision,
            plan.may_widen,
        )
    if basis.has_candidates:
        raise ValueError(
            "a pool has no labels, so features cannot be selected from candidates: use "
            "RandomFeatures(sampling='plain'), or landmarks"
        )
    with clock.stage("moments"):
        folds = sum_moments(
            rows, request.targets, basis, replace(plan.reading, folds=1), request.seeds.rows()
        )
    with clock.stage("solve"):
        system = MomentSystem(folds, basis, False, request.units)
        pool = PoolDimension(system.spectrum, None, rows.n_rows)
        alpha, directions = choose_alpha(pool), system.directions
    with clock.stage("scores"):
        found = leverage_of_rows(
            rows, basis, plan.reading, directions, system.spectrum.filter(alpha)
        )
        pool = replace(pool, residual=found.residual)
        tried, alpha = alpha, choose_alpha(pool)
        if alpha != tried:
            found = leverage_of_rows(
                rows, basis, plan.reading, directions, system.spectrum.filter(alpha)
            )
        scores = found.projected + pool.residual_scores(alpha)
    return PoolScores(scores, alpha, pool.effective_dimension(alpha), basis, clock.seconds)
