"""The points that a fitted model keeps: rows of the fit, as columns of numbers."""

from __future__ import annotations

from typing import Any

from mercer.contracts import Array
from mercer.kernels.kernel import dense


def kept_rows(model: Any) -> Array | None:
    """Return the points of the basis, of shape (M, D), in encoded columns; None if it has none.

    They are all rows for the full kernel, and the landmarks, or the rows of a sketch. Random
    features keep no rows, and a precomputed kernel has no columns.

    >>> import numpy as np
    >>> from mercer import KernelRegressor, RandomFeatures
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> kept_rows(KernelRegressor("gaussian").fit(X, X[:, 0])).shape
    (6, 2)
    >>> kept_rows(KernelRegressor("gaussian", RandomFeatures(5)).fit(X, X[:, 0])) is None
    True
    """
    basis = model.fit_.basis
    if basis.kernel_.pairwise:
        return None
    points = getattr(basis, "landmarks_", getattr(basis, "points_", None))
    return None if points is None else dense(points)
