"""Who does the work: threads of this process. No mathematics in here."""

from mercer.engines.local import Lanes, available_cores, blas_threads

__all__ = ["Lanes", "available_cores", "blas_threads"]
