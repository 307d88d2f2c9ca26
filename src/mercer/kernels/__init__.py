"""Kernels: k(X, Z) on blocks of rows, their sums and products, and their random features."""

from mercer.kernels.chi_squared import ChiSquared
from mercer.kernels.combined import InMetric, Product, Sum
from mercer.kernels.cosine import Cosine
from mercer.kernels.dot_product import ArcCosine, Linear, Polynomial
from mercer.kernels.given_kernels import FunctionKernel, Precomputed
from mercer.kernels.kernel import Kernel
from mercer.kernels.metric import Metric
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
    "cosine": Cosine,
    "arc_cosine": ArcCosine,
    "chi_squared": ChiSquared,
    "periodic_spline": PeriodicSpline,
    "sobolev": Sobolev,
    "precomputed": Precomputed,
}


#: scikit-learn's names of the same kernels.
SYNONYMS = {
    "rbf": "gaussian",
    "laplacian": "laplacian_l1",
    "poly": "polynomial",
    "chi2": "chi_squared",
}
#: scikit-learn's names of functions that are no kernels: why, and what to try.
NO_KERNELS = {
    "sigmoid": "tanh(gamma x'z + coef0) is positive semi-definite for no gamma and coef0, so loss "
    "and penalty may have no minimum: try ArcCosine(), the kernel of a wide layer of a network, or "
    "Gaussian()",
    "additive_chi2": "-sum_j (x_j - z_j)^2 / (x_j + z_j) is not positive semi-definite (its "
    "diagonal is 0): try ChiSquared(), its exponential",
}


def as_kernel(kernel: object) -> Kernel:
    """Turn a name or a function into a kernel object; pass objects through.

    >>> as_kernel("rbf")
    Gaussian()
    >>> as_kernel("sigmoid")
    Traceback (most recent call last):
    ...
    ValueError: 'sigmoid' is no kernel: tanh(gamma x'z + coef0) is positive semi-definite for no ...
    """
    if isinstance(kernel, str):
        if kernel == "auto":
            raise ValueError(
                "kernel='auto' is chosen by y, in KernelRegressor, KernelClassifier and "
                "KernelRanker: name a kernel here, such as 'gaussian'"
            )
        if kernel in NO_KERNELS:
            raise ValueError(f"{kernel!r} is no kernel: {NO_KERNELS[kernel]}")
        kernel = SYNONYMS.get(kernel, kernel)
    elif callable(kernel) and not isinstance(kernel, (Kernel, type)):
        kernel = FunctionKernel(kernel)
    found = from_alias(kernel, KERNELS, Kernel, "kernel")
    found.check_parts()
    return found


__all__ = [
    "KERNELS",
    "ArcCosine",
    "ChiSquared",
    "Cosine",
    "FunctionKernel",
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
