"""What a search may choose, which is nothing that the user fixed, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from mercer.bases import BasisTransformer, RandomFeatures
from mercer.contracts import Array
from mercer.kernels import Gaussian, Kernel, LaplacianL1, LaplacianL2, Linear, Matern
from mercer.validation import check_choice, check_count, closest

#: Names that ``scale=`` accepts, besides None.
SCALES = ("auto", "standard", "quantile")
#: The most columns for a full metric, whose matrix is decomposed in every round, and for all else
#: that sparse rows would be dense for, block by block.
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
    linear : Kernel or None
        The linear kernel, if it is a candidate.
    encoded : bool
        Whether some columns are other things in the table, such as categories.
    """

    kernels: list[Kernel]
    open_bandwidth: bool
    scales: tuple[str, ...]
    forms: tuple[str, ...]
    matrix: Array | None = None
    linear: Kernel | None = None
    encoded: bool = False

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
    basis: BasisTransformer | None = None,
    encoded: bool = False,
) -> Space:
    """Return what is open; ``kernel`` None means "auto".

    A bandwidth in numbers is in the units of X, and so is P as an array: columns are then scaled,
    and a metric learned, only if asked for. With P given, an open bandwidth is 1. ``encoded``
    columns, such as dates and indicators, have no unit in common: see :func:`keeps_units`.
    ``sparse`` rows of at most FULL_COLUMNS have the space of dense ones.
    """
    sparse = sparse and n_features > FULL_COLUMNS
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
    scales = _scales(scale, encoded, matrix, sparse, kernel)
    # It has no random features, and no metric.
    may_be_linear = kernel is None and matrix is None and not isinstance(basis, RandomFeatures)
    linear = Linear() if may_be_linear and "none" in forms else None
    return Space(kernels, open_bandwidth, scales, forms, matrix, linear, encoded)


def keeps_units(kernel: Kernel, encoded: bool) -> bool:
    """Return whether ``scale="auto"`` leaves the columns as they are, for a bandwidth in numbers.

    Except one number for the encoded columns of a table: no unit suits days, indicators and meters
    alike, so it is in their standard deviations.

    >>> from mercer.kernels import Linear
    >>> keeps_units(Gaussian(2.0), False), keeps_units(Gaussian(2.0), True)
    (True, False)
    >>> keeps_units(Gaussian(np.array([2.0, 30.0])), True), keeps_units(Linear(), True)
    (True, False)
    """
    sizes = [
        np.ndim(value)
        for name, value in kernel.get_params().items()
        if name.endswith("bandwidth") and not isinstance(value, str)
    ]
    one_number = bool(sizes) and not any(sizes)
    return not kernel.may_scale or (kernel.has_units and not (encoded and one_number))


def _in_units_of(matrix: Array, kernel: Kernel) -> Kernel:
    """Return a kernel in a given metric, whose open bandwidths are 1."""
    if kernel.learns is None:
        raise ValueError(f"the kernel {kernel!r} has no metric: leave metric=None")
    if matrix.ndim == 2 and kernel.learns == "diagonal":
        return kernel  # left out of the candidates, or refused, below
    ones = dict.fromkeys(kernel.parameters_with("auto"), 1.0)
    found: Kernel = clone(kernel).set_params(**ones)
    return found


def _suits(
    kernel: Kernel, matrix: Array | None, sparse: bool, basis: BasisTransformer | None
) -> bool:
    """Return whether a candidate of "auto" works with the rest."""
    if sparse and not kernel.accepts_sparse:
        return False
    if matrix is not None and matrix.ndim == 2 and kernel.learns == "diagonal":
        return False
    return not (basis is not None and basis.orthogonal and kernel.learns == "diagonal")


def _scales(
    scale: str | None, encoded: bool, matrix: Array | None, sparse: bool, kernel: Kernel | None
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
        raise ValueError(
            f"scale='quantile' would make sparse rows of more than {FULL_COLUMNS:,} columns dense: "
            f"use 'standard' or None"
        )
    if scale != "auto":
        return (scale,)
    if matrix is not None or (kernel is not None and keeps_units(kernel, encoded)):
        return ("none",)
    in_numbers = kernel is not None and kernel.has_units
    return ("standard",) if sparse or in_numbers else ("standard", "quantile")


def _forms(
    metric: MetricSearch | Array | None,
    learns: str | None,
    fixed: bool,
    n_features: int,
    sparse: bool,
    kernel: Kernel | None,
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
        raise ValueError(
            f"metric='full' would make sparse rows of more than {FULL_COLUMNS:,} columns dense: "
            f"use metric='diagonal'"
        )
    return (metric.form,)


#: Names that ``metric=`` accepts.
FORMS = ("auto", "diagonal", "full")


class MetricSearch(BaseEstimator):
    """Learn the metric from gradients, in rounds of small fits judged by held-out rows.

    Each round fits a sample of the rows with few functions, sums the outer products of its
    gradients, ``G = (1/W) sum_i w_i grad f(x_i) grad f(x_i)'``, and takes a root of G as the next
    metric. See :doc:`/metric`.

    Parameters
    ----------
    form : "auto", "diagonal" or "full"
        "diagonal" learns a weight per column, "full" also directions that are no columns; "auto"
        chooses between them and no metric.
    rounds : int
        The most rounds per form; they end earlier when held-out rows stop gaining.
    sample : int or None
        Rows of the small fits, drawn at random and brought to one place. None means all rows, where
        they are: the rounds then run over files and shards.
    n_components : int
        Landmarks of the small fits.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.random.default_rng(0).standard_normal((400, 10))
    >>> model = KernelRegressor(metric=MetricSearch("diagonal"), random_state=0)
    >>> model.fit(X, np.sin(2 * X[:, 3])).feature_importances_.argmax().item()
    3
    """

    def __init__(
        self,
        form: str = "auto",
        rounds: int = 4,
        sample: int | None = 8000,
        n_components: int = 600,
    ) -> None:
        self.form = form
        self.rounds = rounds
        self.sample = sample
        self.n_components = n_components

    def checked(self) -> MetricSearch:
        """Raise an error if a parameter is invalid; return self."""
        check_choice(self.form, "form of MetricSearch", list(FORMS))
        check_count(self.rounds, "rounds of MetricSearch")
        if self.sample is not None:
            check_count(self.sample, "sample of MetricSearch", minimum=10)
        check_count(self.n_components, "n_components of MetricSearch", minimum=2)
        return self


def as_metric(metric: str | MetricSearch | ArrayLike | None) -> MetricSearch | Array | None:
    """Return ``metric=`` as a search, a matrix, or None.

    >>> as_metric("diagonal")
    MetricSearch(form='diagonal')
    """
    if metric is None:
        return None
    if isinstance(metric, MetricSearch):
        return metric.checked()
    if isinstance(metric, str):
        if metric not in FORMS:
            raise ValueError(f"unknown metric {metric!r}{closest(metric, FORMS)}")
        return MetricSearch(metric)
    if isinstance(metric, (np.ndarray, list, tuple)):
        matrix = np.asarray(metric, dtype=np.float64)
        if matrix.ndim not in (1, 2) or not matrix.size:
            raise ValueError(
                f"metric must be an array of shape (d, r), or of d weights, got shape "
                f"{matrix.shape}"
            )
        if not np.isfinite(matrix).all() or not matrix.any():
            raise ValueError("metric must be finite, and not all zeros")
        return matrix
    raise TypeError(
        f"metric must be 'auto', 'diagonal', 'full', None, an array of shape (d, r) or a "
        f"MetricSearch, got {type(metric).__name__}"
    )
