"""Who does the work: threads of this process, or a Dask cluster. No mathematics in here."""

from mercer.engines.choice import as_engine
from mercer.engines.local import Lanes, available_cores, blas_threads
from mercer.engines.threads import ThreadEngine
from mercer.engines.tree import tree_sum

__all__ = ["Lanes", "ThreadEngine", "as_engine", "available_cores", "blas_threads", "tree_sum"]
