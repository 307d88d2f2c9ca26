"""Rates and knees of what was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.distributed_random_features.measured import Measured

#: How much more than the reference an error may be, before it counts as past the knee.
TOLERANCES = (0.01, 0.02, 0.05, 0.1)
#: The one that is stated beside the paper's.
TOLERANCE = 0.02


def slope(found: Sequence[Measured]) -> tuple[float, float]:
    """Return the exponent of n with which the error falls, and the standard error of the fit.

    A line by least squares through the logarithms of n and of the mean error.
    """
    if len(found) < 3:
        return float("nan"), float("nan")
    x, y = np.log([row.rows for row in found]), np.log([row.error for row in found])
    (power, _), covariance = np.polyfit(x, y, 1, cov=True)
    return float(power), float(np.sqrt(covariance[0, 0]))


def most_shards(found: Sequence[Measured], tolerance: float = TOLERANCE) -> int:
    """Return the knee in m: the last m before the error exceeds that of m = 1 by the tolerance.

    >>> pairs = [(1, 1.0), (2, 1.01), (4, 2.0)]
    >>> most_shards([Measured("", "", 9, 9, m, 0.1, 1, e, 0, 1, 0) for m, e in pairs])
    2
    """
    ordered = sorted(found, key=lambda row: row.shards)
    last = ordered[0].shards
    for row in ordered:
        if row.error > (1 + tolerance) * ordered[0].error:
            break
        last = row.shards
    return last


def fewest_components(
    found: Sequence[Measured], reference: float, tolerance: float = TOLERANCE
) -> int | None:
    """Return the knee in M: from it on the error stays within the tolerance of the reference."""
    first = None
    for row in sorted(found, key=lambda row: -row.components):
        if row.error > (1 + tolerance) * reference:
            break
        first = row.components
    return first
