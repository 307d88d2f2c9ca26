"""From the rows of a fit as they were given to rows of numbers, with a label each.

Which rows have a label, and what the columns mean, are learned from all shards and applied to each
of them where it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.base import clone

from mercer.columns import TableEncoder, TableEncoding
from mercer.columns.column_encoders import DroppedColumn, NumberColumn
from mercer.columns.encoded_source import encoded_rows
from mercer.columns.looking import LABELS, Look, encoding_of_arrays, look_at
from mercer.columns.table_encoding import is_in_order
from mercer.columns.table_sums import sums_of_rows
from mercer.contracts import Array, Targets
from mercer.opening.inputs import Known, warn_of_dropped
from mercer.rows.labels import missing
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.steps import kept
from mercer.validation import warn

#: What may be done with rows that have no label.
UNLABELLED = ["drop", "use", "require"]


def encoder_of(columns: object, missing: str = "fill") -> TableEncoder | None:
    """Return what a user asks of the columns, unfitted; None to take rows as they are."""
    if columns is None:
        return None
    encoder: TableEncoder
    if isinstance(columns, TableEncoder):
        encoder = clone(columns)
    elif isinstance(columns, Mapping):
        encoder = TableEncoder(columns, missing=missing)
    elif isinstance(columns, str) and columns == "auto":
        encoder = TableEncoder(missing=missing)
    else:
        raise TypeError(
            f"columns must be 'auto', None, a dict of columns and their kinds, or a TableEncoder, "
            f"got {columns!r}"
        )
    encoder.options()
    return encoder


def with_learned_columns(
    rows: RowSet, encoder: TableEncoder | None, targets: Targets
) -> tuple[RowSet, TableEncoder | None]:
    """Return rows of numbers, and what their columns mean; None if they are taken as they are."""
    if encoder is None:
        return rows, None
    looks = looks_of(rows)
    forms = {look.form for look in looks}
    # Sparse columns are numbers, whatever is asked.
    arrays = "sparse" in forms or ("array" in forms and not encoder.types)
    if arrays and encoder.missing == "error":
        return rows, None
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
    for name, why in encoding.dropped.items():
        if "constant" not in why and why != "as asked":
            warn(f"column {name!r} is left out: {why}")
    return rows if as_given(rows, encoding) else encoded_rows(rows, encoding, targets), encoder


def with_known_columns(rows: RowSet, known: Known) -> RowSet:
    """Return rows of numbers, in the columns of a fitted model."""
    encoding, names = known.encoding, known.features.names
    if encoding is None:
        if names is None or is_in_order(rows, names):
            return rows
        encoding = TableEncoding.as_given(names)
    return rows if as_given(rows, encoding) else encoded_rows(rows, encoding, known.targets)


def has_other_columns(columns: TableEncoder | None) -> bool:
    """Return whether a table has columns that are not numbers."""
    return columns is not None and not all(
        isinstance(encoder, (NumberColumn, DroppedColumn)) for encoder in columns.encoding_.encoders
    )


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
    if not is_in_order(rows, encoding.names):
        return False
    return not any(look.gaps.any() for look in looks)


def differing(kinds: list[dict[str, str]]) -> frozenset[str]:
    """Return the columns that are of different kinds in different shards, and so are text."""
    found: dict[str, set[str]] = {}
    for part in kinds:
        for name, kind in part.items():
            found.setdefault(name, set()).add(kind)
    return frozenset(name for name, known in found.items() if len(known) > 1)


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


def labelled_shard(shard: Shard) -> Shard:
    """Task: return a shard without the rows that have no label."""
    source = shard.source
    absent: list[Array] = [missing(y) for y in source.targets(LABELS)]
    known = kept(source, np.flatnonzero(~np.concatenate(absent)))
    return Shard(shard.number, shard.name, known, shard.progress)
