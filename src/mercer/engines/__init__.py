"""Engines run tasks in this thread, in threads of this process, or on a Dask cluster."""

from mercer.engines.choice import as_engine
from mercer.engines.communication import Communication, Exchange, count_numbers
from mercer.engines.in_place import InPlaceEngine
from mercer.engines.local import Lanes, available_cores, blas_threads
from mercer.engines.threads import ThreadEngine
from mercer.engines.tree import tree_sum

__all__ = [
    "Communication",
    "Exchange",
    "InPlaceEngine",
    "Lanes",
    "ThreadEngine",
    "as_engine",
    "available_cores",
    "blas_threads",
    "count_numbers",
    "tree_sum",
]
