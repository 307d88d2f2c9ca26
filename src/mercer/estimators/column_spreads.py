"""Means and standard deviations of encoded columns, as far as a fitted model knows them."""

from __future__ import annotations

from typing import Any

from mercer.columns.scaling import StandardScaling
from mercer.contracts import Array
from mercer.estimators.kept_rows import kept_rows
from mercer.kernels import InMetric

#: Fewest rows that standard deviations are taken from.
FEWEST = 2


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
    points = kept_rows(model)
    points = rows if points is None or len(points) < FEWEST else points
    if len(points) < FEWEST:
        raise ValueError(
            f"standard deviations of the columns are needed, but {type(model.basis_).__name__} "
            f"keeps no rows of the fit, and columns were not standardized: explain at least "
            f"{FEWEST} rows, or fit with scale='standard' or basis='landmarks'"
        )
    return points.mean(axis=0), points.std(axis=0)
