"""Errors on folds for many outputs, by a band form of every fold's matrix, a fold on each core.

.. math:: A_{-k} = \\frac{W A - W_k A_k}{W_{-k}} = Q B Q', \\qquad
          v'S_k v = W v'A v - W_{-k} v'A_{-k} v, \\quad v'A_{-k} v = g'B g, \\quad g = Q'v

(centered, with an intercept). A reduction is bound by memory as much as by arithmetic, so one on
each core is faster than one after another on all of them. The sums of a fold are whitened once,
and its own part of a square is a difference, so that its matrix may be overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mercer.contracts import Array
from mercer.engines import Lanes, available_cores, blas_threads
from mercer.engines.local import one_core
from mercer.moments import Moments
from mercer.systems.band_form import BandForm
from mercer.systems.decomposition import rounding

if TYPE_CHECKING:
    from mercer.systems.by_moments import MomentSystem

#: Rows of a matrix that are changed at a time, so that they stay in the cache.
TILE = 64


def reduced_fold_errors(
    system: MomentSystem, rows: Sequence[int], alphas: Array
) -> dict[int, Array]:
    """Return squared errors, alphas and then outputs, of the folds in ``rows``.

    Folds are left out if a matrix is singular up to rounding: that needs eigenvectors.
    """
    found: dict[int, Array] = {}
    lanes = max(1, min(len(rows), available_cores()))
    for start in range(0, len(rows), lanes):
        # LAPACK holds Python's lock while it whitens, so this is done before the threads begin.
        with blas_threads(available_cores()):
            parts = [_Part.of(system, row) for row in rows[start : start + lanes]]

        def score(errors: dict[int, Array], part: _Part) -> None:
            by_column = part.errors(system, alphas)
            if by_column is not None:
                errors[part.row] = by_column

        def score_alone(errors: dict[int, Array], part: _Part) -> None:
            with one_core():
                score(errors, part)

        count = len(parts)
        threads: Lanes[dict[int, Array]] = Lanes(dict, count)
        for scored in threads.run(parts, score if count == 1 else score_alone):
            found.update(scored)
        if len(found) < start + count:
            break  # if one is singular, the others are as well
    return found


@dataclass
class _Part:
    """A fold, with its sums in whitened coordinates."""

    row: int
    fold: Moments  # as it is, without its matrix
    S: Array  # (r, r) R'S_k R, which is overwritten
    cross: Array  # (r, k)
    sum_h: Array  # (r,)
    target_sum_h: Array  # (r,)

    @classmethod
    def of(cls, system: MomentSystem, row: int) -> _Part:
        """Whiten the sums of a fold."""
        fold, white = system.folds[row], system.whitener
        vectors = white.vectors(np.column_stack([fold.sum_h, fold.target_sum_h, fold.cross]))
        return cls(
            row,
            replace(fold, gram=_NOTHING),
            white.matrix(fold.gram),
            vectors[:, 2:],
            vectors[:, 0],
            vectors[:, 1],
        )

    def errors(self, system: MomentSystem, alphas: Array) -> Array | None:
        """Return squared errors on the fold for all alphas; None if the rest is singular."""
        total, outputs = replace(system.total, gram=_NOTHING), self.cross.shape[1]
        train = total - self.fold
        _, mean_y = train.means(system.intercept)
        center, m, b = self._right(system, train, mean_y)
        A = self._without(system, train.weight, center, m)
        noise = rounding(A)
        form = BandForm.of(A, b)
        if not form.exceeds(noise):
            return None
        inner = form.shifted(alphas).solutions
        V = form.outward(inner)
        at_mean = m @ V
        rest = np.einsum("ij,ij->j", inner, form.product(inner)) + at_mean**2
        whole = np.einsum("ij,ij->j", V, system.A @ V) + (center @ V) ** 2
        by_alpha = V.reshape(len(V), len(alphas), outputs)
        return self.fold.error_of(
            fit_square=total.weight * whole - train.weight * rest,
            fit_cross=np.einsum("iak,ik->ak", by_alpha, self.cross).ravel(),
            fit_sum=self.sum_h @ V,
            intercept=np.tile(mean_y, len(alphas)) - at_mean,
        )

    def _right(
        self, system: MomentSystem, train: Moments, mean_y: Array
    ) -> tuple[Array, Array, Array]:
        """Return the means of h over all rows and over the others, and b of the others."""
        sums = system.white_sums
        center = system.intercept / system.total.weight * sums[:, 0]
        m = system.intercept / train.weight * (sums[:, 0] - self.sum_h)
        labelled = sums[:, 1] - self.target_sum_h
        b = (sums[:, 2:] - self.cross - np.outer(labelled, mean_y)) / train.target_weight
        return center, m, b

    def _without(self, system: MomentSystem, weight: float, center: Array, m: Array) -> Array:
        """Return ``A_{-k}`` in the place of the sums of the fold."""
        share = system.total.weight / weight
        for start in range(0, len(m), TILE):
            rows = slice(start, start + TILE)
            part = self.S[rows]
            part *= -1.0 / weight
            part += share * system.A[rows]
            part += np.outer(share * center[rows], center) - np.outer(m[rows], m)
        return self.S


_NOTHING = np.zeros((0, 0))
