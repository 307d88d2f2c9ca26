"""Labels and weights of rows: which have one, which look alike, and blocks where all are valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mercer.contracts import Array, RowBlock, RowSource, Targets
from mercer.rows.file_source import FileSource
from mercer.rows.shards import Shard
from mercer.rows.table import is_gap
from mercer.validation import check_finite, check_weight, warn

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


#: Rows read at a time to see whether all have a label.
LOOKED_AT = 8192


def checked_blocks(
    source: RowSource, targets: Targets, rows: int, *, partial: bool = False
) -> Iterator[tuple[RowBlock, Array]]:
    """Yield blocks with their encoded targets; raise ValueError at the first invalid row.

    With ``partial`` some rows may have no label, and NaN for a target. All weights of a shard may
    be 0: whether those of all rows are is known from their sum.
    """
    for block in source.blocks(rows):
        check_finite(block.X, start=block.start, names=source.feature_names)
        if block.weight is not None:
            check_weight(block.weight, start=block.start)
        if block.y is None:
            raise ValueError(
                "fit needs targets, but the source has none: name the column (target=...)"
            )
        Y = targets.encode(block.y, block.start)
        if not partial and np.isnan(Y).any():
            at = block.start + int(np.flatnonzero(np.isnan(Y).any(axis=1))[0])
            raise ValueError(
                f"y has no label at row {at}, and unlabelled rows need moments: use "
                "basis='landmarks' or 'random_features' with solver='ridge', or drop these rows"
            )
        yield block, Y


def lacks_labels(source: RowSource, targets: Targets) -> bool:
    """Return whether some row has no label; reads up to the first such row."""
    blocks = checked_blocks(source, targets, LOOKED_AT, partial=True)
    return any(np.isnan(Y).any() for _, Y in blocks)


def labels_of(shard: Shard, targets: Targets) -> tuple[Array, Array]:
    """Task: return the encoded targets (n, k) and the weights (n,) of a shard."""
    source = shard.source
    with shard.naming():
        blocks = list(checked_blocks(source, targets, max(1, source.n_rows)))
    weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b, _ in blocks]
    return np.vstack([Y for _, Y in blocks]), np.concatenate(weights)
