"""A first look at the rows of a shard: what the columns contain, and how many labels are missing.

Rows of an array are numbers, and all that is learned of them are the mean and the gaps of every
column, which are sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mercer.columns.column_encoders import NumberColumn
from mercer.columns.learning import MANY_GAPS
from mercer.columns.table_encoding import TableEncoding
from mercer.contracts import Array, Rows, RowSource
from mercer.rows.labels import missing
from mercer.rows.table import Table

#: Rows of a block, fewer if they are wide, and of y.
ROWS = 8192
LABELS = 100_000
#: Values of a block, and of the part of it that is in float64 at a time, which the cache holds.
ENTRIES, PART = 2**22, 2**17


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True)
class Look:
    """What a shard contains: a table with the kind of each column, or an array, maybe sparse."""

    rows: int
    unlabelled: int
    form: str  # "table", "array" or "sparse"
    kinds: dict[str, str] = field(default_factory=dict)
    weight: Array = field(default_factory=_none)  # (d,), of the values that are there
    total: Array = field(default_factory=_none)  # (d,), the weighted sum of values
    gaps: Array = field(default_factory=_none)  # (d,)


def look_at(source: RowSource) -> Look:
    """Return what a source contains; only arrays are read as a whole."""
    first = next(iter(source.blocks(1)), None)
    if first is None or isinstance(first.X, Table):
        counted = source.targets(LABELS) if source.has_target else ()
        unlabelled = sum(int(missing(y).sum()) for y in counted)
        kinds = {} if first is None else first.X.kinds
        return Look(source.n_rows, unlabelled, "table", kinds)
    unlabelled, columns = 0, max(1, source.n_features)
    sums = GapSums(source.n_features)
    for block in source.blocks(max(16, min(ROWS, ENTRIES // columns))):
        sums.add(block.X, block.weight)
        unlabelled += 0 if block.y is None else int(missing(block.y).sum())
    form = "sparse" if hasattr(first.X, "tocsr") else "array"
    return Look(source.n_rows, unlabelled, form, {}, sums.weight, sums.total, sums.gaps)


class GapSums:
    """``sum_i w_i x_ij``, ``sum_i w_i`` and the number of gaps, over rows where x_ij is no NaN.

    Examples
    --------
    >>> sums = GapSums(2)
    >>> sums.add(np.array([[1.0, 2.0], [np.nan, 4.0]]), np.array([1.0, 3.0]))
    >>> sums.total, sums.weight, sums.gaps
    (array([ 1., 14.]), array([1., 4.]), array([1, 0]))
    """

    def __init__(self, columns: int) -> None:
        self.weight, self.total = np.zeros(columns), np.zeros(columns)
        self.gaps = np.zeros(columns, dtype=np.intp)

    def add(self, X: Rows, weight: Array | None) -> None:
        """Add rows, dense ones a few at a time in float64."""
        n_rows, columns = X.shape
        w = np.ones(n_rows) if weight is None else weight
        if hasattr(X, "tocsr"):
            self._add(X.astype(np.float64), w)
            return
        step = max(1, PART // max(1, columns))
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            self._add(np.asarray(X[part], dtype=np.float64), w[part])

    def _add(self, X: Rows, w: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # values are checked later
            total = w @ X
            # A gap makes its sum NaN, so that rows are searched for gaps only where there are any.
            may_miss = np.isnan(total).any()
            X = X.toarray() if may_miss and hasattr(X, "tocsr") else X
            absent = np.isnan(X) if may_miss else None
            if absent is None or not absent.any():
                self.total += total
                self.weight += w.sum()
                return
            self.gaps += absent.sum(axis=0)
            self.weight += w @ ~absent
            self.total += w @ np.where(absent, 0.0, X)


def encoding_of_arrays(looks: Sequence[Look], names: Sequence[str]) -> TableEncoding:
    """Return the encoding of an array of numbers: gaps are filled by the mean of their column."""
    rows = sum(look.rows for look in looks)
    weight, total, gaps = (
        np.sum([getattr(look, name) for look in looks], axis=0)
        for name in ("weight", "total", "gaps")
    )
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.divide(total, weight, out=np.zeros(len(names)), where=weight > 0)
    many = gaps >= max(1.0, MANY_GAPS * rows)
    return TableEncoding(
        tuple(names),
        tuple(
            NumberColumn(float(fill) if np.isfinite(fill) else 0.0, bool(indicator))
            for fill, indicator in zip(mean, many, strict=True)
        ),
        (),
        tuple(int(count) for count in gaps),
    )
