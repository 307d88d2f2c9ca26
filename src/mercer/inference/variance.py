"""The Gaussian-process variance of a fit, from what the fit has kept.

.. math:: f \\sim \\mathrm{GP}\\Big(0, \\frac{\\sigma^2}{W\\lambda} K\\Big), \\quad
          y_i = f(x_i) + \\varepsilon_i, \\;
          \\operatorname{Var} \\varepsilon_i = \\frac{\\sigma^2}{w_i} \\quad\\Rightarrow\\quad
          \\operatorname{E}[f \\mid y] = \\text{the fit}, \\;
          \\operatorname{Var}[f(x) \\mid y] = v(x)

(Kimeldorf and Wahba, 1970; Rasmussen and Williams, 2006, chapter 2). Three sources of v, in this
order: the moments of the fit and the kernel matrix of the full kernel are exact; a fit by products,
an average or rounds have kept neither, and their landmarks (or at most 4000 of their points) stand
for all rows, each for an equal share of the weight. That is exact if the landmarks are all rows of
one weight, and otherwise an approximation, good while landmarks are a uniform sample and many more
than the effective dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Penalty, Rows
from mercer.inference.moment_variance import MomentVariance
from mercer.inference.noise import noise_variance
from mercer.inference.point_variance import PointVariance
from mercer.inference.variance_by_output import VarianceByOutput
from mercer.result import Fit
from mercer.sampling import uniform_indices
from mercer.systems import ABSENT
from mercer.validation import check_overflow

#: At most this many points stand for all rows, where each row is a point; and how they are drawn.
POINTS, SEED = 4000, 0
#: Why residuals are not known, and what to try.
OF_SHARDS = (
    "shards that average their models keep the residuals to themselves, as do rounds with the full "
    "kernel or with rows without a label (and files of older versions). Fit with combine='sum'"
)
UNLABELLED = (
    "rows without a label are part of the sums, so that the squares of f cannot be told apart from "
    "those of labelled rows. Fit with unlabelled='drop'"
)


class RelativeVariance(Protocol):
    """``v(x) / sigma^2``, the variance in units of that of the noise."""

    weight: float
    width: int
    #: () if it is the same for all outputs, (k,) if they have alphas of their own.
    shape: tuple[int, ...]

    @property
    def effective_dimension(self) -> Any:
        """``trace(A (A + alpha)^-1)``."""

    def of_rows(self, X: Rows) -> Array:
        """Return ``v(x) / sigma^2`` for every row of a block."""

    def leverage(self, X: Rows) -> Array:
        """Return by how much f(x) follows the target of a row x of weight 1 that was fitted."""


@dataclass(frozen=True)
class Posterior:
    """The Gaussian process that a fit is the mean of: ``v(x) = sigma^2 * variance.of_rows(x)``."""

    variance: RelativeVariance
    residual_square: Array | None  # (k,), of encoded targets; None if they are not known
    count: float  # the number of rows
    intercept: bool
    effective_dimension: Penalty
    unknown: str = ""  # why residuals are not known, and what to try

    def noise(self) -> Array:
        """Return sigma^2 for a row of weight 1, of encoded targets; shape (k,)."""
        if self.residual_square is None:
            raise ValueError(
                f"the noise in y is not known: {self.unknown}; leverage(X) needs no noise"
            )
        return noise_variance(
            self.residual_square, self.count, self.effective_dimension, self.intercept
        )

    @property
    def rows_per_weight(self) -> float:
        """One over the mean weight where that is below 1, else 1: so much more noise has a row."""
        return self.count / self.variance.weight


def posterior_of(found: Fit, intercept: bool) -> Posterior:
    """Return the Gaussian process of a fit; ``intercept`` says whether there is one.

    Raise ValueError if alpha is 0, which is no prior, or if nothing stands for the rows.
    """
    if not np.min(found.alpha) > 0:
        raise ValueError(
            f"a Gaussian process needs a positive penalty, since its prior variance is noise / (n "
            f"alpha), got alpha={np.min(found.alpha):g}: fit with alpha='auto', or a small number"
        )
    kernel = found.basis.kernel_
    if kernel.pairwise:
        raise ValueError(
            "the variance at x needs K(x, x), which the rows of a precomputed kernel do not hold: "
            "use a kernel of mercer.kernels, or one of your own (see CONTRIBUTING)"
        )
    unknown = OF_SHARDS if found.folds is None else UNLABELLED
    alphas, place = np.unique(found.alpha, return_inverse=True)
    parts = [_of_alpha(found, float(alpha), intercept) for alpha in alphas]
    variance, residual_square = parts[0]
    if isinstance(found.alpha, np.ndarray):
        variance = VarianceByOutput([part for part, _ in parts], place)
    effective = found.effective_dimension
    if effective is None:
        effective = variance.effective_dimension
    return Posterior(variance, residual_square, found.total_weight, intercept, effective, unknown)


def _of_alpha(found: Fit, alpha: float, intercept: bool) -> tuple[RelativeVariance, Array | None]:
    """Return the variance for one alpha, and the squared residuals of the fit if known."""
    if found.folds is not None:
        variance = MomentVariance(found.folds, found.basis, alpha, intercept)
        return variance, variance.residual_square(found.coefficients)
    if found.dual_rows is not None:
        return _of_full_kernel(found, alpha, intercept)
    return _of_sample(found, alpha, intercept), found.residual_square


def _of_full_kernel(found: Fit, alpha: float, intercept: bool) -> tuple[PointVariance, Array]:
    """Return the exact variance of the full kernel, and the squared residuals of its rows."""
    assert found.dual_rows is not None
    (Y, weight), basis = found.dual_rows, found.basis
    K = basis.gram()
    assert K is not None
    check_overflow(K, "float64")
    left = Y - K @ found.coefficients - found.intercept
    present = weight > ABSENT
    if not present.all():
        K = K[np.ix_(present, present)]
    total = float(weight[present].sum())
    points = basis.landmarks_[present]
    variance = PointVariance(
        basis.kernel_, points, K, weight[present] / total, total, alpha, intercept
    )
    return variance, np.asarray(weight[present] @ left[present] ** 2)


def _of_sample(found: Fit, alpha: float, intercept: bool) -> PointVariance:
    """Return the variance with landmarks, or some of the points, in place of all rows."""
    basis: BasisTransformer = found.basis
    points: Array | None = getattr(basis, "landmarks_", getattr(basis, "points_", None))
    if points is None:
        raise ValueError(
            f"this model has kept neither moments nor rows, and {type(basis).__name__} has no "
            f"points that could stand for them: fit with solver='ridge' and combine='sum', or "
            f"with basis='landmarks'"
        )
    if basis.local:  # every row is a point
        points = points[uniform_indices(len(points), POINTS, np.random.default_rng(SEED))]
    K = basis.kernel_(points)
    check_overflow(K, "float64")
    share = np.full(len(points), 1.0 / len(points))
    return PointVariance(
        basis.kernel_, points, K, share, found.weight, alpha, intercept, sampled=True
    )
