"""The points that a fitted model keeps, rows of the fit, and the spreads of their columns."""

from __future__ import annotations

from typing import Any

from mercer.columns.scaling import StandardScaling
from mercer.contracts import Array
from mercer.kernels import InMetric
from mercer.kernels.kernel import dense

#: Fewest rows that standard deviations are taken from.
FEWEST = 2


def basis_points(model: Any) -> Array | None:
    """Return the points of the basis, of shape (M, D), in encoded columns; None if it has none.

    They are all rows for the full kernel, and the landmarks, or the rows of a sketch. Random
    features keep no rows, and a precomputed kernel has no columns.

    >>> import numpy as np
    >>> from mercer import KernelRegressor, RandomFeatures
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> basis_points(KernelRegressor("gaussian").fit(X, X[:, 0])).shape
    (6, 2)
    >>> basis_points(KernelRegressor("gaussian", RandomFeatures(5)).fit(X, X[:, 0])) is None
    True
    """
    basis = model.fit_.basis
    if basis.kernel_.pairwise:
        return None
    return None if basis.kept_points is None else dense(basis.kept_points)


def column_moments(model: Any, rows: Array) -> tuple[Array, Array]:
    """Return the means and standard deviations of the encoded columns.

    Those of all rows of the fit if columns were standardized; otherwise those of the points that
    the model keeps, which are rows of the fit; otherwise those of the rows given.

    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0], [5.0, 20.0]])
    >>> model = KernelRegressor("gaussian", scale="standard", metric=None).fit(X, X[:, 0])
    >>> means, deviations = column_moments(model, X[:1])
    >>> bool(np.allclose(means, [3, 20]) and np.allclose(deviations**2, [8 / 3, 200 / 3]))
    True
    """
    kernel = model.kernel_
    scaling = kernel.metric.scaling if isinstance(kernel, InMetric) else None
    if isinstance(scaling, StandardScaling):
        return scaling.center, scaling.scale
    points = basis_points(model)
    points = rows if points is None or len(points) < FEWEST else points
    if len(points) < FEWEST:
        raise ValueError(
            f"standard deviations of the columns are needed, but {type(model.basis_).__name__} "
            f"keeps no rows of the fit, and columns were not standardized: explain at least "
            f"{FEWEST} rows, or fit with scale='standard' or basis='landmarks'"
        )
    return points.mean(axis=0), points.std(axis=0)
