"""Work that is done in the background, again whenever there is something new."""

from __future__ import annotations

import threading
from collections.abc import Callable


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
