"""The simulated cluster, against answers computed by hand."""

import numpy as np
import pytest
from benchmarks.cluster_events import Link, Simulation
from benchmarks.cluster_simulation import (
    BUILD,
    ROUNDS,
    ROWS,
    SHARDS,
    WORKERS,
    Rates,
    draw,
    simulated,
)

#: Powers of two, so that sums are exact: a row takes 1/64 s, an addition of one number 1/1024 s.
RATES = Rates(
    functions=4,
    columns=2,
    row=2.0**-6,
    number=2.0**-10,
    cube=2.0**-6,
    driver_cube=2.0**-5,
    link=Link(message=0.0, bandwidth=2.0**60, latency=0.5),
)


def test_a_worker_does_one_task_at_a_time_in_the_order_given():
    cluster = Simulation(Link(0.0, 1.0, 0.0))
    first, second = cluster.add(1, 2.0), cluster.add(1, 3.0)
    third = cluster.add(1, 1.0, [(first, 0.0)])
    ends = cluster.run()
    assert (ends[first], ends[second], ends[third]) == (2.0, 5.0, 6.0)


def test_a_link_sends_one_message_at_a_time():
    cluster = Simulation(Link(message=0.25, bandwidth=8.0, latency=1.0))
    source = cluster.add(0, 1.0)
    readers = [cluster.add(worker, 0.5, [(source, 16.0)]) for worker in (1, 2)]
    ends = cluster.run()
    # A message takes .25 + 16 / 8 s of the sender, 1 s on the way, and the task half a second.
    assert [ends[reader] for reader in readers] == [1.0 + 2.25 + 1.5, 1.0 + 4.5 + 1.5]


def test_a_sum_over_two_workers_by_hand():
    """Basis and tasks arrive after a latency; two triangles of 10 numbers and 4 vectors are added.

    With two workers, the basis of the second comes from the first, after two latencies.
    """
    rows = 64 * SHARDS * 2  # a second for each shard
    triangle = 4 * 5 / 2 + 4 * 4
    local = 2 * 0.5 + SHARDS * 1.0 + (SHARDS - 1) * triangle * RATES.number
    moved = 0.5  # the triangle of the second worker
    total = local + moved + triangle * RATES.number + 0.5 + RATES.driver_cube * 4**3
    assert simulated("sum", rows, 2, RATES) == pytest.approx(total, rel=1e-12)


def test_an_average_and_rounds_by_hand():
    rows = 64 * SHARDS
    triangle = 4 * 5 / 2 + 4 * 4
    local = 0.5 + SHARDS * 1.0 + (SHARDS - 1) * triangle * RATES.number + 2 * RATES.cube * 4**3
    assert simulated("average", rows, 1, RATES) == pytest.approx(local + 0.5, rel=1e-12)
    product = 2 * 4**2 * RATES.number
    expected = local + 0.5 + 2 * ROUNDS * (1.0 + product)
    assert simulated("rounds", rows, 1, RATES) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("combine", BUILD)
def test_more_workers_help_until_messages_are_all(combine):
    rates = Rates(200, 5, 1e-5, 1e-9, 1e-10, 1e-10, Link(1e-3, 1e9, 1e-3))
    seconds = [simulated(combine, 1e7, workers, rates) for workers in (1, 10)]
    assert 5 < seconds[0] / seconds[1] < 10
    assert simulated(combine, 1e4, 300, rates) > simulated(combine, 1e4, 3, rates)


def test_the_picture_is_drawn(tmp_path):
    found = {
        (combine, rows, workers): float(rows) / workers
        for combine in BUILD
        for rows in ROWS
        for workers in WORKERS
    }
    draw(found, RATES, tmp_path)
    (picture,) = tmp_path.iterdir()
    assert np.frombuffer(picture.read_bytes()[:8], dtype=np.uint8)[1:4].tobytes() == b"PNG"
