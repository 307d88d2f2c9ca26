"""Items in bundles: powers of two, neighbors on one worker, sums as the tree of all items."""

import pytest

from mercer.engines import tree_sum
from mercer.engines.bundles import (
    BUNDLES,
    Bundled,
    Group,
    bundle_size,
    grouped,
    results_of,
    sum_of,
    workers_of,
)
from mercer.testing.engine_checks import as_letter, bracket


@pytest.mark.parametrize("threads", [1, 2, 7, 100])
@pytest.mark.parametrize("items", [1, 3, 16, 100, 1000, 4097])
def test_every_thread_has_enough_bundles(items, threads):
    size = bundle_size(items, threads)
    assert size & (size - 1) == 0
    assert size == 1 or items >= BUNDLES * threads * size
    assert items < 2 * BUNDLES * threads * size


def test_neighbors_share_a_worker_and_every_worker_has_its_share():
    found = workers_of(10, {"a": 1, "b": 3, "c": 1})
    assert found == sorted(found)
    assert [found.count(name) for name in "abc"] == [2, 6, 2]
    assert workers_of(3, {}) == ["", "", ""]


def bundled(values, size):
    """Return values as an engine places them, with lists for futures."""
    lists = [values[start : start + size] for start in range(0, len(values), size)]
    return [Bundled(part, place, size, "") for part in lists for place in range(len(part))]


@pytest.mark.parametrize("dropped", [[], [0], [2, 5], [1, 2, 3, 4, 5]])
@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 13, 21])
def test_sums_of_bundles_are_branches_of_the_tree(count, size, dropped):
    """Also if shards without rows were dropped, so that bundles are not whole."""
    items = bundled(list(range(count)), size)
    kept = [number for number in range(count) if number not in dropped] or [0]
    items = [items[number] for number in kept]
    groups, found = grouped(items)
    assert found == size
    work = [Group.of([items[at] for at in group]) for group in groups]
    sums = [sum_of(group.bundles, group.places, as_letter, bracket) for group in work]
    assert tree_sum(sums, bracket) == tree_sum(map(as_letter, kept), bracket)
    results = [results_of(group.bundles, group.places, as_letter) for group in work]
    assert [letter for some in results for letter in some] == [as_letter(number) for number in kept]


def test_items_that_were_not_placed_are_sent_by_value():
    group = Group.of([3, 4])
    assert results_of(group.bundles, group.places, as_letter) == ["d", "e"]
