"""How much a fitted model varies with each column: its slopes if it is linear, and importances.

.. math:: f(x) = \\sum_j c_j \\langle P's(x), P's(z_j) \\rangle + b = w'x + f(0), \\qquad
          w = \\nabla f = \\frac{1}{\\sigma} \\circ P P' \\sum_j c_j s(z_j)

for the linear kernel in a metric P of columns in standard units, ``s(x) = (x - m) / sigma``; and

.. math:: g_j = \\sum_o \\frac1n \\sum_i \\Big(\\frac{\\partial f_o}{\\partial u_j}(x_i)\\Big)^2,
          \\qquad u_j = x_j / \\operatorname{sd}(x_j)

the diagonal of the average gradient outer product in units of standardized columns.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from mercer.columns.column_encoders import ColumnEncoder, DroppedColumn, NumberColumn
from mercer.columns.scaling import QuantileScaling
from mercer.contracts import Array, Reading
from mercer.kernels import InMetric, Linear
from mercer.kernels.kernel import dense
from mercer.metric import gradient_outer_product
from mercer.result import Fit
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

#: The most points that gradients are averaged over.
POINTS = 2000


def importances_of(found: Fit) -> Array:
    """Return the share of each column, adding to 1: from the search, or at the model's points."""
    if found.search is not None and found.search.importances is not None:
        return found.search.importances
    basis = found.basis
    if not basis.has_gradient:
        raise AttributeError(
            f"no importances: {type(basis).__name__} of the kernel {basis.kernel_!r} has no "
            f"gradient"
        )
    points = getattr(basis, "landmarks_", None)
    if points is None:
        raise AttributeError(
            f"no importances: {type(basis).__name__} keeps no rows to take gradients at, and no "
            f"metric was searched for; use metric='auto', or basis='landmarks'"
        )
    points = dense(points[:: -(-points.shape[0] // POINTS)])
    kernel = basis.kernel_
    scaling = kernel.metric.scaling if isinstance(kernel, InMetric) else None
    rows = RowSet.in_one_place(ArraySource(points))
    reading = Reading(512, 1)
    g = gradient_outer_product(
        rows, basis, found.coefficients, reading, diagonal=True, scaling=scaling
    )
    if scaling is None:
        g = g * points.var(axis=0)
    total = g.sum()
    return np.asarray(g / total if total > 0 else np.full(len(g), 1.0 / len(g)))


def linear_coefficients(model: KernelEstimator) -> Array:
    """Return w of shape (k, d), in units of y and of the columns of X; 0 for those left out.

    Raises AttributeError if f is not linear in the columns of X.
    """
    kernel, scaling = model.kernel_, None
    if isinstance(kernel, InMetric):
        kernel, scaling = kernel.kernel, kernel.metric.scaling
    encoding = None if model.columns_ is None else model.columns_.encoding_
    reason = ""
    if not isinstance(kernel, Linear):
        reason = f"the kernel {kernel!r} is not linear"
    elif isinstance(scaling, QuantileScaling):
        reason = "columns are mapped to quantiles (scale='standard' keeps f linear)"
    elif encoding is not None and not all(map(_is_linear, encoding.encoders)):
        reason = "text, dates and indicators of gaps are no numbers"
    if reason:
        raise AttributeError(
            f"no coefficient of each column: {reason}; dual_coef_ are those of the basis "
            f"functions, and feature_importances_ says how much each column matters"
        )
    basis = copy.copy(model.basis_)
    basis.widen()
    width = model.n_features_in_ if encoding is None else len(encoding.feature_names)
    slopes = basis.gradients(model.dual_coef_)(np.zeros((1, width)))[:, 0]
    return slopes if encoding is None else np.array([encoding.by_column(w) for w in slopes])


def _is_linear(encoder: ColumnEncoder) -> bool:
    """Return whether a column stays one column of numbers, or is left out."""
    number = isinstance(encoder, NumberColumn) and not encoder.indicator
    return number or isinstance(encoder, DroppedColumn)
