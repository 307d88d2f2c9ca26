"""The effective dimension of a pool: the mean of its scores, for any penalty.

.. math:: \\mathcal{N}(\\alpha) = \\frac1N \\sum_j c_j
          = \\sum_i \\frac{s_i}{s_i + \\alpha}
          + \\frac1N \\sum_j \\frac{\\rho_j}{\\alpha + \\rho_j / N}

with the eigenvalues s of the moments, and the residuals rho of rows outside the span of the basis.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.systems import Spectrum

#: The ratio of one candidate alpha to the next, and how many are below the largest eigenvalue.
RATIO, BELOW = 10 ** (12 / 199), 199


@dataclass(frozen=True)
class PoolDimension:
    """The effective dimension of N rows, from their spectrum and their residuals.

    A row outside the span of the basis is scored as if it stood alone there: it adds the
    eigenvalue ``rho_j / N`` to the covariance, and has the score ``rho_j / (alpha + rho_j / N)``
    beside that of its projection. Residuals of similar rows overlap, so this is exact for rows
    that stand alone and an upper bound for others.

    >>> spectrum = Spectrum(np.array([0.5]), np.ones((1, 1)), np.zeros((1, 1)))
    >>> PoolDimension(spectrum, np.array([0.0, 1.0])).effective_dimension(0.5)
    1.0
    """

    spectrum: Spectrum
    residual: Array | None = None  # (N,), or None if the basis has none
    n_rows: float = np.inf  # N, if it is known

    def residual_scores(self, alpha: float) -> Array | float:
        """Return ``rho_j / (alpha + rho_j / N)`` for every row; 0.0 without residuals."""
        if self.residual is None:
            return 0.0
        return np.asarray(self.residual / (alpha + self.residual / len(self.residual)))

    def effective_dimension(self, alpha: float) -> float:
        """Return the mean of the scores of all rows."""
        outside = float(np.mean(self.residual_scores(alpha)))
        return float(self.spectrum.effective_dimension(alpha)) + outside

    def alpha_at(self, dimension: float) -> float:
        """Return the least alpha, of a geometric grid, with at most this effective dimension.

        The grid starts at 1e-12 of the largest eigenvalue. Its points do not depend on the
        residuals, which only make it longer, so that negligible ones leave the choice as it is.
        """
        values = self.spectrum.values
        outside = 0.0 if self.residual is None else float(self.residual.mean())
        largest = float(values.max(initial=0.0)) or outside
        if largest == 0.0:
            return 1.0
        # Rows outside the span may need more: the dimension is at most trace / alpha.
        needed = outside and (float(values.sum()) + outside) / dimension
        above = max(0, int(np.ceil(np.log(max(needed, largest) / largest) / np.log(RATIO))))
        grid = largest * RATIO ** np.arange(-BELOW, above + 1.0)
        at = bisect_left(
            grid, True, key=lambda alpha: self.effective_dimension(float(alpha)) <= dimension
        )
        return float(grid[min(at, len(grid) - 1)])
