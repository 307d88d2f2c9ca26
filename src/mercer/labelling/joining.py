"""Rows, labels and weights, brought together for a fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.contracts import Array, Rows
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.label_rounds import has_names
from mercer.labelling.sheet import Draws, Sheet
from mercer.labelling.spreadsheet_values import as_target, some


class Labelled(NamedTuple):
    """Rows with their labels and weights, as a fit takes them."""

    X: Rows
    y: Array
    sample_weight: Array


def join(pool: Any, sheet: Sheet, *, skip_unlabelled: bool = False) -> Labelled:
    """Return the rows of a sheet with their labels and weights, in the order of the pool.

    Parameters
    ----------
    pool : LabelPool, or what one is made from
        The pool that the rows were drawn from; one that has changed is refused.
    sheet : Sheet
        With a label for each row.
    skip_unlabelled : bool
        Whether rows without a label are left out; otherwise they are refused.
    """
    drawn, gaps = sheet.drawn, sheet.unlabelled
    if gaps and (not skip_unlabelled or len(gaps) == len(drawn.ids)):
        raise ValueError(
            f"every row must have a label, but {len(gaps)} of {len(drawn.ids)} have none, with the "
            f"ids {some(gaps)}: fill them in"
            + (
                ", or leave them out with skip_unlabelled (--skip-unlabelled)"
                if len(gaps) < len(drawn.ids)
                else ""
            )
        )
    if not isinstance(pool, LabelPool):
        pool = LabelPool(pool, *_by_name(drawn, pool))
    kept = [at for at, label in enumerate(sheet.labels) if label is not None]
    y = as_target([sheet.labels[at] for at in kept], [drawn.ids[at] for at in kept], bool(gaps))
    drawn.check_pool(pool)
    X = pool.source.take(np.asarray(drawn.rows)[kept])
    return Labelled(X, y, np.asarray(drawn.weights)[kept])


def _by_name(drawn: Draws, pool: Any) -> tuple[list[str] | None, str | None]:
    """Return the features and the column of ids, for a pool that has names."""
    if has_names(pool):
        return drawn.columns, None if drawn.pool.ids is None else drawn.id_name
    if drawn.pool.ids is not None:
        raise ValueError(
            "the rows of the sheet have ids, and the pool must have the same: pass "
            "LabelPool(pool, ids=...)"
        )
    return None, None
