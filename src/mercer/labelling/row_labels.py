"""Get labels for drawn rows of a pool: from a person, or from an array of all labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.contracts import Array, Rows, RowSource
from mercer.rows.labels import missing
from mercer.validation import check_same_length

#: Given indices and rows of the pool, return their labels.
Ask = Callable[[Array, Any], Any]


def check_pool(pool: object) -> None:
    """Raise TypeError if rows of a pool cannot be taken one by one."""
    if isinstance(pool, (str, RowSource)) or hasattr(pool, "__fspath__") or hasattr(pool, "dask"):
        raise TypeError(
            "the pool must be an array, sparse rows or a data frame: for files, draw with "
            "ImportanceLabeller and fit the rows of a sheet (mercer.labelling)"
        )


def rows_of(pool: Rows, indices: Array) -> Rows:
    """Return rows of a pool, of the same kind as the pool.

    >>> rows_of([[1.0], [2.0], [3.0]], np.array([0, 2]))
    [[1.0], [3.0]]
    """
    return _safe_indexing(pool, indices)


def labels_for(y: Ask | Any, pool: Rows, indices: Array) -> Array:
    """Return the labels of drawn rows, checked; nothing else of y is read.

    >>> labels_for(lambda indices, rows: [10 * x for (x,) in rows], [[1], [2], [3]], np.array([2]))
    array([30])
    """
    if callable(y):
        labels, source = np.asarray(y(indices, rows_of(pool, indices))), "ask(indices, rows)"
        if labels.ndim == 0 or len(labels) != len(indices):
            raise ValueError(
                f"{source} must return one label for each of the {len(indices)} rows, got an "
                f"array of shape {labels.shape}"
            )
    else:
        if y is None:
            raise ValueError(
                "y must be a function ask(indices, rows) that returns labels, or an array with a "
                "label for each row of the pool, got None"
            )
        check_same_length(pool.shape[0] if hasattr(pool, "shape") else len(pool), y, "y")
        labels, source = np.asarray(_safe_indexing(y, indices)), "y"
    absent = missing(labels)
    if labels.dtype.kind == "f":
        absent = absent | ~np.isfinite(labels.reshape(len(labels), -1)).all(axis=1)
    if absent.any():
        at = indices[np.flatnonzero(absent)]
        raise ValueError(
            f"every drawn row must have a finite label, but {source} has none for {len(at)} of "
            f"{len(indices)}, the first one row {at[0]} of the pool"
        )
    return labels
