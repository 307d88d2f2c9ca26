"""The search for kernel, bandwidth, scaling and metric: small fits, judged by held-out rows."""

from mercer.search.kernel_search import search_kernel
from mercer.search.space import SCALES, MetricSearch, Space, as_metric, keeps_units, space_of

__all__ = [
    "SCALES",
    "MetricSearch",
    "Space",
    "as_metric",
    "keeps_units",
    "search_kernel",
    "space_of",
]
