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
from mercer.contracts import Array, RowSource
from mercer.rows.labels import missing
from mercer.rows.table import Table

#: Rows of a block, and of y.
ROWS = 8192
LABELS = 100_000


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True)
class Look:
    """What a shard contains: a table with the kind of each column, an array, or sparse rows."""

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
    if first is None or isinstance(first.X, Table) or hasattr(first.X, "tocsr"):
        counted = source.targets(LABELS) if source.has_target else ()
        unlabelled = sum(int(missing(y).sum()) for y in counted)
        if first is not None and hasattr(first.X, "tocsr"):
            return Look(source.n_rows, unlabelled, "sparse")
        kinds = {} if first is None else first.X.kinds
        return Look(source.n_rows, unlabelled, "table", kinds)
    unlabelled = 0
    weight, total = np.zeros(source.n_features), np.zeros(source.n_features)
    gaps = np.zeros(source.n_features, dtype=np.intp)
    for block in source.blocks(ROWS):
        X = np.asarray(block.X, dtype=np.float64)
        w = np.ones(len(X)) if block.weight is None else block.weight
        absent = np.isnan(X)
        if absent.any():
            gaps += absent.sum(axis=0)
            X = np.where(absent, 0.0, X)
            weight += w @ ~absent
        else:
            weight += w.sum()
        with np.errstate(over="ignore", invalid="ignore"):  # values are checked later
            total += w @ X
        unlabelled += 0 if block.y is None else int(missing(block.y).sum())
    return Look(source.n_rows, unlabelled, "array", {}, weight, total, gaps)


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
