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

In coordinates ``g_j = T'h(x_j)`` that make the functions orthonormal, ``g_j'g_j`` is the squared
norm of the projection of ``K(x_j, .)`` on their span, and rho what the span misses of it. See
:mod:`mercer.sampling.leverage` for what the scores approximate.

The effective dimension is the mean of the scores,

.. math:: \\mathcal{N}(\\alpha) = \\frac1N \\sum_j c_j
          = \\sum_i \\frac{s_i}{s_i + \\alpha}
          + \\frac1N \\sum_j \\frac{\\rho_j}{\\alpha + \\rho_j / N}

with the eigenvalues s of the moments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, as_basis
from mercer.contracts import Array, Reading, Rows
from mercer.engines import in_order
from mercer.kernels import Kernel
from mercer.moments import Workspace, sum_moments
from mercer.moments.by_fold import share_functions
from mercer.plan import make_plan
from mercer.request import Request, Seeds
from mercer.result import Clock
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.selection import LeaveOneOut
from mercer.systems import MomentSystem, Spectrum
from mercer.targets.number_targets import RegressionTargets
from mercer.validation import check_finite

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


@dataclass(frozen=True)
class RowLeverage:
    """Scores of the projections of rows, and the residuals, which no alpha changes."""

    projected: Array  # (n,)
    residual: Array | None  # (n,), or None if the functions do not span a part of the kernel's


def leverage_of_rows(
    rows: RowSet, basis: BasisTransformer, reading: Reading, directions: Array, inverse: Array
) -> RowLeverage:
    """Return ``g_i' diag(inverse) g_i`` and the residual for every row, from a second pass.

    ``directions`` (M, r) is T, computed from the moments of all rows, and ``inverse`` (r,) is ``1 /
    (s + alpha)``, 0 for dropped directions: the residual needs all of them.
    """
    parts = rows.map(
        leverage_of,
        share_functions(rows, basis),
        rows.reading(reading),
        rows.share(directions, "directions"),
        inverse,
        label="scores",
        record="scores",
    )
    found = rows.by_number(parts)
    if not basis.projects:
        return RowLeverage(found[:, 0], None)
    return RowLeverage(found[:, 0], _residual(found[:, 1], found[:, 2]))


def _residual(explained: Array, norms: Array) -> Array:
    """Return ``norms - explained``, with 0 for what is not above rounding.

    Rounding moves a residual up as far as down, relative to the norm, so the most negative one
    measures it.
    """
    residual = norms - explained
    share = np.divide(residual, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.where(share > -2.0 * share.min(initial=0.0), residual, 0.0)


def leverage_of(
    shard: Shard, basis: BasisTransformer, reading: Reading, directions: Array, inverse: Array
) -> Array:
    """Task: return the scores of a shard's rows; the projected and the whole squared norms too."""
    precision, source, done = basis.precision_, shard.source, 0
    T, root = directions.astype(precision), np.sqrt(inverse).astype(precision)

    def pieces() -> Iterator[Rows]:
        for block in source.blocks(reading.block_rows):
            check_finite(block.X, start=block.start, names=source.feature_names)
            yield block.X

    def scores(workspace: Workspace, X: Rows) -> Array:
        G = basis.orthogonalized(X, workspace.block(X.shape[0])) @ T
        columns = []
        if basis.projects:
            columns = [np.einsum("ij,ij->i", G, G, dtype=np.float64), basis.kernel_.diag(X)]
        G *= root
        return np.column_stack([np.einsum("ij,ij->i", G, G, dtype=np.float64), *columns])

    def report(X: Rows) -> None:
        nonlocal done
        done += X.shape[0]
        shard.report("scores", done)

    with shard.naming():
        parts = in_order(
            lambda: Workspace(basis.size, precision), pieces(), scores, reading.lanes, report
        )
    return np.concatenate(parts)
