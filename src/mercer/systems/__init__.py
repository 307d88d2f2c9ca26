"""Systems ``(A + alpha) v = b``: by moments, kernel matrix, products, or the mean of shards."""

from mercer.systems.by_kernel_matrix import ABSENT, KernelMatrixSystem
from mercer.systems.by_kernel_products import (
    KernelProducts,
    KernelProductSystem,
    ShardedKernelProducts,
)
from mercer.systems.by_moments import MomentSystem
from mercer.systems.by_products import ProductSystem
from mercer.systems.direct import DirectSystem
from mercer.systems.function_space import FunctionSystem
from mercer.systems.iterated import KernelSystem, MatrixSystem
from mercer.systems.mean_of_shards import MeanOfShards, MeanSystem
from mercer.systems.spectrum import Decomposition, RowMap, Shifted, Spectrum

__all__ = [
    "ABSENT",
    "Decomposition",
    "DirectSystem",
    "FunctionSystem",
    "KernelMatrixSystem",
    "KernelProductSystem",
    "KernelProducts",
    "KernelSystem",
    "MatrixSystem",
    "MeanOfShards",
    "MeanSystem",
    "MomentSystem",
    "ProductSystem",
    "RowMap",
    "ShardedKernelProducts",
    "Shifted",
    "Spectrum",
]
