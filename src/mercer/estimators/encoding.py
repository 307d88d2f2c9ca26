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
from mercer.columns.looking import LABELS, Look, encoding_of_arrays, look_at
from mercer.columns.table_encoder import warn_of
from mercer.columns.table_sums import as_table, sums_of_rows
from mercer.contracts import Array, RowSource, Targets
from mercer.estimators.asked import is_pairwise
from mercer.rows.arrays import ArraySource
from mercer.rows.kept import KeptSource
from mercer.rows.labels import missing
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.table import Table
from mercer.validation import check_choice, has_nan, warn

#: What may be done with rows that have no label.
UNLABELLED = ["drop", "use", "require"]


def asked_encoder(estimator: Any) -> TableEncoder | None:
    """Return what a user asks of the columns, unfitted; None to take rows as they are."""
    columns = estimator.columns
    check_choice(estimator.missing, "missing", ["fill", "error"])
    check_choice(getattr(estimator, "unlabelled", "drop"), "unlabelled", UNLABELLED)
    if columns is None or is_pairwise(estimator.kernel):
        return None
    encoder: TableEncoder
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
        known = None if fitted is None else fitted.encoding_
        return rows if known is None or as_given(rows, known) else encoded_rows(rows, known)
    encoder = asked_encoder(estimator)
    estimator.columns_ = None
    if encoder is None:
        return rows
    looks = looks_of(rows)
    forms = {look.form for look in looks}
    arrays = "array" in forms and not encoder.types
    if "sparse" in forms or (arrays and encoder.missing == "error"):
        return rows
    names = rows.feature_names or [f"x{number}" for number in range(rows.n_features)]
    if arrays:
        encoding = encoding_of_arrays(looks, names)
    else:
        text = encoder.text_columns(names) | differing([look.kinds for look in looks])
        sums = sums_of_rows(rows, targets, text, encoder.missing == "fill")
        encoding = encoder.learned(sums, text, "array" in forms)
    encoder.encoding_, encoder.n_features_in_ = encoding, rows.n_features
    if rows.feature_names is not None:
        encoder.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    estimator.columns_ = encoder
    for name, why in encoding.dropped.items():
        if "constant" not in why and why != "as asked":
            warn(f"column {name!r} is left out: {why}")
    return rows if as_given(rows, encoding) else encoded_rows(rows, encoding)


def looks_of(rows: RowSet) -> list[Look]:
    """Return the first look at every shard; it was taken when the shards were placed, or is now."""
    known: list[Look] = [fact.look for fact in rows.facts]
    if all(look is not None for look in known):
        return known
    return rows.map(look_at_shard, label="looking")


def look_at_shard(shard: Shard) -> Look:
    """Task: return what a shard contains."""
    with shard.naming():
        return look_at(shard.source)


def as_given(rows: RowSet, encoding: TableEncoding) -> bool:
    """Return whether rows are arrays without gaps, which need no encoding."""
    looks = looks_of(rows)
    if any(look.form == "table" for look in looks) or not encoding.is_identity:
        return False
    return not any(look.gaps.any() for look in looks)


def differing(kinds: list[dict[str, str]]) -> frozenset[str]:
    """Return the columns that are of different kinds in different shards, and so are text."""
    found: dict[str, set[str]] = {}
    for part in kinds:
        for name, kind in part.items():
            found.setdefault(name, set()).add(kind)
    return frozenset(name for name, known in found.items() if len(known) > 1)


def encoded_to_predict(estimator: Any, source: RowSource) -> tuple[RowSource, list[Any]]:
    """Return rows to predict as numbers, and a list that collects what the fit has not seen."""
    fitted, notes = getattr(estimator, "columns_", None), []  # type: tuple[Any, list[Any]]
    if fitted is None:
        return source, notes
    encoding: TableEncoding = fitted.encoding_
    if isinstance(source, ArraySource) and not isinstance(source.rows, Table):
        X = source.rows
        if hasattr(X, "tocsr") or (encoding.is_identity and not has_nan(X)):
            return source, notes
        # Arrays have no names, or those of the fit.
        source = source.with_rows(as_table(X, list(encoding.names)), encoding.names)
    refuse = fitted.missing == "error"
    return encoded_source(source, encoding, training=False, notes=notes, refuse=refuse), notes


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
    absent = [look.unlabelled for look in looks_of(rows)]
    if not any(absent):
        return rows
    counts = [fact.rows - number for fact, number in zip(rows.facts, absent, strict=True)]
    warn_of_dropped(sum(absent), rows.n_rows)
    return rows.derived(labelled_shard, counts=counts)


def check_unlabelled(rows: RowSet) -> None:
    """Raise ValueError if every row has a label, for a fit that requires some without."""
    if not any(look.unlabelled for look in looks_of(rows)):
        raise ValueError(
            "unlabelled='require' needs rows without labels, but every row has one: pass them as "
            "X_unlabelled, or with NaN in y"
        )


def warn_of_dropped(absent: int, total: int) -> None:
    """Warn of rows without a label; raise ValueError if no row has one."""
    if absent == total:
        raise ValueError("Input y contains NaN or None in every row: no row has a label")
    warn(
        f"{absent:,} of {total:,} rows have no label (NaN or None) and are left out: "
        f"unlabelled='use' takes them into the sums over rows"
    )


def labelled_shard(shard: Shard) -> Shard:
    """Task: return a shard without the rows that have no label."""
    source = shard.source
    absent: list[Array] = [missing(y) for y in source.targets(LABELS)]
    indices = np.flatnonzero(~np.concatenate(absent))
    kept = source.at(indices) if isinstance(source, ArraySource) else KeptSource(source, indices)
    return Shard(shard.number, shard.name, kept, shard.progress)
