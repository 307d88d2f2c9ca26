"""Sums as a tree whose shape depends on the number of parts alone.

Neighbors are added, then neighboring sums: ``((0 + 1) + (2 + 3)) + 4``. Rounding is then the same
whoever computed which part, and in whatever order parts came in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Part = TypeVar("Part")


def tree_sum(parts: Iterable[Part], add: Callable[[Part, Part], Part]) -> Part:
    """Add parts as they come, in their order; no more of them are held than the tree is high.

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
