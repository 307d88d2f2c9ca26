"""Label the rows of a pool one by one: who has which row, what is known, and what comes next."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.contracts import Array
from mercer.labelling.label_book import LabelBook
from mercer.labelling.label_journal import SUFFIX, discard
from mercer.labelling.label_learning import (
    LabelledRows,
    LabelsNeeded,
    Model,
    default_model,
    guesses,
    labels_needed,
    learn,
)
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.label_rounds import GrowingSheet
from mercer.labelling.label_values import REGRESSION, LabelTask
from mercer.labelling.labeller import ImportanceLabeller
from mercer.labelling.page.page_server import PageServer
from mercer.labelling.row_labels import rows_of
from mercer.labelling.row_view import PictureError, RowView
from mercer.labelling.sheet import Sheet, sheet_files
from mercer.labelling.sheet_reading import read_sheet
from mercer.validation import check_count, check_number


class LabellingSession:
    """Rows of a pool that people label one by one, in rounds, while a model learns from them.

    Every label is in a journal on disk before the call returns, and in the sheet soon after. After
    every ``refit_every`` labels a model is fitted in the background, to the labels with their
    weights; the next rows are drawn when those of a round run out. A session with the sheet of an
    earlier one goes on with it, also if that was killed.

    Parameters
    ----------
    pool : LabelPool, or what one is made from
        The rows.
    path : str or path
        The sheet, a ``.csv`` or ``.parquet`` file, with its record and a journal next to it.
    budget : int
        The number of draws in all; a row that is drawn twice is labelled once.
    task : "classification", "regression" or None
        What labels are; None means classes if there are ``classes``, and otherwise what the labels
        of the sheet are, or what :meth:`LabelBook.choose_task` says later.
    classes : list of str, or None
        Names of classes; more can be added.
    labeller : ImportanceLabeller or None
        How rows are drawn; its budget does not count. None means ``ImportanceLabeller(
        random_state=0)``.
    refit_every : int
        Labels between fits, and draws in a round.
    target_error : float or None
        An error to estimate the number of labels for.
    image : str or None
        "28x28" if features are pixels, or the column with paths of pictures; None finds such
        columns by the extensions of their values.
    show : list of str, or None
        The columns to show; None means all.
    folder : path or None
        The folder that paths of pictures begin at; None means that of the pool's file.
    settings : dict or None
        As in :func:`write_sheet`.
    overwrite : bool
        Whether an earlier sheet is replaced, with its labels, instead of gone on with.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mercer.labelling import LabellingSession, join, read_sheet
    >>> pool = np.random.default_rng(0).random((200, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sheet = f"{folder}/sheet.csv"
    ...     with LabellingSession(pool, sheet, 20, classes=["low", "high"]) as session:
    ...         row = session.book.next_row("a tab")
    ...         session.book.label(row, "low", "me")
    ...         assert session.book.undo("a tab", "me") == row
    ...         session.book.label(row, "high", "me")
    ...     join(pool, read_sheet(sheet), skip_unlabelled=True).y
    array(['high'], dtype='<U4')
    """

    def __init__(
        self,
        pool: object,
        path: str | os.PathLike[str],
        budget: int = 100,
        *,
        task: str | None = None,
        classes: Sequence[str] | None = None,
        labeller: ImportanceLabeller | None = None,
        refit_every: int = 10,
        target_error: float | None = None,
        image: str | None = None,
        show: Sequence[str] | None = None,
        folder: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.path, self._record = sheet_files(path, overwrite=True)
        self.refit_every = check_count(refit_every, "refit_every")
        if target_error is not None:
            check_number(target_error, "target_error", above=0.0)
        wanted = None if task is None and not classes else LabelTask.of(task, classes)
        if folder is None and isinstance(pool, (str, os.PathLike)):
            folder = Path(pool).expanduser().absolute().parent
        place = None if folder is None else Path(folder)
        self.pool = pool if isinstance(pool, LabelPool) else LabelPool(pool)
        before = self._earlier(overwrite)
        labeller = ImportanceLabeller(random_state=0) if labeller is None else labeller
        self._growing = GrowingSheet(labeller, self.pool, budget, refit_every, settings, before)
        sheet = self._growing.sheet
        self._view = RowView(self.pool, sheet, image, show, place)
        self._view.prepare(sheet)
        if before is None:
            discard(self.path.with_suffix(SUFFIX))
            sheet.save(self.path, overwrite=True)
        order = self._growing.order(list(sheet.drawn.ids))
        self.book = LabelBook(sheet, order, self.path.with_suffix(SUFFIX), wanted)
        self.learning = SessionLearning(self.book, self.pool, refit_every, target_error)
        self.trouble: str | None = None
        self._closed, self._saving = False, threading.Lock()
        self._servers: list[PageServer] = []
        self._keeper = Background(self._save, "sheet")
        self._learner = Background(self._learn, "model")
        self.book.changed = self._go_on
        self._keeper.poke()
        self._learner.poke()

    def _earlier(self, overwrite: bool) -> Sheet | None:
        """Return the sheet to go on with; refuse a journal that has lost its sheet."""
        if overwrite:
            return None
        journal = self.path.with_suffix(SUFFIX)
        if self.path.exists():
            return read_sheet(self.path)
        if journal.exists():
            raise ValueError(
                f"{journal} has labels of a sheet {self.path.name} that is no longer there: put "
                f"the sheet back, or start again with overwrite=True"
            )
        sheet_files(self.path)  # refuses a record of something else
        return None

    # -- what a page asks for -------------------------------------------------------------------

    def state(self, tab: str, person: str) -> dict[str, Any]:
        """Return everything that a tab shows, as JSON: its row, the progress and the curve."""
        with self.book.lock:
            book, learning = self.book, self.learning
            task, row = book.task, book.next_row(tab)
            if row is None and self._wants_rows and not self._learner.busy:
                self._learner.poke()  # a draw that failed is tried again
            needed = learning.needed
            return {
                "task": None if task is None else task.kind,
                "classes": [] if task is None else list(task.classes),
                "row": None if row is None or task is None else self._shown(row),
                "waiting": self._waiting() if row is None else None,
                "labelled": book.labelled,
                "expected": max(self._growing.expected_rows, book.labelled),
                "skipped": book.skipped,
                "can_undo": book.can_undo(person),
                "fitted_labels": learning.fitted_labels,
                "fitting": self._learner.busy,
                "trouble": self.trouble or learning.trouble,
                "measure": learning.measure,
                "curve": [asdict(point) for point in book.points],
                "target": None if needed is None else needed.target,
                "needed": None if needed is None else needed.words(),
                "sheet": self.path.name,
            }

    def _shown(self, row: str) -> dict[str, Any]:
        sheet, at = self.book.sheet, self.book.at[row]
        return {
            "id": row,
            "id_name": sheet.drawn.id_name,
            "columns": self._view.columns(sheet, at),
            "pictures": self._view.pictures(sheet, at),
            "guess": self.learning.guesses.get(row),
        }

    def _waiting(self) -> str:
        """Return why there is no row."""
        if self._learner.busy and not self._growing.complete:
            return "drawing"
        if self.book.waiting:
            return "others"
        return "skipped" if self.book.skipped else "done"

    def picture(self, row: str, column: str) -> tuple[bytes, str]:
        """Return the picture of a row, and its type."""
        if row not in self.book.at:
            raise PictureError("the sheet has no such row")
        return self._view.file(self.book.sheet, self.book.at[row], column)

    def serve(self, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> PageServer:
        """Serve a page to label on, until the session is closed; see :class:`PageServer`."""
        return self._served(PageServer(self, host, port, token))

    def show(self, port: int = 0) -> PageServer:
        """Return the page in a frame, for a notebook that runs on the machine of the browser."""
        return self._served(PageServer(self, port=port, framed=True))

    def _served(self, server: PageServer) -> PageServer:
        self._servers.append(server)
        return server

    # -- in the background ----------------------------------------------------------------------

    def _go_on(self) -> None:
        """After a label, save in the background, and draw or fit if it is time to."""
        self.learning.changes += 1
        self._keeper.poke()
        if self._wants_rows or self.learning.due or self._at_end:
            self._learner.poke()

    @property
    def _wants_rows(self) -> bool:
        return not self._growing.complete and self.book.waiting <= max(2, self.refit_every // 2)

    @property
    def _at_end(self) -> bool:
        return self._growing.complete and not self.book.waiting

    def _save(self) -> None:
        """Write the sheet; if that fails, the journal has the labels, and the page says so."""
        try:
            with self._saving:
                self.book.sheet.save(self.path, overwrite=True)
            self.trouble = None
        except OSError as error:
            self.trouble = f"the sheet could not be written ({error}); the journal has all labels"

    def _learn(self) -> None:
        """Draw rows as long as they are few, and fit if there are enough new labels."""
        try:
            while self._wants_rows:
                self._grow()
        except (OSError, ValueError) as error:  # the pool has changed, say
            self.trouble = f"no more rows could be drawn: {error}"
        self.learning.run(self._growing.most_weight, self._at_end)

    def _grow(self) -> None:
        new = self._growing.grow()
        self._view.prepare(self._growing.sheet)
        with self._saving:  # after a crash, the label of a row must find it in the sheet
            self._labelled(self._growing.sheet).save(self.path, overwrite=True)
            self.book.publish(self._growing.sheet, new)

    def _labelled(self, sheet: Sheet) -> Sheet:
        known = self.book.sheet
        return sheet.with_labels(dict(zip(known.drawn.ids, known.labels, strict=True)))

    # -- the end --------------------------------------------------------------------------------

    def settle(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is done in the background; return whether that is so."""
        return self._learner.wait(seconds) and self._keeper.wait(seconds)

    def close(self) -> None:
        """Stop its pages, end the work in the background, and write the sheet."""
        with self.book.lock:
            if self._closed:
                return
            self._closed = True
        for server in self._servers:
            server.stop()
        self._learner.stop(finish=False)
        self._keeper.stop()
        self.book.sheet.save(self.path, overwrite=True)
        self.book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


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
    guesses : dict
        What the model expects of each row without a label, by id.
    """

    def __init__(
        self, book: LabelBook, pool: LabelPool, every: int, target_error: float | None
    ) -> None:
        self._book, self._pool, self._every, self._target = book, pool, every, target_error
        self._model: Model | None = None
        self._features: tuple[int, Any] = (0, None)
        self.guesses: dict[str, dict[str, Any]] = {}
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
                    self._fit(sheet, task, most_weight)
                if self._model is not None:
                    self._expect(sheet, self._model)
            except UNFIT as error:
                self.trouble = " ".join(str(error).split())

    def _fit(self, sheet: Sheet, task: LabelTask, most_weight: float | None) -> None:
        changes, drawn = self.changes, sheet.drawn
        at = np.array([i for i, label in enumerate(sheet.labels) if label is not None], dtype=int)
        rows = LabelledRows(
            rows_of(self._rows(sheet), at),
            task.target([sheet.labels[i] for i in at]),
            np.asarray(drawn.weights)[at],
            np.asarray(drawn.counts)[at],
            most_weight,
        )
        if not rows.enough:
            return
        try:
            self._model, point = learn(default_model(task.kind), rows)
        finally:
            self.changes -= changes
        self.trouble, self.fitted_labels = None, len(at)
        self._book.record_point(point)

    def _expect(self, sheet: Sheet, model: Model) -> None:
        """Store what the model expects of all rows without a label."""
        at = np.array([i for i, label in enumerate(sheet.labels) if label is None], dtype=int)
        found = guesses(model, rows_of(self._rows(sheet), at)) if len(at) else []
        ids = [sheet.drawn.ids[i] for i in at]
        self.guesses = dict(zip(ids, found, strict=True))

    def _rows(self, sheet: Sheet) -> Any:
        """Return the features of all rows of a sheet, read once a round."""
        if self._features[0] != len(sheet.drawn.rows):
            rows: Array = np.asarray(sheet.drawn.rows)
            self._features = len(rows), self._pool.take(rows)
        return self._features[1]

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


class Background:
    """A thread that calls a function after every :meth:`poke`, once for several in a row.

    An error that the function raises ends the work; :meth:`stop` raises it again.

    >>> calls = []
    >>> work = Background(lambda: calls.append(1), "counting")
    >>> work.poke()
    >>> work.stop()
    >>> calls
    [1]
    """

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work = work
        self._condition = threading.Condition()
        self._wanted = self._stopped = self._busy = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"mercer {name}", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether there is work to do."""
        return self._busy or self._wanted

    def poke(self) -> None:
        """Ask for the work."""
        with self._condition:
            self._wanted = True
            self._condition.notify_all()

    def stop(self, finish: bool = True) -> None:
        """End the thread, and before that the work that was asked for, or that has begun."""
        with self._condition:
            self._stopped, self._wanted = True, self._wanted and finish
            self._condition.notify_all()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is left to do; return whether that is so."""
        with self._condition:
            return self._condition.wait_for(
                lambda: not self.busy or not self._thread.is_alive(), seconds
            )

    def _run(self) -> None:
        try:
            while self._next():
                self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised by stop
            self._error = error
        with self._condition:
            self._busy = self._wanted = False
            self._condition.notify_all()

    def _next(self) -> bool:
        with self._condition:
            self._busy = False
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._wanted or self._stopped)
            found, self._wanted, self._busy = self._wanted, False, self._wanted
            return found
