"""Moments: sums over rows that add and subtract."""

from mercer.moments.accumulate import MomentSums, leading_subspace
from mercer.moments.moments import Moments, NormalEquations

__all__ = ["MomentSums", "Moments", "NormalEquations", "leading_subspace"]
