"""Run tasks in the calling thread: the engine of a fit in one place.

The task itself uses all cores, so it is not limited to one core here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mercer.contracts import ShardProgress
from mercer.engines.tree import tree_sum


class InPlaceEngine:
    """Runs tasks one after another in the calling thread.

    Examples
    --------
    >>> InPlaceEngine().map(pow, [1, 2, 3], 2)
    [1, 4, 9]
    """

    progress: ShardProgress | None = None

    @property
    def width(self) -> int:
        """The number of tasks that run at a time."""
        return 1

    def place(self, items: Sequence[Any]) -> list[Any]:
        """Return the items: tasks run in this process."""
        return list(items)

    def share(self, value: Any) -> Any:
        """Return the value: memory is shared."""
        return value

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
        """Run a task over items; the results stay in this process."""
        return self.map(task, items, *common)

    def map(
        self,
        task: Callable[..., Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
        light: bool = False,
    ) -> list[Any]:
        """Run a task over items; return the results, in the order of the items."""
        return list(self._results(task, items, common, label))

    def reduce(
        self,
        task: Callable[..., Any],
        add: Callable[[Any, Any], Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
    ) -> Any:
        """Run a task over items and add the results as they come, as a tree of fixed shape."""
        return tree_sum(self._results(task, items, common, label), add)

    def _results(
        self, task: Callable[..., Any], items: Sequence[Any], common: tuple[Any, ...], label: str
    ) -> Iterator[Any]:
        """Yield results in order."""
        for done, item in enumerate(items, start=1):
            yield task(item, *common)
            self._report(label, done, len(items))

    def _report(self, label: str, done: int, total: int) -> None:
        """Report how many items are done."""
        if self.progress is not None and label:
            self.progress(label, done, total)
