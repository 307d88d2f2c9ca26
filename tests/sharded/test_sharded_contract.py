"""A Dask cluster passes the checks of engines, and every combination those of combinations."""

import operator
from itertools import pairwise

import pytest

from mercer import Average, ConjugateRounds, ExactSum, NewtonRounds
from mercer.engines import tree_sum
from mercer.engines.dask_engine import DaskEngine
from mercer.testing import COMBINATION_CHECKS, ENGINE_CHECKS
from mercer.testing.engine_checks import as_vector, irrational, total_of


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__)
def test_a_cluster_passes(check, client):
    check(DaskEngine(client))


def test_bundles_change_nothing(client):
    """Eighty items on three threads are bundled by two; those that are left add up the same."""
    engine = DaskEngine(client)
    placed = engine.place(list(range(80)))
    assert {item.size for item in placed} == {2}
    assert len({item.worker for item in placed}) == 3
    for kept in (range(80), range(5, 80, 3)):
        items = [placed[number] for number in kept]
        wanted = tree_sum((irrational(number, 0.1) for number in kept), operator.add)
        assert engine.reduce(irrational, operator.add, items, 0.1) == wanted
        held = engine.hold(as_vector, items)
        totals = [3.0 + 3.0 * number for number in kept]
        assert engine.map(total_of, held, light=True) == totals  # some are not computed yet
        assert engine.map(total_of, held, light=True) == totals
        assert engine.map(total_of, held[1::2]) == totals[1::2]


def test_neighbors_stay_on_one_worker(client):
    engine = DaskEngine(client)
    placed = engine.place(list(range(30)))
    held = engine.hold(as_vector, placed)
    engine.map(total_of, held)
    at = client.who_has([item.bundle for item in placed])
    where = [at[item.bundle.key][0] for item in placed]
    assert sum(left != right for left, right in pairwise(where)) == 2


@pytest.mark.parametrize("check", COMBINATION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "combination",
    [
        ExactSum(),
        Average(),
        Average(local_basis=True),
        NewtonRounds(),
        NewtonRounds(rounds=3, start="zero"),
        NewtonRounds(rounds=3, start="zero", unstopped=True),
        ConjugateRounds(),
    ],
    ids=str,
)
def test_a_combination_passes(check, combination):
    check(combination)
