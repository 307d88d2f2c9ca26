"""Rows that were drawn to be labelled, remembered, so that a fit without their weights is noticed.

The memory is of this process, and of sums of hashes of rows: the order of rows does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.validation import warn

#: Fingerprints of what was drawn, the latest last.
_ISSUED: dict[tuple[int, int], None] = {}
#: How many are remembered.
KEPT = 64


def remember(X: Any) -> None:
    """Remember rows that a labeller has drawn."""
    rows = _numbers(X)
    if rows is not None:
        _ISSUED[fingerprint(rows)] = None
        while len(_ISSUED) > KEPT:
            _ISSUED.pop(next(iter(_ISSUED)))


def warn_of_missing_weights(X: Any, sample_weight: Any) -> None:
    """Warn where rows that were drawn by importance are fitted without their weights."""
    if sample_weight is not None or not _ISSUED:
        return
    rows = _numbers(X)
    if rows is None or not any(count == len(rows) for count, _ in _ISSUED):
        return
    if fingerprint(rows) in _ISSUED:
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


def fingerprint(rows: Any) -> tuple[int, int]:
    """Return the number of rows, and the sum of a hash of each.

    >>> rows = np.random.default_rng(0).random((5, 2))
    >>> fingerprint(rows) == fingerprint(rows[::-1])
    True
    >>> fingerprint(rows) == fingerprint(rows[:, ::-1])
    False
    """
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 and 0.0 are the same number
    odd = np.random.default_rng(0).integers(2**62, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    with np.errstate(over="ignore"):
        mixed = (bits * odd).sum(axis=1, dtype=np.uint64)
        mixed ^= mixed >> np.uint64(31)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        return len(rows), int(mixed.sum(dtype=np.uint64))
