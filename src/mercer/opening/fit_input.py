"""What a user passes to fit; labelled and unlabelled rows are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import _num_samples

from mercer.contracts import Array, RowSource
from mercer.rows.frames import frame_names
from mercer.rows.given_arrays import refuse_masked, sound_rows, unmasked


@dataclass(frozen=True)
class FitInput:
    """The input of fit, as given by the user."""

    X: object
    y: object = None
    weight: object = None
    query: object = None
    shard_labels: object = None
    expects_unlabelled: bool = False  # rows without labels were given as such
    in_one_place: bool = False  # whatever is asked of shards

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of y, weights and queries, which are no features."""
        given = [self.y, self.weight, self.query]
        names = [value if isinstance(value, str) else getattr(value, "name", "") for value in given]
        names += [*(frame_names(self.y) or ()), *getattr(self.X, "roles", ())]
        return tuple(name for name in names if isinstance(name, str) and name)


def with_unlabelled(
    X: object, y: object, sample_weight: object, more: object
) -> tuple[object, Array, Array | None]:
    """Return X, y and weights with additional unlabelled rows of weight 1.

    >>> X, y, _ = with_unlabelled([[1.0], [2.0]], [5, 6], None, [[3.0]])
    >>> X.tolist(), y.tolist()
    ([[1.0], [2.0], [3.0]], [5, 6, None])
    """
    if isinstance(X, (str, RowSource)) or hasattr(X, "__fspath__") or hasattr(X, "dask"):
        raise TypeError(
            "X_unlabelled needs X as an array or data frame: in files, leave y empty (NaN) if a "
            "row has no label"
        )
    if y is None:
        raise ValueError("X_unlabelled needs y for the labelled rows")
    # The columns of a table of pyarrow are arrays, not names.
    names = [getattr(part, "column_names", getattr(part, "columns", None)) for part in (X, more)]
    if names[0] is not None and names[1] is not None and list(names[0]) != list(names[1]):
        raise ValueError(
            f"X_unlabelled must have the columns of X, {list(names[0])}, got {list(names[1])}"
        )
    rows, others = sound_rows(X), sound_rows(more)
    if np.ndim(others) != 2 and not scipy.sparse.issparse(others):
        raise ValueError(f"X_unlabelled must be rows, got an array of shape {np.shape(others)}")
    if columns_of(rows) != columns_of(others):
        raise ValueError(
            f"X_unlabelled must have the {columns_of(rows)} columns of X, got {columns_of(others)}"
        )
    count = _num_samples(others)
    labels = np.asarray(unmasked(y, labels=True))
    shape = (count, *labels.shape[1:])
    if labels.dtype.kind == "f":
        filled = np.concatenate([labels, np.full(shape, np.nan)])
    else:  # None keeps integer classes as integers
        filled = np.concatenate([labels.astype(object), np.empty(shape, dtype=object)])
    refuse_masked(sample_weight, "sample_weight")
    weight = None
    if sample_weight is not None:
        weight = np.concatenate([np.asarray(sample_weight, dtype=float), np.ones(count)])
    if scipy.sparse.issparse(rows) or scipy.sparse.issparse(others):
        return scipy.sparse.vstack([rows, others]).tocsr(), filled, weight
    stacked = stacked_frames(rows, others)
    if stacked is None:
        stacked = np.vstack([np.asarray(rows), np.asarray(others)])
        if names[0] is not None and hasattr(rows, "iloc"):
            stacked = type(rows)(stacked, columns=names[0])
    return stacked, filled, weight


def stacked_frames(X: object, more: object) -> Any:
    """Return the rows of two data frames of a library as one, None for anything else."""
    try:
        import narwhals as nw
    except ImportError:
        return None
    parts = [nw.from_native(part, eager_only=True, pass_through=True) for part in (X, more)]
    frames = [part for part in parts if isinstance(part, nw.DataFrame)]
    return nw.concat(frames).to_native() if len(frames) == len(parts) else None


def columns_of(X: object) -> int:
    """Return the number of columns of rows."""
    return int(X.shape[1]) if hasattr(X, "shape") else len(np.asarray(X)[0])
