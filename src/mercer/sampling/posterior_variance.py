"""The variance of a Gaussian process given some rows, and rows chosen one by one to lower it.

.. math:: v_L(x) = K(x, x) - k_L(x)' (K_{LL} + s I)^{-1} k_L(x)

is the variance of f(x) given labels of the rows L with noise of variance s, for a prior with
covariance K. The labels themselves do not matter. A further row p lowers it to

.. math:: v_{L \\cup p}(x) = v_L(x) - f_p(x)^2, \\qquad
          f_p(x) = \\frac{K(x, x_p) - F(x)'F(x_p)}{\\sqrt{v_L(x_p) + s}}

with the values F(x) of the functions so far. For s = 0 this is a pivoted Cholesky factor of the
kernel matrix, ``K ~ F F'``, with the chosen rows as pivots. Taking the row of the largest variance
every time is uncertainty sampling (MacKay, 1992, *Information-Based Objective Functions for Active
Data Selection*). A label at x adds the information ``log(1 + v_L(x) / s) / 2`` about f, so that the
rule is greedy in it, and gains at least ``1 - 1/e`` of what the most informative set of that size
would (Srinivas, Krause, Kakade and Seeger, 2010, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel

#: Chooses a row: given the variances, which are negative at rows that are not to be chosen.
Choose = Callable[[Array], int]


@dataclass(frozen=True)
class PosteriorVariance:
    """Variances of n rows, given labels of some of them.

    One kernel value per row and per labelled row is computed, and one number for each is kept.

    Attributes
    ----------
    kernel : Kernel
        K, with numbers as parameters.
    points : array or sparse rows (n, d)
        The rows.
    noise : float
        s, the variance of the noise of a label in the units of the kernel: ``n alpha`` for n labels
        of a fit with the penalty alpha.
    variance : array (n,)
        v, given the labelled rows.
    labelled : array of int
        The labelled rows, in the order of their labels.
    factors : tuple of arrays (n, k)
        F, a part for each call of :meth:`given` or :meth:`chosen`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [0.0], [0.1], [3.0]])
    >>> prior = PosteriorVariance.prior(Gaussian(1.0), X, noise=0.01)
    >>> found, rows, before = prior.chosen(2, largest)
    >>> rows, before.round(2), found.variance.round(2)
    (array([0, 3]), array([1., 1.]), array([0.01, 0.01, 0.02, 0.01]))
    """

    kernel: Kernel
    points: Rows
    noise: float
    variance: Array
    labelled: Array
    factors: tuple[Array, ...] = ()

    @classmethod
    def prior(cls, kernel: Kernel, points: Rows, noise: float) -> Self:
        """Return the variances ``K(x, x)`` of rows before any label."""
        variance = np.array(kernel.diag(points), dtype=np.float64)
        return cls(kernel, points, noise, variance, np.zeros(0, dtype=np.intp))

    def given(self, rows: Array) -> Self:
        """Return the variances given labels of these rows too."""
        order = iter(rows)
        return self._extended(len(rows), lambda variance: int(next(order)))[0]

    def chosen(self, number: int, choose: Choose) -> tuple[Self, Array, Array]:
        """Choose rows one by one, each given the ones before; none is chosen twice.

        Returns the variances given their labels, the rows in the order of choice, and the variance
        that each had when it was chosen.
        """
        left = len(self.variance) - len(np.unique(self.labelled))
        if number > left:
            raise ValueError(f"number must be at most the {left} rows without label, got {number}")
        found, before = self._extended(number, choose)
        return found, found.labelled[len(self.labelled) :], before

    def _extended(self, number: int, choose: Choose) -> tuple[Self, Array]:
        variance, taken = self.variance.copy(), np.zeros(len(self.variance), dtype=bool)
        taken[self.labelled] = True
        F = np.empty((len(variance), number), order="F")
        rows, before = np.zeros(number, dtype=np.intp), np.zeros(number)
        values = self.kernel.against(self.points)  # the work on all rows is done once
        for step in range(number):
            row = choose(np.where(taken, -1.0, variance))
            rows[step], before[step], taken[row] = row, variance[row], True
            new = values(self.points[[row]])[0]
            for part in (*self.factors, F[:, :step]):
                new -= part @ part[row]
            # The variance itself has been updated by the same terms, and is never negative.
            F[:, step] = new / np.sqrt(variance[row] + self.noise)
            variance = np.maximum(variance - F[:, step] ** 2, 0.0)
        return replace(
            self,
            variance=variance,
            labelled=np.concatenate([self.labelled, rows]),
            factors=(*self.factors, F),
        ), before


def largest(variance: Array) -> int:
    """Return the row with the largest variance; the first one of several."""
    return int(np.argmax(variance))


def in_proportion(rng: np.random.Generator) -> Choose:
    """Return a rule that draws a row with probability proportional to its variance.

    If no variance is left, all rows that may be drawn have the same chance. For s = 0 this is
    randomly pivoted Cholesky (:mod:`mercer.sampling.pivoted_cholesky`), one pivot at a time.

    >>> in_proportion(np.random.default_rng(0))(np.array([-1.0, 0.0, 0.5]))
    2
    """

    def choose(variance: Array) -> int:
        chances = np.maximum(variance, 0.0)
        if not chances.sum() > 0:
            chances = (variance >= 0).astype(np.float64)
        ends = np.cumsum(chances)
        # Below the total, so that the row found has a positive chance.
        at = min(rng.random() * ends[-1], np.nextafter(ends[-1], 0.0))
        return int(np.searchsorted(ends, at, side="right"))

    return choose
