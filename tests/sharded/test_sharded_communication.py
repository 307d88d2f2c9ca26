"""What shards send: triangles, points and vectors, and less than a sum where that is the point."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRanker, KernelRegressor, Landmarks, RandomFeatures

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 8))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(1500)
PLAIN = {"scale": None, "metric": None, "intervals": None, "random_state": 0, "shards": 4}


def exchanges(model):
    return {e.what: e for e in model.communication_.exchanges}


def test_a_sum_sends_triangles_and_gets_points():
    model = KernelRegressor(Gaussian(3.0), Landmarks(300), 1e-4, **PLAIN).fit(X, Y)
    sent = exchanges(model)
    vectors = 3 * 300  # t and the sums of h over all rows, and over those with a label
    assert sent["moments"].from_shard == 300 * 301 // 2 + vectors + 2 + 4
    assert 300 * 8 <= sent["basis"].to_shard <= 300 * 8 + 5


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")  # Newton rounds diverge here
@pytest.mark.parametrize("combine", ["average", "newton", "conjugate"])
@pytest.mark.parametrize("basis", [Landmarks(300), RandomFeatures(300)], ids=str)
def test_an_open_alpha_takes_less_than_the_sum(basis, combine):
    kernel = Gaussian(3.0)
    exact = KernelRegressor(kernel, basis, **PLAIN).fit(X, Y)
    model = KernelRegressor(kernel, basis, combine=combine, rounds=8, **PLAIN).fit(X, Y)
    assert model.communication_.numbers < 0.6 * exact.communication_.numbers
    fixed = KernelRegressor(kernel, basis, 1e-4, **PLAIN).fit(X, Y)
    less = KernelRegressor(kernel, basis, 1e-4, combine=combine, rounds=8, **PLAIN).fit(X, Y)
    assert less.communication_.numbers < 0.4 * fixed.communication_.numbers


@pytest.mark.parametrize("combine", ["average", "conjugate"])
@pytest.mark.parametrize("selection", ["auto", "gcv", "kfold"])
def test_the_alpha_is_that_of_a_sum_with_half_of_the_functions(combine, selection):
    settings = {**PLAIN, "selection": selection}
    model = KernelRegressor(Gaussian(3.0), Landmarks(300), combine=combine, **settings).fit(X, Y)
    pilot = KernelRegressor(Gaussian(3.0), Landmarks(150), **settings).fit(X, Y)
    assert model.alpha_ == pilot.alpha_
    assert model.cv_results_["criterion"] == pilot.cv_results_["criterion"]


def test_a_ranking_chooses_in_the_same_way():
    settings = {name: value for name, value in PLAIN.items() if name != "intervals"}
    queries = np.arange(len(X)) % 50
    model = KernelRanker(Gaussian(3.0), Landmarks(200), combine="average", **settings)
    pilot = KernelRanker(Gaussian(3.0), Landmarks(100), **settings)
    assert model.fit(X, Y, queries).alpha_ == pilot.fit(X, Y, queries).alpha_
