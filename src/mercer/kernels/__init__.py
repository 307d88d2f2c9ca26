"""Kernels: k(X, Z) on blocks of rows, their sums and products, and their random features."""

from mercer.kernels.combined import Product, Sum
from mercer.kernels.dot_product import ArcCosine, Linear, Polynomial
from mercer.kernels.in_metric import InMetric
from mercer.kernels.kernel import Kernel
from mercer.kernels.metric import Metric
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.spline import PeriodicSpline, Sobolev
from mercer.kernels.stationary import Gaussian, LaplacianL1, LaplacianL2, Matern
from mercer.validation import from_alias

#: Names that ``kernel=`` accepts; each is an alias of the object with its default parameters.
KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian_l1": LaplacianL1,
    "laplacian_l2": LaplacianL2,
    "matern": Matern,
    "polynomial": Polynomial,
    "linear": Linear,
    "arc_cosine": ArcCosine,
    "periodic_spline": PeriodicSpline,
    "sobolev": Sobolev,
    "precomputed": Precomputed,
}


def as_kernel(kernel: str | Kernel) -> Kernel:
    """Turn a name into a kernel object; pass objects through."""
    if isinstance(kernel, str) and kernel == "auto":
        raise ValueError(
            "kernel='auto' is chosen by y, in KernelRegressor, KernelClassifier and KernelRanker: "
            "name a kernel here, such as 'gaussian'"
        )
    found = from_alias(kernel, KERNELS, Kernel, "kernel")
    found.check_parts()
    return found


__all__ = [
    "KERNELS",
    "ArcCosine",
    "Gaussian",
    "InMetric",
    "Kernel",
    "LaplacianL1",
    "LaplacianL2",
    "Linear",
    "Matern",
    "Metric",
    "PeriodicSpline",
    "Polynomial",
    "Precomputed",
    "Product",
    "Sobolev",
    "Sum",
    "as_kernel",
]
