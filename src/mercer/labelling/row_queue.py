"""Rows that wait for a label, and who has which of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

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
