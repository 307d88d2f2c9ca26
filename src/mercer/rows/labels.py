"""Which rows have a label, and labels that look alike."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mercer.contracts import Array, RowSource
from mercer.rows.file_source import FileSource
from mercer.rows.table import is_gap
from mercer.validation import warn

#: Groups of labels that a warning names.
SHOWN = 3


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


def with_number_labels(source: RowSource) -> RowSource:
    """Return the same rows with numbers as targets: in files, words for a gap are no labels."""
    return source.with_number_labels() if isinstance(source, FileSource) else source


def warn_of_similar(classes: Iterable[str]) -> None:
    """Warn of classes that differ only by case or spaces."""
    groups: dict[str, set[str]] = {}
    for label in classes:
        groups.setdefault("".join(label.split()).casefold(), set()).add(label)
    similar = [sorted(group) for group in groups.values() if len(group) > 1]
    if similar:
        shown = "; ".join(" and ".join(map(repr, group)) for group in similar[:SHOWN])
        more = f"; and {len(similar) - SHOWN} more" if len(similar) > SHOWN else ""
        warn(
            f"classes that differ only by case or spaces are kept apart: {shown}{more}; write them "
            f"in one way if they are the same"
        )
