"""Regression or classification, decided by the values of the target."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from mercer.columns.text_numbers import NumberStyle, narrowed, parse_numbers, preferred, styles_of
from mercer.contracts import RowSource
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRegressor
from mercer.rows.dialect import decimal_of
from mercer.rows.labels import missing, with_number_labels
from mercer.targets.class_targets import known_labels
from mercer.targets.number_targets import ROWS
from mercer.validation import check_choice

ESTIMATORS: dict[str, type[KernelEstimator]] = {
    "regression": KernelRegressor,
    "classification": KernelClassifier,
}
TASKS = ("auto", *ESTIMATORS)
#: Up to so many different whole numbers are classes; more than MANY are not.
FEW, MANY = 3, 20
#: Different values that are counted; there are no more classes than that.
COUNTED = 10_000
SAY_WHICH = "say which with --task regression or --task classification"


class DoubtfulTask(ValueError):
    """Both readings of the target are plausible, or neither is; ``--task`` decides."""


@dataclass
class TargetValues:
    """The different values of a target, and how many rows have each; gaps are left out."""

    columns: int = 1
    truth: bool = False  # true and false
    text: bool = False
    rows: int = 0
    counts: Counter[object] = field(default_factory=Counter)
    styles: frozenset[NumberStyle] = field(default_factory=lambda: styles_of([]))
    whole: bool = True

    @classmethod
    def of(cls, source: RowSource) -> TargetValues:
        """Look at all targets of a source, in one pass."""
        seen = cls()
        for block in source.targets(ROWS):
            if block.ndim > 1 and block.shape[1] > 1:
                seen.columns = block.shape[1]
                return seen
            y = known_labels(block, missing(block)).ravel()
            new = Counter(y.tolist())
            seen.rows += len(y)
            seen.truth |= y.dtype.kind == "b"
            seen.text |= y.dtype.kind in "OU" and any(isinstance(value, str) for value in new)
            if seen.text:
                added = styles_of(str(value) for value in new if value not in seen.counts)
                seen.styles &= narrowed(added, decimal_of(source))
            elif y.dtype.kind == "f":
                seen.whole &= bool((y == np.rint(y)).all())
            if len(seen.counts) <= COUNTED:
                seen.counts.update(new)
            if not (seen.text or seen.whole):
                break  # decimal numbers, whatever follows
        return seen

    @property
    def single(self) -> int:
        """How many values occur in one row only."""
        return sum(count == 1 for count in self.counts.values())

    def decorated(self, style: NumberStyle) -> bool:
        """Return whether text has units or separators, as amounts have and codes have not."""
        codes = (str(value).strip().removeprefix("-") for value in self.counts)
        return style.percent or not all(map(str.isdigit, codes))


def decide_task(source: RowSource, task: str) -> tuple[str, str]:
    """Return the task and the reason for it; raise DoubtfulTask if ``--task`` must decide.

    >>> from mercer.rows import ArraySource
    >>> decide_task(ArraySource([[1.0], [2.0]], y=["yes", "no"]), "auto")
    ('classification', 'the target is text of 2 classes')
    >>> decide_task(ArraySource([[1.0], [2.0]], y=[0.5, 1.5]), "auto")
    ('regression', 'the target is decimal numbers')
    """
    if check_choice(task, "--task", TASKS) != "auto":
        return task, "requested"
    values = TargetValues.of(with_number_labels(source))
    if values.text and preferred(values.styles) is None:  # a class may have the name "NA"
        values = TargetValues.of(source)
    return guessed(values)


def guessed(values: TargetValues) -> tuple[str, str]:
    """Return the task that fits the values of a target, and the reason."""
    if values.columns > 1:
        return "regression", f"the target has {values.columns} columns"
    if values.truth:
        return "classification", "the target is true or false"
    distinct, whole = len(values.counts), values.whole
    if values.text:
        style = preferred(values.styles)
        if style is None:
            return classes_of_text(values)
        if values.decorated(style):
            return "regression", f"the target is numbers written as text: {style.describe()}"
        numbers = parse_numbers(map(str, values.counts), style)
        whole = bool((numbers == np.rint(numbers)).all())
    if not whole:
        return "regression", "the target is decimal numbers"
    if distinct <= FEW:
        return "classification", f"the target is {distinct} different whole numbers"
    if distinct > MANY:
        return "regression", f"the target is more than {MANY} different whole numbers"
    if distinct > values.rows / 2:
        return "regression", "the target is whole numbers, most of them in one row only"
    raise DoubtfulTask(
        f"the target is {distinct} different whole numbers, which may be amounts or classes: "
        f"{SAY_WHICH}"
    )


def classes_of_text(values: TargetValues) -> tuple[str, str]:
    """Return the classification of text; raise DoubtfulTask if it looks like something else."""
    distinct = len(values.counts)
    levels = [str(value) for value in values.counts]
    wrong = [level for level in levels if not styles_of([level])]
    if distinct > FEW and len(wrong) < distinct / 2:
        got = f"{wrong[0]!r} is none" if wrong else "they are written in different ways"
        raise DoubtfulTask(
            f"the target is mostly numbers, but {got}: correct it, leave the value empty so that "
            f"its row is left out, or take all values as classes with --task classification"
        )
    if distinct > MANY and values.single > distinct / 2:
        many = f"more than {COUNTED:,}" if distinct > COUNTED else f"{distinct:,}"
        raise DoubtfulTask(
            f"the target is text with {many} different values in {values.rows:,} rows, most of "
            f"them in one row only, such as {levels[0]!r}: name another column with --target, or "
            f"take them as classes with --task classification"
        )
    return "classification", f"the target is text of {distinct:,} classes"
