"""Items of a cluster in bundles: a few items a task, because sending a task takes milliseconds.

Bundles are consecutive items, and as many as a power of two: the sum over a bundle is then a branch
of the tree of all items (:func:`~mercer.engines.in_process.tree_sum`), whatever their size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mercer.contracts import T
from mercer.engines.in_process import tree_sum

#: Items are bundled as long as every thread of the cluster has this many bundles: workers stay
#: busy to the end, and a lost worker costs little.
BUNDLES = 8


def bundle_size(items: int, threads: int) -> int:
    """Return how many items to bundle: a power of two.

    >>> [bundle_size(items, threads=2) for items in (20, 32, 100, 1000)]
    [1, 2, 4, 32]
    """
    return 1 << max(0, (items // (BUNDLES * threads)).bit_length() - 1)


@dataclass(frozen=True)
class Bundled:
    """An item on a cluster: where it is in a bundle, which is a future of a list.

    Neighboring bundles prefer the same worker, so that most sums need nothing from other workers.
    """

    bundle: Any
    place: int
    size: int  # of full bundles
    worker: str  # the address that tasks prefer; "" for any


def workers_of(bundles: int, threads: dict[str, int]) -> list[str]:
    """Return a worker for each bundle: neighbors together, as many as it has threads for.

    >>> workers_of(5, {"a": 1, "b": 2})
    ['a', 'a', 'b', 'b', 'b']
    """
    every = [address for address, number in threads.items() for _ in range(number)] or [""]
    return [every[number * len(every) // bundles] for number in range(bundles)]


@dataclass(frozen=True)
class Group:
    """Items of one task: the bundles that hold them, where each item is, and a worker."""

    bundles: list[Any]
    places: list[tuple[int, int]]
    worker: str

    @classmethod
    def of(cls, items: Sequence[Any]) -> Group:
        """Return the group of some items; an item that was not placed is sent by value."""
        bundles: list[Any] = []
        numbers: dict[int, int] = {}
        places = []
        for item in items:
            known = isinstance(item, Bundled)
            bundle = item.bundle if known else [item]
            if id(bundle) not in numbers:
                numbers[id(bundle)] = len(bundles)
                bundles.append(bundle)
            places.append((numbers[id(bundle)], item.place if known else 0))
        first = items[0]
        return cls(bundles, places, first.worker if isinstance(first, Bundled) else "")


def grouped(items: Sequence[Any]) -> tuple[list[list[int]], int]:
    """Return the indices of items that are bundled together, and the size of full bundles."""
    size = max((item.size for item in items if isinstance(item, Bundled)), default=1)
    count = len(items)
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)], size


def listed(*items: T) -> list[T]:
    """Task: return a bundle."""
    return list(items)


def results_of(
    bundles: list[Any], places: list[tuple[int, int]], task: Callable[..., T], *common: object
) -> list[T]:
    """Task: return the results of a task, item by item."""
    return [task(bundles[bundle][place], *common) for bundle, place in places]


def sum_of(
    bundles: list[Any],
    places: list[tuple[int, int]],
    task: Callable[..., T],
    add: Callable[[T, T], T],
    *common: object,
) -> T:
    """Task: return the sum of the results of a task."""
    parts = (task(bundles[bundle][place], *common) for bundle, place in places)
    return tree_sum(parts, add)
