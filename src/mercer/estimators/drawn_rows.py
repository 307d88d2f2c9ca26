"""Remember rows drawn for labelling, to warn about a fit without their weights.

This is per process. Rows are identified by sums of hashes, so their order does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.storage import fingerprint_unordered
from mercer.validation import warn

#: Fingerprints of drawn rows, the most recent last.
_DRAWN: dict[tuple[int, int], None] = {}
#: How many fingerprints to remember.
KEPT = 64


def remember(X: Any) -> None:
    """Remember rows drawn by a labeller."""
    rows = _numbers(X)
    if rows is not None:
        _DRAWN[fingerprint_unordered(rows)] = None
        while len(_DRAWN) > KEPT:
            _DRAWN.pop(next(iter(_DRAWN)))


def warn_of_missing_weights(X: Any, sample_weight: Any) -> None:
    """Warn if rows drawn by importance are fitted without their weights."""
    if sample_weight is not None or not _DRAWN:
        return
    rows = _numbers(X)
    if rows is None or not any(count == len(rows) for count, _ in _DRAWN):
        return
    if fingerprint_unordered(rows) in _DRAWN:
        warn(
            "these rows were drawn by an ImportanceLabeller but are fitted without their weights: "
            "the fit is biased; pass sample_weight=labeller.sample_weight_"
        )


def _numbers(X: Any) -> Any:
    """Return dense numeric rows, or None."""
    try:
        rows = np.asarray(X)
    except (TypeError, ValueError):
        return None
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        return None
    return rows.astype(np.float64, copy=False)
