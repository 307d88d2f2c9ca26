"""Uncertainty of a fit, from what the fit itself has kept."""

from mercer.inference.moment_variance import MomentVariance
from mercer.inference.noise import noise_variance
from mercer.inference.point_variance import PointVariance
from mercer.inference.shifted_inverse import ShiftedInverse
from mercer.inference.variance import Posterior, RelativeVariance, posterior_of

__all__ = [
    "MomentVariance",
    "PointVariance",
    "Posterior",
    "RelativeVariance",
    "ShiftedInverse",
    "noise_variance",
    "posterior_of",
]
