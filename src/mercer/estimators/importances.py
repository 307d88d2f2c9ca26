"""How much a fitted model varies with each column.

.. math:: g_j = \\sum_o \\frac1n \\sum_i \\Big(\\frac{\\partial f_o}{\\partial u_j}(x_i)\\Big)^2,
          \\qquad u_j = x_j / \\operatorname{sd}(x_j)

the diagonal of the average gradient outer product in units of standardized columns.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, Reading
from mercer.kernels import InMetric
from mercer.kernels.kernel import dense
from mercer.metric import gradient_outer_product
from mercer.result import Fit
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet

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
