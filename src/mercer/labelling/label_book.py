"""Labels of a sheet as people give them: who has which row, what is known, what can be undone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mercer.labelling.label_journal import LabelJournal
from mercer.labelling.label_learning import CurvePoint
from mercer.labelling.label_values import LabelTask, task_of_labels
from mercer.labelling.sheet import Sheet


class TakenError(ValueError):
    """Somebody else has labelled the row in the meantime."""


class LabelBook:
    """The labels of a sheet while people are at work on it.

    Every label is in a journal on disk before the call returns. A row is handed to one tab at a
    time, and rows of a round are handed out in the order that they are published in. All methods
    may be called from any thread.

    Parameters
    ----------
    sheet : Sheet
        The rows so far, with the labels that are known.
    order : list of str
        Its ids in the order to ask for them.
    journal : Path
        The file of the journal. If there is one, it is gone through: what the sheet does not have
        yet is taken from it.
    task : LabelTask or None
        What labels are; None means what the journal or the labels say, or :meth:`choose_task`.

    Attributes
    ----------
    task : LabelTask or None
        What labels are, once it is known.
    points : list of CurvePoint
        The curve of errors, as the journal has it.
    changed : function
        Called after every label, skip and undo.
    """

    def __init__(
        self, sheet: Sheet, order: Sequence[str], journal: Path, task: LabelTask | None = None
    ) -> None:
        self.lock = threading.RLock()
        self.task: LabelTask | None = None
        self.points: list[CurvePoint] = []
        self.changed: Callable[[], None] = lambda: None
        self._labels = dict(zip(sheet.drawn.ids, sheet.labels, strict=True))
        #: Labels and skips that can be undone: who did it, and of which row.
        self._history: list[tuple[str, str]] = []
        self._queue = RowQueue()
        self.publish(sheet, order)
        drawn = sheet.drawn
        owner = {"pool": asdict(drawn.pool), "seed": drawn.seed, "settings": drawn.settings}
        self._journal = LabelJournal(journal, owner)
        try:
            self._go_through(self._journal.entries, task)
        except BaseException:
            self._journal.close()
            raise

    def _go_through(self, entries: list[dict[str, Any]], wanted: LabelTask | None) -> None:
        """Take everything from the journal that the sheet does not have."""
        saved = [at for at, entry in enumerate(entries) if "saved" in entry]
        known: LabelTask | None = None
        for at, entry in enumerate(entries):
            if "task" in entry:
                known = LabelTask(entry["task"], tuple(entry["classes"]))
            elif "point" in entry:
                self.points.append(CurvePoint(**entry["point"]))
            elif saved and at <= saved[-1]:
                continue  # the sheet has everything before, and may have been edited since
            elif "again" in entry:
                self._queue.ask_again()
            elif entry.get("id") in self._labels:
                self._apply(entry)
        self._take_task(wanted, known)

    def _take_task(self, wanted: LabelTask | None, known: LabelTask | None) -> None:
        """Bring together what was asked for, what the journal says, and what the labels are."""
        labels = [label for label in self._labels.values() if label is not None]
        task = wanted or known or task_of_labels(labels)
        if task is None:
            return
        if wanted is not None and known is not None and wanted.kind != known.kind and labels:
            raise ValueError(
                f"the labels of the sheet are of a {known.kind}, so the task must not be "
                f"{wanted.kind}: leave it out, or start another sheet"
            )
        if task.kind == "classification":
            for name in [*(known.classes if known else ()), *map(str, labels)]:
                task = task if name in task.classes else task.with_class(name)
        else:
            task.target(labels)  # raises if one is no number
        self._set_task(task, known)

    def _set_task(self, task: LabelTask, known: LabelTask | None) -> None:
        if task != known:
            self._journal.append({"task": task.kind, "classes": list(task.classes)})
        self.task = task

    def choose_task(self, kind: str, classes: Sequence[str] = ()) -> None:
        """Say what labels are; classes may be added later, but the kind of labels stays."""
        with self.lock:
            if self.task is not None and self.task.kind != kind:
                raise ValueError(f"labels are of a {self.task.kind} already")
            if self.task is None:
                self._set_task(LabelTask.of(kind, classes), None)
                return
            task = self.task
            for name in classes:
                task = task.with_class(name)
            self._set_task(task, self.task)

    def publish(self, sheet: Sheet, new: Sequence[str]) -> None:
        """Take a sheet with new rows, which are handed out in the order of ``new``."""
        with self.lock:
            self._sheet = sheet
            self.at = {id_: place for place, id_ in enumerate(sheet.drawn.ids)}
            for id_ in new:
                self._labels.setdefault(id_, None)
            self._queue.add(id_ for id_ in new if self._labels[id_] is None)

    @property
    def sheet(self) -> Sheet:
        """The sheet as it is now."""
        with self.lock:
            sheet = self._sheet
            return replace(sheet, labels=[self._labels[id_] for id_ in sheet.drawn.ids])

    @property
    def waiting(self) -> int:
        """The number of rows that wait for a label, without skipped ones."""
        return len(self._queue)

    @property
    def skipped(self) -> int:
        """The number of skipped rows."""
        return self._queue.skipped

    @property
    def labelled(self) -> int:
        """The number of labels."""
        with self.lock:
            return sum(label is not None for label in self._labels.values())

    def next_row(self, tab: str) -> str | None:
        """Return the id of the row that a tab has, or of the next one; None if there is none."""
        with self.lock:
            return self._queue.next(tab)

    def label(self, row: str, label: object, person: str) -> None:
        """Label a row; on return, the label is on disk."""
        with self.lock:
            if self.task is None:
                raise ValueError("say first whether labels are classes or numbers")
            before, value = self._label_of(row), self.task.value(label)
            if before is not None and str(before) == str(value):  # sent twice
                return
            if before is not None:
                raise TakenError("somebody else has labelled this row in the meantime")
            self._do({"id": row, "label": value, "by": person})

    def skip(self, row: str, person: str) -> None:
        """Put a row aside."""
        with self.lock:
            if self._label_of(row) is None:
                self._do({"id": row, "skip": True, "by": person})

    def undo(self, tab: str, person: str) -> str | None:
        """Take back the last label or skip of a person, whose tab gets the row again."""
        with self.lock:
            mine = [at for at, (by, _) in enumerate(self._history) if by == person]
            if not mine:
                return None
            _, row = self._history[mine[-1]]
            self._do({"id": row, "undo": mine[-1], "by": person}, tab)
            return row

    def can_undo(self, person: str) -> bool:
        """Return whether a person has done anything that can be undone."""
        with self.lock:
            return any(by == person for by, _ in self._history)

    def ask_again(self) -> None:
        """Ask for the skipped rows again."""
        with self.lock:
            self._journal.append({"again": True})
            self._queue.ask_again()

    def release(self, tab: str) -> None:
        """Let others have the row of a tab that was closed."""
        with self.lock:
            self._queue.give_back(tab)

    def record_point(self, point: CurvePoint) -> None:
        """Add a point to the curve, and keep it for a later session."""
        with self.lock:
            self._journal.append({"point": asdict(point)})
            self.points = [one for one in self.points if one.labels != point.labels]
            self.points.append(point)

    def close(self) -> None:
        """Say in the journal that the sheet has everything, and close it."""
        with self.lock:
            self._journal.append({"saved": True})
            self._journal.close()

    def _do(self, entry: dict[str, Any], tab: str | None = None) -> None:
        """Write an entry to the journal, and only then apply it."""
        self._journal.append({**entry, "at": datetime.now(UTC).isoformat(timespec="seconds")})
        self._apply(entry, tab)
        self.changed()

    def _apply(self, entry: dict[str, Any], tab: str | None = None) -> None:
        row, person = entry["id"], str(entry.get("by", ""))
        if "undo" in entry:
            del self._history[entry["undo"]]
            self._labels[row] = None
            self._queue.hand(row, tab)
            return
        self._history.append((person, row))
        if "skip" in entry:
            self._queue.skip(row)
        else:
            self._labels[row] = entry["label"]
            self._queue.done(row)

    def _label_of(self, row: str) -> Any:
        if row not in self.at:
            raise ValueError(f"the sheet has no row {str(row)[:40]!r}")
        return self._labels[row]


#: Seconds after which a row that nobody has asked about goes to somebody else.
LEASE = 120.0


class RowQueue:
    """Ids in the order in which they are handed out, each to one tab at a time.

    A row belongs to a tab until it has a label, is skipped or given back, or until the tab has not
    been heard of for ``lease`` seconds. Skipped rows wait until :meth:`ask_again`. This is not safe
    for threads by itself.

    >>> queue = RowQueue(["a", "b"])
    >>> queue.next("one tab"), queue.next("another"), queue.next("one tab"), queue.next("third")
    ('a', 'b', 'a', None)
    >>> queue.done("a")
    >>> queue.give_back("another")
    >>> queue.next("one tab"), len(queue)
    ('b', 1)
    """

    def __init__(
        self,
        ids: Iterable[str] = (),
        lease: float = LEASE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waiting = dict.fromkeys(ids)
        self._skipped: dict[str, None] = {}
        self._leases: dict[str, tuple[str, float]] = {}  # by tab: its row, and until when
        self._lease, self._clock = lease, clock

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def skipped(self) -> int:
        """The number of skipped rows."""
        return len(self._skipped)

    def add(self, ids: Iterable[str]) -> None:
        """Add rows at the end."""
        self._waiting.update(dict.fromkeys(ids))

    def next(self, tab: str) -> str | None:
        """Return the row of a tab, or the next one that nobody has; None if there is none."""
        now = self._clock()
        taken = set()
        for other, (row, until) in list(self._leases.items()):
            if row not in self._waiting or (until < now and other != tab):
                del self._leases[other]
            elif other != tab:
                taken.add(row)
        mine = self._leases.get(tab)
        found = mine[0] if mine is not None else None
        if found is None:
            found = next((row for row in self._waiting if row not in taken), None)
        if found is not None:
            self._leases[tab] = found, now + self._lease
        return found

    def give_back(self, tab: str) -> None:
        """Let others have the row of a tab; it is the next to be handed out."""
        row, _ = self._leases.pop(tab, (None, 0.0))
        if row in self._waiting:
            self._first(row)

    def hand(self, row: str, tab: str | None) -> None:
        """Give a row that has lost its label, or was skipped, to a tab, or to whoever is next."""
        if tab is not None:
            self.give_back(tab)
            self._leases[tab] = row, self._clock() + self._lease
        self._skipped.pop(row, None)
        self._first(row)

    def _first(self, row: str) -> None:
        self._waiting.pop(row, None)
        self._waiting = {row: None, **self._waiting}

    def done(self, row: str) -> None:
        """Remove a row that has a label."""
        self._waiting.pop(row, None)
        self._skipped.pop(row, None)

    def skip(self, row: str) -> None:
        """Put a row aside."""
        if row in self._waiting:
            del self._waiting[row]
            self._skipped[row] = None

    def ask_again(self) -> None:
        """Let skipped rows wait again, after all others."""
        self._waiting.update(self._skipped)
        self._skipped = {}
