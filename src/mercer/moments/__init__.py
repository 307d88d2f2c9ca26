"""Moments: sums over rows, which can be added and subtracted."""

from mercer.moments.accumulate import MomentSums, Workspace
from mercer.moments.by_fold import Pass, add_folds, sum_moments
from mercer.moments.moments import Moments, NormalEquations
from mercer.moments.pairs import PairWeighting, PairWeights, QueryTotals
from mercer.moments.queries import PartialMoments, QuerySums
from mercer.moments.subtraction import NotAddedError, Peak, subtracted

__all__ = [
    "MomentSums",
    "Moments",
    "NormalEquations",
    "NotAddedError",
    "PairWeighting",
    "PairWeights",
    "PartialMoments",
    "Pass",
    "Peak",
    "QuerySums",
    "QueryTotals",
    "Workspace",
    "add_folds",
    "subtracted",
    "sum_moments",
]
