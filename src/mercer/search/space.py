"""What a search may choose: nothing that the user fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array
from mercer.kernels import Gaussian, Kernel, LaplacianL1, LaplacianL2, Matern
from mercer.search.metric_search import MetricSearch
from mercer.validation import check_choice

#: Names that ``scale=`` accepts, besides None.
SCALES = ("auto", "standard", "quantile")
#: The most columns for a full metric: its matrix is decomposed in every round.
FULL_COLUMNS = 1000


def auto_kernels() -> list[Kernel]:
    """Return the candidates of ``kernel="auto"``; the first learns the metric."""
    return [Matern(1.5), Gaussian(), LaplacianL1(), Matern(2.5), LaplacianL2()]


@dataclass(frozen=True)
class Space:
    """The candidates of a search.

    Attributes
    ----------
    kernels : list of Kernel
        The first is the kernel whose gradients are summed.
    open_bandwidth : bool
        Whether bandwidths are searched.
    scales : tuple of str
        "none", "standard" or "quantile".
    forms : tuple of str
        "none", "diagonal" or "full".
    matrix : array or None
        P, if it is given.
    """

    kernels: list[Kernel]
    open_bandwidth: bool
    scales: tuple[str, ...]
    forms: tuple[str, ...]
    matrix: Array | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose."""
        several = max(len(self.kernels), len(self.scales), len(self.forms)) > 1
        return several or self.open_bandwidth or self.forms != ("none",)


def space_of(
    kernel: Kernel | None,
    metric: MetricSearch | Array | None,
    scale: str | None,
    n_features: int,
    sparse: bool,
    basis: Any = None,
) -> Space:
    """Return what is open; ``kernel`` None means "auto".

    A bandwidth in numbers is in the units of X, and so is P as an array: columns are then scaled,
    and a metric learned, only if asked for. With P given, an open bandwidth is 1.
    """
    matrix = metric if isinstance(metric, np.ndarray) else None
    kernels = auto_kernels() if kernel is None else [kernel]
    if matrix is not None:
        kernels = [_in_units_of(matrix, one) for one in kernels]
        if len(matrix) != n_features:
            raise ValueError(
                f"metric must have one row per column of X: X has {n_features} columns, metric has "
                f"shape {matrix.shape}"
            )
    if kernel is None:
        kernels = [one for one in kernels if _suits(one, matrix, sparse, basis)]
    fixed = kernel is not None and (kernel.has_units or not kernel.may_scale)
    learns = None if kernel is not None and not kernel.has_gradient else kernels[0].learns
    if kernel is None:
        learns = "full"
    forms = _forms(metric, learns, fixed, n_features, sparse, kernel)
    open_bandwidth = any(one.parameters_with("auto") for one in kernels)
    return Space(
        kernels, open_bandwidth, _scales(scale, fixed, matrix, sparse, kernel), forms, matrix
    )


def _in_units_of(matrix: Array, kernel: Kernel) -> Kernel:
    """Return a kernel in a given metric, whose open bandwidths are 1."""
    if kernel.learns is None:
        raise ValueError(f"the kernel {kernel!r} has no metric: leave metric=None")
    if matrix.ndim == 2 and kernel.learns == "diagonal":
        return kernel  # left out of the candidates, or refused, below
    found: Kernel = clone(kernel)
    return found.set_params(**dict.fromkeys(found.parameters_with("auto"), 1.0))  # type: ignore[no-any-return]


def _suits(kernel: Kernel, matrix: Array | None, sparse: bool, basis: Any) -> bool:
    """Return whether a candidate of "auto" works with the rest."""
    if sparse and not kernel.accepts_sparse:
        return False
    if matrix is not None and matrix.ndim == 2 and kernel.learns == "diagonal":
        return False
    return not (getattr(basis, "orthogonal", False) and kernel.learns == "diagonal")


def _scales(
    scale: str | None, fixed: bool, matrix: Array | None, sparse: bool, kernel: Kernel | None
) -> tuple[str, ...]:
    if scale is None:
        return ("none",)
    check_choice(scale, "scale", list(SCALES))
    if kernel is not None and not kernel.may_scale:
        if scale != "auto":
            raise ValueError(
                f"the columns of {kernel!r} cannot be scaled: leave scale='auto' or None"
            )
        return ("none",)
    if sparse and scale == "quantile":
        raise ValueError("scale='quantile' would make sparse rows dense: use 'standard' or None")
    if scale != "auto":
        return (scale,)
    if fixed or matrix is not None:
        return ("none",)
    return ("standard",) if sparse else ("standard", "quantile")


def _forms(
    metric: Any, learns: str | None, fixed: bool, n_features: int, sparse: bool, kernel: Any
) -> tuple[str, ...]:
    if not isinstance(metric, MetricSearch):
        return ("none",)
    if metric.form == "auto":
        if fixed or learns is None or n_features < 2:
            return ("none",)
        full = learns == "full" and n_features <= FULL_COLUMNS and not sparse
        return ("none", "diagonal", "full") if full else ("none", "diagonal")
    if learns is None or (metric.form == "full" and learns == "diagonal"):
        raise ValueError(
            f"the kernel {kernel!r} cannot learn a {metric.form} metric: use "
            + ("metric='diagonal'" if learns else "metric=None")
            + ", or another kernel"
        )
    if metric.form == "full" and sparse:
        raise ValueError("metric='full' would make sparse rows dense: use metric='diagonal'")
    return (metric.form,)
