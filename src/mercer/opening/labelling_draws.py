"""Remember rows drawn for labelling, to warn about a fit without their weights.

This is per process. Rows are identified by sums of hashes, so their order does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.columns.row_folds import row_hashes
from mercer.rows.frames import table_of
from mercer.storage import fingerprint_unordered
from mercer.validation import warn

#: Fingerprints of drawn rows, the most recent last.
_DRAWN: dict[tuple[int, int], None] = {}
#: How many fingerprints to remember.
KEPT = 64


def remember(X: Any) -> None:
    """Remember rows drawn by a labeller."""
    found = identity_of(X)
    if found is not None:
        _DRAWN[found] = None
        while len(_DRAWN) > KEPT:
            _DRAWN.pop(next(iter(_DRAWN)))


def warn_of_missing_weights(X: Any, sample_weight: Any) -> None:
    """Warn if rows drawn by importance are fitted without their weights."""
    shape = getattr(X, "shape", None)
    if sample_weight is not None or not (shape or isinstance(X, list)):
        return
    if (shape[0] if shape else len(X)) not in {count for count, _ in _DRAWN}:
        return
    if identity_of(X) in _DRAWN:
        warn(
            "these rows were drawn by an ImportanceLabeller but are fitted without their weights: "
            "the fit is biased; pass sample_weight=labeller.sample_weight_"
        )


def identity_of(X: Any) -> tuple[int, int] | None:
    """Return the number of rows and the sum of their hashes; None for sparse rows and files."""
    table = None
    try:
        table = table_of(X)
        rows = np.asarray(X if table is None else table.numbers())
    except (TypeError, ValueError):  # not all columns are numbers
        if table is None:
            return None
        with np.errstate(over="ignore"):
            return len(table), int(row_hashes(table).sum(dtype=np.uint64))
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        return None
    return fingerprint_unordered(rows.astype(np.float64, copy=False))
