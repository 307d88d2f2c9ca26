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

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Penalty, Rows
from mercer.kernels import Kernel
from mercer.moments import Moments
from mercer.result import Fit
from mercer.sampling import uniform_indices
from mercer.systems import ABSENT, MomentSystem
from mercer.systems.direct import ShiftedInverse
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
    basis = found.basis
    points = basis.kept_points
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


class MomentVariance:
    """``v(x) / sigma^2`` for the functions of a basis; M^2 multiplications a row.

    .. math:: \\frac{v(x)}{\\sigma^2} =
              \\frac1W \\big(1 + (g - \\bar g)'(A + \\lambda)^{-1}(g - \\bar g)\\big)
              + \\frac1{W\\lambda} \\big(K(x, x) - g'g\\big), \\qquad g = R'h(x)

    Coefficients have the prior variance ``sigma^2 / (W lambda)`` in each direction, the intercept a
    flat prior (it adds the 1 and the means; without it there are neither), and rows have noise
    ``sigma^2 / w_i``: the first term is the posterior variance of Bayesian linear regression
    (Rasmussen and Williams, 2006, section 2.1). The second is the prior variance of what the
    functions do not span: without it, rows far from every landmark would look certain
    (Quinonero-Candela and Rasmussen, 2005, who call the first term alone the subset of regressors,
    and the sum the projected process). Random features approximate the kernel itself and have no
    such part.

    Parameters
    ----------
    folds : sequence of Moments
        The moments of the fit.
    basis : BasisTransformer
        The fitted basis. Rows are evaluated in float64, whatever its precision.
    alpha : float
        The penalty, positive.
    intercept : bool
        Whether an unpenalized intercept was fitted.

    Attributes
    ----------
    weight : float
        W, the weight of the labelled rows.
    width : int
        M, the number of values held for each row.
    """

    shape: tuple[int, ...] = ()

    def __init__(
        self, folds: Sequence[Moments], basis: BasisTransformer, alpha: float, intercept: bool
    ) -> None:
        self.system = MomentSystem(folds, basis, intercept, np.ones(len(folds[0].sum_y)))
        self.alpha, self.intercept, self.width = alpha, intercept, basis.size
        # The sums over all rows, labelled or not, approximate those over labelled rows.
        self.weight = self.system.total.target_weight
        self._inverse = ShiftedInverse(self.system.A, alpha)
        self._mean = self.system.whitener.vectors(self.system.mean_h)[:, None]
        self._basis, self._whitener = basis, self.system.whitener
        if basis.precision_ != "float64":  # K(x, x) - g'g cancels
            self._basis = copy.copy(basis)
            self._basis.widen()
            self._whitener = self._basis.whitener()

    @property
    def effective_dimension(self) -> float:
        """``trace(A (A + alpha)^-1)``."""
        return self._inverse.effective_dimension

    def residual_square(self, coefficients: Array) -> Array | None:
        """Return ``sum_i w_i (y_i - f(x_i))^2``, given the coefficients (M, k) of h; shape (k,).

        None if some rows have no label: the sum of ``f(x_i)^2`` is then over more rows.
        """
        if self.system.total.target_rows != self.system.total.rows:
            return None
        basis, system = self._basis, self.system
        v = self._whitener.vectors(basis.vectors(basis.penalty(coefficients, exact=True)))
        explained = np.einsum("ij,ij->j", v, 2.0 * system.b - system.A @ v)
        return np.asarray(self.weight * np.maximum(system.target_square - explained, 0.0))

    def _parts(self, X: Rows) -> tuple[Array, Array]:
        """Return what the functions span, and K(x, x) less the part that they span."""
        g = self._whitener.vectors(self._basis.orthogonalized(X).T)
        half = self._inverse.half(g - self._mean)
        spanned = np.einsum("ij,ij->j", half, half) + float(self.intercept)
        if not self._basis.projects:
            return spanned, np.zeros(len(spanned))
        missed = self._basis.kernel_.diag(X) - np.einsum("ij,ij->j", g, g)
        return spanned, np.maximum(missed, 0.0)

    def of_rows(self, X: Rows) -> Array:
        """Return ``v(x) / sigma^2`` for every row of a block."""
        spanned, missed = self._parts(X)
        return np.asarray((spanned + missed / self.alpha) / self.weight)

    def leverage(self, X: Rows) -> Array:
        """Return by how much f(x) follows the target of a row x of weight 1 that was fitted."""
        return np.asarray(self._parts(X)[0] / self.weight)


