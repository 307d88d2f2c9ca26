"""Add the moments of all shards: the fit of all rows in one place."""

from __future__ import annotations

from typing import TypeVar

from mercer.combine.base import Combination
from mercer.moments import Moments, PartialMoments


class ExactSum(Combination):
    """The solution of all rows together, for any number of shards.

    .. math:: S = \\sum_j S_j, \\qquad t = \\sum_j t_j

    Moments are sums over rows, so those of shards add up to those of all rows, and one solve
    remains. Each shard sends its moments once, M (M + k + 2) numbers and a few more.
    """

    label = "exact sum of moments"


Sums = TypeVar("Sums", Moments, PartialMoments)


def add_folds(left: list[Sums], right: list[Sums]) -> list[Sums]:
    """Add moments that are kept in pieces, piece by piece."""
    return [a + b for a, b in zip(left, right, strict=True)]
