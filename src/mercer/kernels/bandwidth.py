"""A length scale: one number, one number per column, or estimated from the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import pdist

from mercer.contracts import Array, Rows
from mercer.kernels.kernel import ESTIMATED, dense
from mercer.validation import LARGEST_X, check_magnitude, check_number, closest

#: The largest sample for the median: 1000 rows give half a million distances.
SAMPLE = 1000


#: A metric of SciPy, or a function that returns the distances of all pairs of rows.
PairDistances: TypeAlias = "str | Callable[[Array], Array]"


def median_distance(X: Rows, metric: PairDistances = "euclidean") -> float:
    """Return the median distance between *distinct* rows of X.

    ``median{||x_i - x_j|| : x_i != x_j}``, over a sample of at most 1000 rows. Duplicate rows, and
    rows with weight 2, change nothing. Returns 1 when there are no two distinct rows.

    >>> median_distance(np.array([[0.0], [1.0], [3.0], [3.0]]))
    2.0
    """
    step = -(-X.shape[0] // SAMPLE)
    rows = np.unique(dense(X[:: max(1, step)]), axis=0)
    if len(rows) < 2:
        return 1.0
    largest = float(np.abs(rows).max())
    check_magnitude(np.array([largest]), LARGEST_X, "X")
    # A power of two, which is exact, so that squares neither overflow nor vanish.
    unit = 2.0 ** int(np.frexp(largest)[1])
    pairs = metric(rows / unit) if callable(metric) else pdist(rows / unit, metric)
    median = unit * float(np.median(pairs))
    return median if median > 0 else 1.0


def is_resolved(bandwidth: object) -> bool:
    """Return whether the bandwidth is already numeric."""
    return not isinstance(bandwidth, str)


def resolve_bandwidth(
    bandwidth: object, X: Rows, metric: PairDistances = "euclidean"
) -> float | Array:
    """Return the bandwidth as one positive number, or one per column of X."""
    if isinstance(bandwidth, str):
        if bandwidth not in ESTIMATED:
            raise ValueError(
                f"bandwidth must be a positive number, one per column, 'auto' or 'median', "
                f"got {bandwidth!r}{closest(bandwidth, ESTIMATED)}"
            )
        return median_distance(X, metric)
    return check_bandwidth(bandwidth, X.shape[1])


def check_bandwidth(bandwidth: Any, n_features: int) -> float | Array:
    """Return a positive number, or one per column."""
    if np.ndim(bandwidth) == 0:
        return check_number(
            bandwidth.item() if isinstance(bandwidth, np.ndarray) else bandwidth,
            "bandwidth",
            above=0.0,
            hint="; try bandwidth='median', the median distance between rows",
        )
    values = np.asarray(bandwidth, dtype=np.float64)
    if values.shape != (n_features,):
        raise ValueError(
            f"bandwidth must be one number or one per column: X has {n_features} columns, "
            f"bandwidth has shape {values.shape}"
        )
    if not np.all(np.isfinite(values)) or np.any(values <= 0):
        at = int(np.flatnonzero(~(np.isfinite(values) & (values > 0)))[0])
        raise ValueError(
            f"bandwidth must be positive and finite in every column, got {values[at]!r} in "
            f"column {at}"
        )
    return values
