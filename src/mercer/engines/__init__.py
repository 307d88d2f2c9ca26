"""Engines run tasks in this thread, in threads of this process, or on a Dask cluster."""

from mercer.engines.communication import Communication, Exchange, count_numbers
from mercer.engines.in_process import InPlaceEngine, ThreadEngine, as_engine, tree_sum
from mercer.engines.local import (
    Lanes,
    available_cores,
    blas_threads,
    in_order,
    one_core,
    threads_for,
)

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
    "in_order",
    "one_core",
    "threads_for",
    "tree_sum",
]
