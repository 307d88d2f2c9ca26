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

The effective dimension is the mean of the scores,

.. math:: \\mathcal{N}(\\alpha) = \\frac1N \\sum_j c_j
          = \\sum_i \\frac{s_i}{s_i + \\alpha}
          + \\frac1N \\sum_j \\frac{\\rho_j}{\\alpha + \\rho_j / N}

with the eigenvalues s of the moments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, as_basis
from mercer.contracts import Array
from mercer.kernels import Kernel
from mercer.moments import sum_moments
from mercer.plan import make_plan
from mercer.request import Request, Seeds
from mercer.result import Clock
from mercer.rows.rowset import RowSet
from mercer.selection import LeaveOneOut
from mercer.systems import MomentSystem, Spectrum
from mercer.systems.leverage_of_rows import leverage_of_rows
from mercer.targets.number_targets import RegressionTargets

#: The ratio of one candidate alpha to the next, and how many are below the largest eigenvalue.
RATIO, BELOW = 10 ** (12 / 199), 199


@dataclass(frozen=True)
class PoolDimension:
    """The effective dimension of N rows, from their spectrum and their residuals.

    A row outside the span of the basis is scored as if it stood alone there: it adds the
    eigenvalue ``rho_j / N`` to the covariance, and has the score ``rho_j / (alpha + rho_j / N)``
    beside that of its projection. Residuals of similar rows overlap, so this is exact for rows
    that stand alone and an upper bound for others.

    >>> spectrum = Spectrum(np.array([0.5]), np.ones((1, 1)), np.zeros((1, 1)))
    >>> PoolDimension(spectrum, np.array([0.0, 1.0])).effective_dimension(0.5)
    1.0
    """

    spectrum: Spectrum
    residual: Array | None = None  # (N,), or None if the basis has none
    n_rows: float = np.inf  # N, if it is known

    def residual_scores(self, alpha: float) -> Array | float:
        """Return ``rho_j / (alpha + rho_j / N)`` for every row; 0.0 without residuals."""
        if self.residual is None:
            return 0.0
        return np.asarray(self.residual / (alpha + self.residual / len(self.residual)))

    def effective_dimension(self, alpha: float) -> float:
        """Return the mean of the scores of all rows."""
        outside = float(np.mean(self.residual_scores(alpha)))
        return float(self.spectrum.effective_dimension(alpha)) + outside

    def alpha_at(self, dimension: float) -> float:
        """Return the least alpha, of a geometric grid, with at most this effective dimension.

        The grid starts at 1e-12 of the largest eigenvalue. Its points do not depend on the
        residuals, which only make it longer, so that negligible ones leave the choice as it is.
        """
        values = self.spectrum.values
        outside = 0.0 if self.residual is None else float(self.residual.mean())
        largest = float(values.max(initial=0.0)) or outside
        if largest == 0.0:
            return 1.0
        # Rows outside the span may need more: the dimension is at most trace / alpha.
        needed = outside and (float(values.sum()) + outside) / dimension
        above = max(0, int(np.ceil(np.log(max(needed, largest) / largest) / np.log(RATIO))))
        grid = largest * RATIO ** np.arange(-BELOW, above + 1.0)
        at = bisect_left(
            grid, True, key=lambda alpha: self.effective_dimension(float(alpha)) <= dimension
        )
        return float(grid[min(at, len(grid) - 1)])


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
    is_open = isinstance(labeller.basis, str) and labeller.basis == "auto"
    return Request(
        RegressionTargets(np.zeros(1), np.ones(1), False),
        kernel=kernel,
        basis=None if is_open else as_basis(labeller.basis),
        criterion=LeaveOneOut(),  # scoring needs a second pass over the rows
        intercept=False,
        dtype=labeller.dtype,
        memory_limit=labeller.memory_limit,
        needs_sums=True,
        seeds=Seeds.of(rng, getattr(labeller.basis, "random_state", None)),
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
            rows, request.kernel, request.seeds.basis(), plan.precision, plan.may_widen
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
        projected = partial(leverage_of_rows, rows, basis, plan.reading, directions)
        found = projected(system.spectrum.filter(alpha))
        pool = replace(pool, residual=found.residual)
        tried, alpha = alpha, choose_alpha(pool)
        if alpha != tried:
            found = projected(system.spectrum.filter(alpha))
        scores = found.projected + pool.residual_scores(alpha)
    return PoolScores(scores, alpha, pool.effective_dimension(alpha), basis, clock.seconds)
