"""What all solvers share: parameters as scikit-learn reads them, checked before any work."""

from __future__ import annotations

from sklearn.base import BaseEstimator


class BaseSolver(BaseEstimator):
    """A way from moments, or from products with them, to coefficients."""

    def check(self) -> None:
        """Refuse parameters that cannot be."""
