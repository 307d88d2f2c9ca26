"""Join rows, labels and weights for a fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.contracts import Array
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.label_rounds import has_names
from mercer.labelling.sheet import Draws, Sheet
from mercer.labelling.spreadsheet_values import as_target, some


class Labelled(NamedTuple):
    """Rows with their labels and weights, ready for fit."""

    X: Any
    y: Array
    sample_weight: Array


def join(pool: Any, sheet: Sheet, *, skip_unlabelled: bool = False) -> Labelled:
    """Return the rows of a sheet with their labels and weights, in the order of the pool.

    Parameters
    ----------
    pool : LabelPool, or what one is made from
        The pool that the rows were drawn from; it must not have changed.
    sheet : Sheet
        The sheet, with a label for each row.
    skip_unlabelled : bool
        Whether to skip rows without a label; otherwise they raise ValueError.
    """
    drawn, gaps = sheet.drawn, sheet.unlabelled
    if gaps and (not skip_unlabelled or len(gaps) == len(drawn.ids)):
        raise ValueError(
            f"every row must have a label, but {len(gaps)} of {len(drawn.ids)} have none, with the "
            f"ids {some(gaps)}: fill them in"
            + (
                ", or skip them with skip_unlabelled (--skip-unlabelled)"
                if len(gaps) < len(drawn.ids)
                else ""
            )
        )
    if not isinstance(pool, LabelPool):
        said = drawn.settings
        columns, ids = _by_name(drawn, pool)
        pool = LabelPool(
            pool, columns, ids, delimiter=said.get("delimiter"), decimal=said.get("decimal")
        )
    kept = [at for at, label in enumerate(sheet.labels) if label is not None]
    y = as_target([sheet.labels[at] for at in kept], [drawn.ids[at] for at in kept], bool(gaps))
    drawn.check_pool(pool)
    X = pool.take(np.asarray(drawn.rows)[kept])
    return Labelled(X, y, np.asarray(drawn.weights)[kept])


def _by_name(drawn: Draws, pool: Any) -> tuple[list[str] | None, str | None]:
    """Return the features and the column of ids, for a pool with column names."""
    if has_names(pool):
        return drawn.columns, None if drawn.pool.ids is None else drawn.id_name
    if drawn.pool.ids is not None:
        raise ValueError(
            "the rows of the sheet have ids, so the pool must have the same ids: pass "
            "LabelPool(pool, ids=...)"
        )
    return None, None
