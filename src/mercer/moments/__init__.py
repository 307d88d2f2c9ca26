"""Moments: sums over rows that add and subtract."""

from mercer.moments.accumulate import MomentSums, Workspace
from mercer.moments.moments import Moments, NormalEquations
from mercer.moments.queries import PairWeights, QuerySums

__all__ = [
    "MomentSums",
    "Moments",
    "NormalEquations",
    "PairWeights",
    "QuerySums",
    "Workspace",
]
