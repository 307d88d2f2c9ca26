"""Run tasks in the calling thread: the engine of a fit in one place, and the base of threads.

The task itself uses all cores, so it is not limited to one core here. All engines add as a tree
whose shape depends only on the number of parts: neighbors, then neighboring sums,
``((0 + 1) + (2 + 3)) + 4``. Rounding is then the same wherever the parts were computed and in
whatever order they arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from mercer.contracts import ShardProgress, T


def tree_sum(parts: Iterable[T], add: Callable[[T, T], T]) -> T:
    """Add parts as they arrive, in order; at most as many are held as the height of the tree.

    >>> tree_sum("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, T]] = []  # sums of neighbors, with the number of parts in each
    for part in parts:
        count = 1
        while held and held[-1][0] == count:
            part = add(held.pop()[1], part)
            count *= 2
        held.append((count, part))
    if not held:
        raise ValueError("a sum needs at least one part")
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total


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

    def place(self, items: Sequence[object]) -> list[Any]:
        """Return the items: tasks run in this process."""
        return list(items)

    def share(self, value: object) -> Any:
        """Return the value: memory is shared."""
        return value

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: object) -> list[Any]:
        """Run a task over items; the results stay in this process."""
        return self.map(task, items, *common)

    def map(
        self,
        task: Callable[..., T],
        items: Sequence[object],
        *common: object,
        label: str = "",
        light: bool = False,
    ) -> list[T]:
        """Run a task over items; return the results, in the order of the items."""
        return list(self._results(task, items, common, label))

    def reduce(
        self,
        task: Callable[..., T],
        add: Callable[[T, T], T],
        items: Sequence[object],
        *common: object,
        label: str = "",
    ) -> T:
        """Run a task over items and add the results as they come, as a tree of fixed shape."""
        return tree_sum(self._results(task, items, common, label), add)

    def _results(
        self, task: Callable[..., T], items: Sequence[Any], common: tuple[Any, ...], label: str
    ) -> Iterator[T]:
        """Yield results in order."""
        for done, item in enumerate(items, start=1):
            yield task(item, *common)
            self._report(label, done, len(items))

    def _report(self, label: str, done: int, total: int) -> None:
        """Report how many items are done."""
        if self.progress is not None and label:
            self.progress(label, done, total)
