"""Average the models of shards: divide and conquer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.combine.base import Combination
from mercer.contracts import Array, Solution, Status
from mercer.validation import check_flag


class Average(Combination):
    """Divide and conquer: every shard solves its own problem, and the models are averaged.

    .. math:: f = \\sum_j \\frac{W_j}{W} f_j

    (for rankings, with the weights of the shards' pairs, ``W_j^2`` where there are no queries).
    (Zhang, Duchi and Wainwright, 2015; Lin, Guo and Zhou, 2017.) Each shard sends its coefficients,
    once. All shards use the same alpha, the one that suits all rows: alone it would be too small
    for a shard, but averaging takes away the variance that this causes.

    Parameters
    ----------
    local_basis : bool
        Whether shards choose functions of their own, from their own rows (DC-NY; the full kernel
        and sketches always do), instead of sharing one basis (DNystroem, DKRR-RF). The model is
        then a sum over the points of all shards.
    """

    label = "average of the shards' models"

    def __init__(self, local_basis: bool = False) -> None:
        self.local_basis = local_basis

    def check(self) -> None:
        """Refuse parameters that cannot be."""
        check_flag(self.local_basis, "local_basis of Average")


@dataclass(frozen=True)
class LocalModel:
    """What a shard sends of the model it has fitted.

    ``points`` are those of its kernel functions where its basis is its own, else None.
    """

    rows: int
    weight: float
    share: float  # what it counts in the average
    coefficients: Array  # (M, k)
    intercept: Array  # (k,)
    points: Array | None
    status: Status
    reason: str
    steps: int


def averaged(models: Sequence[LocalModel]) -> tuple[Array, Array, Array | None, Solution]:
    """Return coefficients, intercept, points and how they were found.

    Points are None for a shared basis; otherwise those of all shards, with the coefficients of each
    times its share.
    """
    shares = np.array([model.share for model in models])
    shares = shares / shares.sum()
    scaled = [share * model.coefficients for share, model in zip(shares, models, strict=True)]
    constant = np.sum(
        [share * model.intercept for share, model in zip(shares, models, strict=True)], axis=0
    )
    if models[0].points is None:
        points, coefficients = None, np.sum(scaled, axis=0)
    else:
        points = np.vstack([model.points for model in models if model.points is not None])
        coefficients = np.vstack(scaled)
    failed = [model for model in models if not model.status.succeeded]
    steps = max(model.steps for model in models)
    if failed:
        status = failed[0].status
        reason = f"{len(failed)} of {len(models)} shards, the first one: {failed[0].reason}"
    else:
        reduced = sum(model.status is Status.RANK_REDUCED for model in models)
        status = Status.RANK_REDUCED if reduced == len(models) else models[0].status
        if status is Status.RANK_REDUCED and reduced < len(models):
            status = Status.SOLVED
        reason = f"the average of {len(models)} shards' models; the first one: {models[0].reason}"
    return coefficients, constant, points, Solution(coefficients, status, reason, steps)
