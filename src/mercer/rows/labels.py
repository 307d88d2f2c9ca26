"""Which rows have a label."""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array
from mercer.rows.table import is_gap


def missing(y: Array) -> Array:
    """Return which rows have no label: NaN, or None for classes.

    >>> missing(np.array([1.0, np.nan])), missing(np.array(["a", None], dtype=object))
    (array([False,  True]), array([False,  True]))
    """
    y = np.asarray(y)
    if y.dtype.kind == "f":
        absent = np.isnan(y)
    elif y.dtype.kind == "O":
        absent = np.array([[is_gap(v) for v in np.atleast_1d(row)] for row in y], dtype=bool)
    else:
        return np.zeros(len(y), dtype=bool)
    return np.asarray(absent.reshape(len(y), -1).all(axis=1)) if len(y) else np.zeros(0, dtype=bool)
