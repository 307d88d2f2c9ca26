"""A Dask cluster passes the checks of engines, and every combination those of combinations."""

import pytest

from mercer import Average, ConjugateRounds, ExactSum, NewtonRounds
from mercer.engines.dask_engine import DaskEngine
from mercer.testing import COMBINATION_CHECKS, ENGINE_CHECKS


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__)
def test_a_cluster_passes(check, client):
    check(DaskEngine(client))


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
