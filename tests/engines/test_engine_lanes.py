"""Lanes: results depend on the number of lanes alone, and errors come out."""

import threading

import pytest

from mercer.engines import Lanes, available_cores


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_items_go_to_lanes_in_turn_and_in_order(count):
    lanes = Lanes(list, count).run(range(20), lambda items, i: items.append(i))
    assert lanes == [list(range(lane, 20, count)) for lane in range(count)]


@pytest.mark.parametrize("count", [1, 3])
def test_done_is_called_in_order_in_the_calling_thread(count):
    seen = []

    def done(item):
        seen.append((item, threading.current_thread() is threading.main_thread()))

    Lanes(list, count).run(range(10), lambda items, i: None, done)
    assert seen == [(i, True) for i in range(10)]


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_error_is_raised_and_stops_the_rest(count):
    def task(items, i):
        items.append(i)
        if i == 4:
            raise ValueError("item 4")

    read = []

    def items():
        for i in range(1000):
            read.append(i)
            yield i

    with pytest.raises(ValueError, match="item 4"):
        Lanes(list, count).run(items(), task)
    assert len(read) < 4 + 3 * count + 2


def test_an_error_of_the_stream_is_raised():
    def items():
        yield 1
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        Lanes(list, 2).run(items(), lambda items, i: None)


def test_without_items_the_accumulators_are_new():
    assert Lanes(list, 2).run([], lambda items, i: None) == [[], []]


def test_there_is_at_least_one_core():
    assert Lanes(list).count == available_cores() >= 1
