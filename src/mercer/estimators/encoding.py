"""From the rows of a fit as they were given to rows of numbers, with a label each.

Which rows have a label, and what the columns mean, are learned from all shards and applied to each
of them where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.columns import TableEncoder, TableEncoding
from mercer.columns.encoded_source import encoded_rows, encoded_source
from mercer.columns.table_encoder import warn_of
from mercer.columns.table_sums import as_table, sums_of_rows
from mercer.contracts import Array, RowSource, Targets
from mercer.estimators.asked import is_pairwise
from mercer.estimators.targets import ROWS, missing
from mercer.rows.arrays import ArraySource
from mercer.rows.kept import KeptSource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.table import Table, kind_of_column
from mercer.validation import check_choice, warn


def asked_encoder(estimator: Any) -> TableEncoder | None:
    """Return what a user asks of the columns, unfitted; None to take rows as they are."""
    columns = estimator.columns
    check_choice(estimator.missing, "missing", ["fill", "error"])
    check_choice(getattr(estimator, "unlabelled", "drop"), "unlabelled", ["drop", "use"])
    if columns is None or is_pairwise(estimator.kernel):
        return None
    if isinstance(columns, TableEncoder):
        encoder = clone(columns)
    elif isinstance(columns, Mapping):
        encoder = TableEncoder(columns, missing=estimator.missing)
    elif isinstance(columns, str) and columns == "auto":
        encoder = TableEncoder(missing=estimator.missing)
    else:
        raise TypeError(
            f"columns must be 'auto', None, a dict of columns and their kinds, or a TableEncoder, "
            f"got {columns!r}"
        )
    encoder.options()
    return encoder


def with_encoded_columns(estimator: Any, rows: RowSet, targets: Targets, *, first: bool) -> RowSet:
    """Return rows of numbers; the first fit learns what the columns mean."""
    if not first:
        fitted = estimator.columns_
        return rows if fitted is None else encoded_rows(rows, fitted.encoding_)
    encoder = asked_encoder(estimator)
    looks = rows.map(look_of_shard, label="looking", light=True) if encoder is not None else []
    if encoder is None or any(look is None for look in looks):  # sparse rows are numbers
        estimator.columns_ = None
        return rows
    arrays = not any(looks)
    names = rows.feature_names or [f"x{number}" for number in range(rows.n_features)]
    text = encoder.text_columns(names) | differing(looks)
    sums = sums_of_rows(rows, targets, text)
    encoding = encoder.learn(sums, text, arrays)
    encoder.n_features_in_ = rows.n_features
    if rows.feature_names is not None:
        encoder.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    estimator.columns_ = encoder
    for name, why in encoding.dropped.items():
        if "constant" not in why and why != "as asked":
            warn(f"column {name!r} is left out: {why}")
    plain = arrays and encoding.is_identity and not any(encoding.gaps)
    return rows if plain else encoded_rows(rows, encoding)


def look_of_shard(shard: Shard) -> dict[str, str] | None:
    """Task: return the kind of every column of a table, {} for arrays, None for sparse rows."""
    first = next(iter(shard.source.blocks(1)), None)
    if first is None or not isinstance(first.X, Table):
        return None if first is not None and hasattr(first.X, "tocsr") else {}
    return {name: kind_of_column(column) for name, column in first.X.columns.items()}


def differing(looks: list[dict[str, str] | None]) -> frozenset[str]:
    """Return the columns that are of different kinds in different shards, and so are text."""
    found: dict[str, set[str]] = {}
    for look in looks:
        for name, kind in (look or {}).items():
            found.setdefault(name, set()).add(kind)
    return frozenset(name for name, kinds in found.items() if len(kinds) > 1)


def encoded_to_predict(estimator: Any, source: RowSource) -> tuple[RowSource, list[Any]]:
    """Return rows to predict as numbers, and a list that collects what the fit has not seen."""
    fitted, notes = getattr(estimator, "columns_", None), []  # type: tuple[Any, list[Any]]
    if fitted is None:
        return source, notes
    encoding: TableEncoding = fitted.encoding_
    if isinstance(source, ArraySource) and not isinstance(source.rows, Table):
        X = source.rows
        if hasattr(X, "tocsr") or (encoding.is_identity and not np.isnan(X).any()):
            return source, notes
        # Arrays have no names, or those of the fit.
        source = source.with_rows(as_table(X, list(encoding.names)), encoding.names)
    return encoded_source(source, encoding, training=False, notes=notes), notes


def warn_of_notes(notes: list[Any], rows: int) -> None:
    """Warn once of all values that the fit has not seen."""
    total: dict[str, tuple[int, int]] = {}
    for note in notes:
        for name, (unknown, gaps) in note.items():
            before = total.get(name, (0, 0))
            total[name] = before[0] + unknown, before[1] + gaps
    warn_of(total, rows)


# -- rows without a label ----------------------------------------------------------------------


def with_labels_only(rows: RowSet) -> RowSet:
    """Leave out rows without a label, and say how many."""
    found = rows.map(unlabelled_of_shard, label="labels", record="labels")
    if not any(found):
        return rows
    counts = [fact.rows - absent for fact, absent in zip(rows.facts, found, strict=True)]
    warn_of_dropped(sum(found), rows.n_rows)
    return rows.derived(labelled_shard, counts=counts)


def warn_of_dropped(absent: int, total: int) -> None:
    """Warn of rows without a label; raise ValueError if no row has one."""
    if absent == total:
        raise ValueError("Input y contains NaN or None in every row: no row has a label")
    warn(
        f"{absent:,} of {total:,} rows have no label (NaN or None) and are left out: "
        f"unlabelled='use' takes them into the sums over rows"
    )


def unlabelled_of_shard(shard: Shard) -> int:
    """Task: return how many rows of a shard have no label."""
    with shard.naming():
        return int(sum(int(missing(y).sum()) for y in shard.source.targets(ROWS)))


def labelled_shard(shard: Shard) -> Shard:
    """Task: return a shard without the rows that have no label."""
    source = shard.source
    absent: list[Array] = [missing(y) for y in source.targets(ROWS)]
    indices = np.flatnonzero(~np.concatenate(absent))
    kept = source.at(indices) if isinstance(source, ArraySource) else KeptSource(source, indices)
    return Shard(shard.number, shard.name, kept, shard.progress)
