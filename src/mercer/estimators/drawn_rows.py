"""Rows that were drawn to be labelled, remembered, so that a fit without their weights is noticed.

The memory is of this process, and of sums of hashes of rows: the order of rows does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.storage import fingerprint_unordered
from mercer.validation import warn

#: Fingerprints of what was drawn, the latest last.
_DRAWN: dict[tuple[int, int], None] = {}
#: How many are remembered.
KEPT = 64


def remember(X: Any) -> None:
    """Remember rows that a labeller has drawn."""
    rows = _numbers(X)
    if rows is not None:
        _DRAWN[fingerprint_unordered(rows)] = None
        while len(_DRAWN) > KEPT:
            _DRAWN.pop(next(iter(_DRAWN)))


def warn_of_missing_weights(X: Any, sample_weight: Any) -> None:
    """Warn where rows that were drawn by importance are fitted without their weights."""
    if sample_weight is not None or not _DRAWN:
        return
    rows = _numbers(X)
    if rows is None or not any(count == len(rows) for count, _ in _DRAWN):
        return
    if fingerprint_unordered(rows) in _DRAWN:
        warn(
            "these rows were drawn by an ImportanceLabeller, and are fitted without their weights: "
            "the fit is biased; pass sample_weight=labeller.sample_weight_"
        )


def _numbers(X: Any) -> Any:
    """Return dense rows of numbers, or None."""
    try:
        rows = np.asarray(X)
    except (TypeError, ValueError):
        return None
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        return None
    return rows.astype(np.float64, copy=False)
