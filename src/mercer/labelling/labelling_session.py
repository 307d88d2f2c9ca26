"""Label the rows of a pool one by one: who has which row, what is known, and what comes next."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from mercer.estimators import ImportanceLabeller
from mercer.labelling.background import Background
from mercer.labelling.growing_sheet import GrowingSheet
from mercer.labelling.label_book import LabelBook
from mercer.labelling.label_journal import SUFFIX, discard
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.label_task import LabelTask
from mercer.labelling.page.page_server import PageServer
from mercer.labelling.row_pictures import PictureError
from mercer.labelling.row_view import RowView
from mercer.labelling.session_learning import SessionLearning
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
        pool: Any,
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
        asked = None if task is None and not classes else LabelTask.of(task, classes)
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
        self.book = LabelBook(sheet, order, self.path.with_suffix(SUFFIX), asked)
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
            "guess": self.learning.guess(row),
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