class PointVariance:
    """``v(x) / sigma^2`` from points with weights; m^2 multiplications a row.

    .. math:: \\frac{v(x)}{\\sigma^2} = \\frac1{W\\lambda} \\Big(K(x, x) - k'Qk
              + \\frac{(1 - 1'Qk)^2}{1'Q1}\\Big), \\qquad
              Q = (K + W\\lambda \\operatorname{diag}(1/w))^{-1}, \\quad k = (K(x_i, x))_i

    (Rasmussen and Williams, 2006, equations 2.26 and 2.42); the last term, of the intercept with
    its flat prior, is absent without one. With all rows of a fit this is exact. With m points that
    are a uniform sample of the rows, each standing for ``W / m`` of the weight, Q is ``(K_mm + m
    lambda)^-1``: for landmarks this is the variance of :class:`MomentVariance` with ``K_mm K_mm /
    m`` for the mean ``S / W`` over all rows.

    Parameters
    ----------
    kernel : Kernel
        The fitted kernel.
    points : array of shape (m, d)
        Rows of the fit.
    K : array of shape (m, m)
        Their kernel matrix.
    share : array of shape (m,)
        The share of each point in the weight; positive, with sum 1.
    weight : float
        W, the weight of all rows.
    alpha : float
        The penalty, positive.
    intercept : bool
        Whether an unpenalized intercept was fitted.
    sampled : bool
        Whether the points are a sample that stands for all rows.

    Examples
    --------
    One row of weight 1 halves the prior variance ``1 / (W lambda) = 1`` at itself:

    >>> from mercer.kernels import Gaussian
    >>> one = np.zeros((1, 1))
    >>> known = PointVariance(Gaussian(1.0), one, np.ones((1, 1)), np.ones(1), 1.0, 1.0, False)
    >>> known.of_rows(np.array([[0.0], [100.0]])).round(9).tolist()
    [0.5, 1.0]
    """

    shape: tuple[int, ...] = ()

    def __init__(
        self,
        kernel: Kernel,
        points: Array,
        K: Array,
        share: Array,
        weight: float,
        alpha: float,
        intercept: bool,
        sampled: bool = False,
    ) -> None:
        self.weight, self.alpha, self.intercept, self.width = weight, alpha, intercept, len(points)
        self.sampled = sampled
        self._kernel, self._block = kernel, kernel.against(points)
        # Q = D (B + lambda)^-1 D / W with B = D K D and D = diag(w / W)^(1/2)
        self._root = np.sqrt(share)[:, None]
        self._inverse = ShiftedInverse(self._root * K * self._root.T, alpha)
        self._one = self._inverse.half(self._root)[:, 0]

    @cached_property
    def effective_dimension(self) -> float:
        """``trace(A (A + alpha)^-1)``, of centered A if there is an intercept."""
        found = self._inverse.effective_dimension
        if not self.intercept:
            return found
        back = self._inverse.back(self._one[:, None])[:, 0]
        # The intercept adds this to the trace of the hat matrix, and is itself one of its units.
        return float(found + self.alpha * (back @ back) / (self._one @ self._one) - 1.0)

    def of_rows(self, X: Rows) -> Array:
        """Return ``v(x) / sigma^2`` for every row of a block."""
        half = self._inverse.half(self._root * self._block(X).T)
        value = self._kernel.diag(X) - np.einsum("ij,ij->j", half, half)
        if self.intercept:
            value += (1.0 - self._one @ half) ** 2 / (self._one @ self._one)
        return np.asarray(np.maximum(value, 0.0) / (self.weight * self.alpha))

    def leverage(self, X: Rows) -> Array:
        """Return by how much f(x) follows the target of a row x of weight 1 that was fitted.

        A sample has hardly ever seen the row itself, whose own target then divides v by 1 + v.
        """
        found = self.of_rows(X)
        return np.asarray(found / (1.0 + found)) if self.sampled else found


class VarianceByOutput:
    """``v_j(x) / sigma_j^2`` of every output j, each with its alpha; of shape (rows, k).

    Parameters
    ----------
    variances : sequence of RelativeVariance
        One for each distinct alpha.
    place : array of shape (k,)
        Which of them is that of an output.
    """

    def __init__(self, variances: Sequence[Any], place: Array) -> None:
        self._variances, self._place = variances, place
        self.weight: float = variances[0].weight
        self.width: int = variances[0].width
        self.shape = place.shape

    @property
    def effective_dimension(self) -> Array:
        """``trace(A (A + alpha)^-1)`` of every output."""
        return np.array([one.effective_dimension for one in self._variances])[self._place]

    def of_rows(self, X: Rows) -> Array:
        """Return ``v_j(x) / sigma_j^2`` for every row of a block."""
        return np.stack([one.of_rows(X) for one in self._variances], axis=1)[:, self._place]

    def leverage(self, X: Rows) -> Array:
        """Return by how much every output follows the target of a fitted row x of weight 1."""
        return np.stack([one.leverage(X) for one in self._variances], axis=1)[:, self._place]


#: Below this share of the rows, what is left for residuals is rounding.
ROUNDING = 1e-9


def noise_variance(
    residual_square: Array, count: float, effective_dimension: Penalty, intercept: bool
) -> Array:
    """Return the variance sigma^2 of the noise in each output, of shape (k,).

    .. math:: \\hat\\sigma^2 = \\frac{\\sum_i w_i (y_i - f(x_i))^2}{n - N(\\alpha) - 1}, \\qquad
              N(\\alpha) = \\operatorname{tr} A (A + \\alpha)^{-1}

    (Wahba, 1983, *Bayesian confidence intervals for the cross-validated smoothing spline*, section
    4); the 1 is the intercept. It is the variance of a row of weight 1.

    Parameters
    ----------
    residual_square : array of shape (k,)
        ``sum_i w_i (y_i - f(x_i))^2``.
    count : float
        The number of rows.
    effective_dimension : float or array of shape (k,)
        ``N(alpha)``, for each alpha.
    intercept : bool
        Whether an intercept was fitted.

    Examples
    --------
    >>> noise_variance(np.array([8.0]), count=12.0, effective_dimension=3.0, intercept=True)
    array([1.])
    """
    most = float(np.max(effective_dimension))
    left = count - effective_dimension - float(intercept)
    if not np.all(left > ROUNDING * count):
        raise ValueError(
            f"the noise in y cannot be told from residuals: the fit uses {most:.6g} "
            f"effective parameters{' and an intercept' if intercept else ''} for {count:.6g} rows, "
            f"and so follows every row: use a larger alpha, alpha='auto', or more rows"
        )
    return np.asarray(residual_square / left)
