"""The scale by which the errors at a place are divided: learned, and wider far from all rows.

.. math:: s(x)^2 = g(x)^4 + \\nu(x)\\, \\big(\\operatorname{var}(y) + (f(x) - \\bar y)^2\\big)

with g of :mod:`mercer.inference.error_scale` and nu, from 0 among the rows of the fit to 1 where
nothing is known, of :mod:`mercer.inference.novelty`: far away, y is only known to be like all
others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.inference.error_scale import ErrorScale, ScaleModels, roots_of
from mercer.inference.left_out_pass import LeftOutShard
from mercer.inference.left_out_sums import counts_of
from mercer.inference.novelty import Novelty


@dataclass(frozen=True)
class LocalScale:
    """s(x) of each output, for encoded targets."""

    scale: ErrorScale
    novelty: Novelty | None
    mean: Array  # (k,) of y
    spread: Array  # (k,) standard deviation of y

    def of(self, roots: Array, novelty: Array | None, centers: Array) -> Array:
        """Return s of shape (n, k), given the root's functions, nu and predictions."""
        found = self.scale.of(roots)
        if self.novelty is None or novelty is None:
            return found
        spread = self.spread**2 + (centers - self.mean) ** 2
        return np.asarray(np.sqrt(found**2 + self.novelty.excess(novelty)[:, None] * spread))


def scales_of(held: LeftOutShard, local: LocalScale, models: ScaleModels) -> Array:
    """Task: return the scale of each left-out row of a shard, from the folds without it."""
    return local.of(roots_of(held, models), held.novelty, held.rows.values)


def error_counts_of(
    held: LeftOutShard, local: LocalScale, models: ScaleModels, folds: int
) -> Array:
    """Task: return the counts of scaled errors of a shard, by fold, bin and output."""
    rows = held.rows
    errors = rows.errors / scales_of(held, local, models)
    return counts_of(errors, rows.weight, rows.fold, folds)
