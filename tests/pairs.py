"""All pairs of factors instead of their full product: the cases of a test that can tell."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Collection, Iterable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest


def all_pairs(
    *factors: Iterable[Any], allowed: Callable[..., bool] | None = None, strength: int = 2
) -> list[tuple[Any, ...]]:
    """Return few rows of a product in which any two values of two factors meet at least once.

    A fault usually needs one value, or two together: 17 problems x 5 bases x 2 dtypes x 6 alphas
    are 1,020 rows, and 102 of them hold every pair. ``allowed(*row)`` leaves rows out;
    ``strength=1`` asks for every value once. Greedy: the next row is one that adds the most pairs.
    Of those that add as many it is the first in an order that was shuffled with a fixed seed, so
    that values are used about equally often, and the same factors always give the same rows.
    """
    values = [list(factor) for factor in factors]
    rows = [
        row  # of positions: values need not be hashable
        for row in product(*(range(len(factor)) for factor in values))
        if allowed is None or allowed(*(values[i][at] for i, at in enumerate(row)))
    ]
    order = random.Random(0).sample(range(len(rows)), len(rows))
    columns = list(combinations(range(len(factors)), strength))
    met = [{(at, tuple(rows[number][i] for i in at)) for at in columns} for number in order]
    missing = set().union(*met)
    # What a row adds only shrinks: an old count that is still the largest need not be renewed.
    waiting = [(-len(pairs), place) for place, pairs in enumerate(met)]
    heapq.heapify(waiting)
    chosen = []
    while missing:
        place = waiting[0][1]
        now = (-len(met[place] & missing), place)
        if now == waiting[0]:
            heapq.heappop(waiting)
            chosen.append(order[place])
            missing -= met[place]
        else:
            heapq.heapreplace(waiting, now)
    return [tuple(values[i][at] for i, at in enumerate(rows[number])) for number in sorted(chosen)]


def over_pairs(
    allowed: Callable[..., bool] | None = None,
    strength: int = 2,
    indirect: Collection[str] = (),
    **factors: Iterable[Any],
) -> pytest.MarkDecorator:
    """Parametrize a test with all pairs of the factors, each by the name of its argument.

    Those that are ``indirect`` are the parameters of fixtures.
    """
    rows = all_pairs(*factors.values(), allowed=allowed, strength=strength)
    return pytest.mark.parametrize(tuple(factors), rows, ids=_name, indirect=list(indirect))


def over_each(**factors: Any) -> pytest.MarkDecorator:
    """Parametrize a test with every value of every factor, for factors that do not meet."""
    return over_pairs(strength=1, **factors)


def _name(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "array"
    return getattr(value, "__name__", str(value)).replace("\n", " ")
