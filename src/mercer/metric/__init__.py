"""The learned metric: how columns are scaled, and which directions a fit depends on.

Everything comes from sums over rows: the spread of the columns, and the average outer product of
the gradients of a fit, whose root is a better metric for the next fit.
"""

from mercer.metric.gradients import gradient_outer_product
from mercer.metric.learned import learned_matrix
from mercer.metric.record import SearchRecord, Tried
from mercer.metric.spread import ColumnSums, column_sums, quantile_scaling

__all__ = [
    "ColumnSums",
    "SearchRecord",
    "Tried",
    "column_sums",
    "gradient_outer_product",
    "learned_matrix",
    "quantile_scaling",
]
