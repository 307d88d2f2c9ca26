"""The exponential chi-squared kernel, of histograms and counts."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel

from mercer.contracts import Array, BlockGradient, BlockKernel, Precision, Rows
from mercer.kernels.bandwidth import is_resolved, resolve_bandwidth
from mercer.kernels.gradients import Scratch, in_tiles, weighted
from mercer.kernels.kernel import Kernel, dense


class ChiSquared(Kernel):
    """The chi-squared kernel of rows without negative values: histograms, counts, shares.

    .. math:: K(x, z) = \\exp\\Big(-\\frac{1}{\\text{bandwidth}}
              \\sum_j \\frac{(x_j - z_j)^2}{x_j + z_j}\\Big), \\qquad 0/0 = 0

    This is scikit-learn's ``chi2_kernel`` with ``gamma = 1 / bandwidth`` (Zhang, Marszalek,
    Lazebnik and Schmid, 2007). It is positive semi-definite for every bandwidth, because the sum,
    which is ``sum_j x_j + z_j - 4 x_j z_j / (x_j + z_j)``, is conditionally negative definite
    (Schoenberg, 1938). Columns are not scaled, which would make values negative; a diagonal metric
    can be learned (``metric="diagonal"``).

    Parameters
    ----------
    bandwidth : float, array of shape (d,), "auto" or "median"
        One number for all columns, or one per column, that divides the values. "median" uses the
        median of the sum between rows; "auto" is part of an estimator's search, and "median"
        elsewhere.

    Examples
    --------
    >>> ChiSquared(bandwidth=1.0)(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3)
    array([[1.   , 0.513],
           [0.513, 1.   ]])
    """

    bounded = True
    may_scale = False
    nonnegative = True
    has_gradient = True
    learns = "diagonal"
    scratch = 3

    def __init__(self, bandwidth: float | Array | str = "auto") -> None:
        self.bandwidth = bandwidth

    def fitted(self, X: Rows) -> ChiSquared:
        """Return a copy with the bandwidth as numbers."""
        rows = _checked(X)
        bandwidth = resolve_bandwidth(self.bandwidth, rows, between_pairs)
        if is_resolved(self.bandwidth):
            return self
        return self._with(bandwidth=bandwidth)

    def against(self, Z: Rows, precision: Precision = "float64") -> BlockKernel:
        """Return X -> K(X, Z)."""
        points = _checked(Z) / self.bandwidth  # the sum is homogeneous

        def block(X: Rows, out: Array | None = None) -> Array:
            if out is None:
                out = np.empty((X.shape[0], len(points)), dtype=precision)
            out[...] = np.exp(additive_chi2_kernel(_checked(X) / self.bandwidth, points))
            return out

        return block

    def gradient(self, Z: Rows, precision: Precision = "float64") -> BlockGradient:
        """Return the gradient, column by column; where x = z = 0, at a kink, it is 0.

        That of the sum is ``(x - z)(x + 3z) / (x + z)^2``.
        """
        values, points = self.against(Z), _checked(Z) / self.bandwidth
        widths = np.broadcast_to(np.asarray(self.bandwidth, dtype=np.float64), points.shape[1])

        def tile(X: Rows, C: Array, weight: Array | None, scratch: Scratch) -> Array:
            rows = _checked(X) / self.bandwidth
            factor = weighted(-values(X), weight)
            out = np.empty((C.shape[1], *rows.shape))
            for column, width in enumerate(widths):
                x, z = rows[:, column, None], points[:, column]
                total = x + z
                slope = np.divide(
                    (x - z) * (x + 3 * z), total**2, out=np.zeros_like(total), where=total > 0
                )
                out[:, :, column] = ((slope * factor) @ C).T / width
            return out

        return in_tiles(tile, len(points), precision)

    def diag(self, X: Rows) -> Array:
        """Return ones."""
        return np.ones(len(_checked(X)))


def between_pairs(rows: Array) -> Array:
    """Return ``sum_j (x_j - z_j)^2 / (x_j + z_j)`` of all pairs of rows.

    >>> between_pairs(np.array([[0.0], [1.0], [3.0]]))
    array([1., 3., 1.])
    """
    return np.asarray(-additive_chi2_kernel(rows)[np.triu_indices(len(rows), 1)])


def _checked(X: Rows) -> Array:
    rows = dense(X)
    lowest = float(rows.min(initial=0.0))
    if lowest < 0:
        column = int(np.argmin(rows.min(axis=0)))
        raise ValueError(
            f"ChiSquared needs nonnegative columns, such as counts or shares. Negative values in "
            f"data: {lowest:g} in column {column}; do not center the columns, or try LaplacianL1()"
        )
    return rows
