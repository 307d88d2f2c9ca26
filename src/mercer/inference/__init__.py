"""How sure a model is: its variance, rows that were left out of it, intervals and calibration."""

from mercer.inference.error_scale import ErrorScale
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_pass import LeftOutRows
from mercer.inference.mixture_quantiles import ErrorMixture
from mercer.inference.novelty import Novelty
from mercer.inference.variance import (
    MomentVariance,
    PointVariance,
    Posterior,
    RelativeVariance,
    noise_variance,
    posterior_of,
)
from mercer.systems.direct import ShiftedInverse

__all__ = [
    "ErrorMixture",
    "ErrorScale",
    "Intervals",
    "LeftOutRows",
    "MomentVariance",
    "Novelty",
    "PointVariance",
    "Posterior",
    "RelativeVariance",
    "ShiftedInverse",
    "noise_variance",
    "posterior_of",
]
