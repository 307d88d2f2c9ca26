"""Sums as a tree whose shape depends only on the number of parts.

Neighbors are added, then neighboring sums: ``((0 + 1) + (2 + 3)) + 4``. Rounding is then the same
wherever the parts were computed and in whatever order they arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Part = TypeVar("Part")


def tree_sum(parts: Iterable[Part], add: Callable[[Part, Part], Part]) -> Part:
    """Add parts as they arrive, in order; at most as many are held as the height of the tree.

    >>> tree_sum("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, Part]] = []  # sums of neighbors, with the number of parts in each
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
