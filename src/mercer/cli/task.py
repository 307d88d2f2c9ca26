"""Regression or classification, decided by the values of the target."""

from __future__ import annotations

import numpy as np

from mercer.contracts import RowSource
from mercer.validation import check_choice

#: Whole numbers are classes when there are at most this many different ones.
CLASSES = 20
TASKS = ("auto", "regression", "classification")


def decide_task(source: RowSource, asked: str) -> tuple[str, str]:
    """Return the task and the reason for it.

    >>> from mercer.rows import ArraySource
    >>> decide_task(ArraySource([[1.0], [2.0]], y=["yes", "no"]), "auto")
    ('classification', 'the target is text')
    >>> decide_task(ArraySource([[1.0], [2.0]], y=[0.5, 1.5]), "auto")
    ('regression', 'the target is decimal numbers')
    """
    if check_choice(asked, "--task", TASKS) != "auto":
        return asked, "requested"
    seen: set[int] = set()
    for y in source.targets(100_000):
        if y.ndim > 1 and y.shape[1] > 1:
            return "regression", f"the target has {y.shape[1]} columns"
        if y.dtype.kind in "OU":
            return "classification", "the target is text"
        if y.dtype.kind == "b":
            return "classification", "the target is true or false"
        if y.dtype.kind not in "iu":
            return "regression", "the target is decimal numbers"
        seen.update(np.unique(y).tolist())
        if len(seen) > CLASSES:
            return "regression", f"the target is more than {CLASSES} different whole numbers"
    return "classification", f"the target is {len(seen)} different whole numbers"
