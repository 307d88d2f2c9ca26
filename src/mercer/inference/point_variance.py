"""The variance of a Gaussian process at new rows, from a kernel matrix.

.. math:: \\frac{v(x)}{\\sigma^2} = \\frac1{W\\lambda} \\Big(K(x, x) - k'Qk
          + \\frac{(1 - 1'Qk)^2}{1'Q1}\\Big), \\qquad
          Q = (K + W\\lambda \\operatorname{diag}(1/w))^{-1}, \\quad k = (K(x_i, x))_i

(Rasmussen and Williams, 2006, equations 2.26 and 2.42); the last term, of the intercept with its
flat prior, is absent without one. With all rows of a fit this is exact. With m points that are a
uniform sample of the rows, each standing for ``W / m`` of the weight, Q is ``(K_mm + m
lambda)^-1``: for landmarks this is the variance of :mod:`mercer.inference.moment_variance` with
``K_mm K_mm / m`` for the mean ``S / W`` over all rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer.contracts import Array, Rows
from mercer.inference.shifted_inverse import ShiftedInverse
from mercer.kernels import Kernel


class PointVariance:
    """``v(x) / sigma^2`` from points with weights; m^2 multiplications a row.

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
