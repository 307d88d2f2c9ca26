"""Refits of a session: the model of the labels so far, its curve, and what it expects of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.contracts import Array
from mercer.estimators.asking import rows_of
from mercer.labelling.label_book import LabelBook
from mercer.labelling.label_curve import LabelsNeeded, labels_needed
from mercer.labelling.label_learning import (
    REGRESSION,
    LabelledRows,
    default_model,
    guesses,
    learn,
)
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.sheet import Sheet

#: Errors of a fit that labels can cause; the next labels may end them.
UNFIT = (ValueError, TypeError, ArithmeticError, MemoryError, np.linalg.LinAlgError)


class SessionLearning:
    """The models of a session; :meth:`run` is called by one thread, the rest by any.

    Attributes
    ----------
    changes : int
        Labels given or taken back since the last fit began.
    fitted_labels : int
        The number of labels that the model has seen; 0 if there is none.
    trouble : str or None
        Why the last fit failed.
    """

    def __init__(
        self, book: LabelBook, pool: LabelPool, every: int, target_error: float | None
    ) -> None:
        self._book, self._pool, self._every, self._target = book, pool, every, target_error
        self._model: Any = None
        self._features: tuple[int, Any] = (0, None)
        self._guesses: dict[str, dict[str, Any]] = {}
        self.changes = every  # a session that goes on fits at once
        self.fitted_labels = 0
        self.trouble: str | None = None

    @property
    def due(self) -> bool:
        """Whether it is time for a fit."""
        return self.changes >= self._every

    def run(self, most_weight: float | None, at_end: bool = False) -> None:
        """Fit if it is time to, and say what is expected of rows without a label.

        ``at_end`` is whether all rows have a label, so that there is nothing to wait for.
        """
        sheet, task = self._book.sheet, self._book.task
        if task is None:
            return
        with threadpool_limits(limits=1):  # the page is to answer meanwhile
            try:
                if self.due or (at_end and self.changes):
                    self._fit(sheet, task.target, default_model(task.kind), most_weight)
                if self._model is not None:
                    self._expect(sheet)
            except UNFIT as error:
                self.trouble = " ".join(str(error).split())

    def _fit(self, sheet: Sheet, target: Any, model: Any, most_weight: float | None) -> None:
        changes, drawn = self.changes, sheet.drawn
        at = np.array([i for i, label in enumerate(sheet.labels) if label is not None], dtype=int)
        rows = LabelledRows(
            rows_of(self._rows(sheet), at),
            target([sheet.labels[i] for i in at]),
            np.asarray(drawn.weights)[at],
            np.asarray(drawn.counts)[at],
            most_weight,
        )
        if not rows.enough:
            return
        try:
            self._model, point = learn(model, rows)
        finally:
            self.changes -= changes
        self.trouble, self.fitted_labels = None, len(at)
        self._book.record_point(point)

    def _expect(self, sheet: Sheet) -> None:
        """Store what the model expects of all rows without a label."""
        at = np.array([i for i, label in enumerate(sheet.labels) if label is None], dtype=int)
        found = guesses(self._model, rows_of(self._rows(sheet), at)) if len(at) else []
        ids = [sheet.drawn.ids[i] for i in at]
        self._guesses = dict(zip(ids, found, strict=True))

    def _rows(self, sheet: Sheet) -> Any:
        """Return the features of all rows of a sheet, read once a round."""
        if self._features[0] != len(sheet.drawn.rows):
            rows: Array = np.asarray(sheet.drawn.rows)
            self._features = len(rows), self._pool.take(rows)
        return self._features[1]

    def guess(self, row: str) -> dict[str, Any] | None:
        """Return what the model expects of a row."""
        return self._guesses.get(row)

    @property
    def needed(self) -> LabelsNeeded | None:
        """How many labels the target error takes; None without a target."""
        if self._target is None:
            return None
        return labels_needed(self._book.points, self._target)

    @property
    def measure(self) -> str:
        """What errors are."""
        task = self._book.task
        return "root mean squared error" if task and task.kind == REGRESSION else "error rate"
