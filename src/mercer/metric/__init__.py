"""The learned metric: which columns, and which directions, a fit depends on.

It comes from a sum over rows: the average outer product of the gradients of a fit, whose root is a
better metric for the next fit.
"""

from mercer.metric.gradient_outer_products import gradient_outer_product, learned_matrix
from mercer.metric.record import SearchRecord, Tried

__all__ = [
    "SearchRecord",
    "Tried",
    "gradient_outer_product",
    "learned_matrix",
]
