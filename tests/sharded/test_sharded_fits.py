"""What is true of fits over shards, for any number of them, here and on a cluster."""

import warnings

import numpy as np
import pytest

from cases import regressor
from mercer import (
    KCGM,
    Average,
    ConjugateRounds,
    Gaussian,
    GradientDescent,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    MetricSearch,
    NewtonRounds,
    PreconditionedCG,
    RandomFeatures,
    Sketch,
    StopAfter,
)
from mercer.contracts import Status
from mercer.validation import MercerWarning
from pairs import over_each, over_pairs
from shard_cases import CLASSES, NEW, POINTS, WEIGHT, X, Y, labels

KERNEL, ALPHA = Gaussian(1.5), 1e-4
SHARDS = [1, 2, 7, 40]
BASES = {"landmarks": Landmarks(sampling=POINTS), "features": RandomFeatures(40, random_state=5)}


def model(basis="landmarks", cls=KernelRegressor, **settings):
    chosen = BASES[basis] if isinstance(basis, str) and basis in BASES else basis
    settings = {"alpha": ALPHA, "dtype": "float64", "random_state": 0, **settings}
    return cls(**{"kernel": KERNEL, "basis": chosen, **settings})


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


@over_pairs(basis=BASES, shards=SHARDS, engine=["threads", "dask"], indirect=["engine"])
def test_the_sum_is_the_fit_of_all_rows(shards, basis, engine):
    whole = model(basis).fit(X, Y, WEIGHT)
    parts = model(basis, engine=engine).fit(X, Y, WEIGHT, shard_labels=labels(shards))
    assert relative(parts.predict(NEW), whole.predict(NEW)) < 1e-8
    assert relative(parts.dual_coef_, whole.dual_coef_) < 1e-8
    assert parts.communication_.shards == shards


@over_each(shards=SHARDS, engine=["threads", "dask"], indirect=["engine"])
def test_classes_that_a_shard_lacks_are_known_to_it(shards, engine):
    whole = model(cls=KernelClassifier).fit(X, CLASSES)
    split = labels(shards)
    parts = model(cls=KernelClassifier, engine=engine).fit(X, CLASSES, shard_labels=split)
    np.testing.assert_allclose(
        parts.decision_function(NEW), whole.decision_function(NEW), rtol=1e-6, atol=1e-8
    )
    assert parts.classes_.tolist() == ["a", "b", "c"]
    if shards > 2:
        assert "a" not in CLASSES[split == shards - 1]
        averaged = model(cls=KernelClassifier, engine=engine, combine="average", alpha=1e-2)
        assert averaged.fit(X, CLASSES, shard_labels=split).score(X, CLASSES) > 0.6


@over_pairs(basis=BASES, shards=SHARDS, engine=["threads", "dask"], indirect=["engine"])
def test_conjugate_rounds_reach_the_fit_of_all_rows(shards, basis, engine):
    whole = model(basis, alpha=1e-1).fit(X, Y, WEIGHT)
    parts = model(basis, alpha=1e-1, combine=ConjugateRounds(40, 1e-10), engine=engine)
    parts.fit(X, Y, WEIGHT, shard_labels=labels(shards))
    assert relative(parts.predict(NEW), whole.predict(NEW)) < 1e-8
    assert parts.fit_.solution.status is Status.CONVERGED, parts.fit_.solution.reason


@pytest.mark.parametrize("intercept", [True, False])
def test_the_average_is_that_of_the_shards_models(intercept, engine):
    split = labels(7)
    found = model(combine="average", engine=engine, fit_intercept=intercept)
    found.fit(X, Y, WEIGHT, shard_labels=split)
    wanted = np.zeros((len(NEW), 2))
    for shard in range(7):
        at = split == shard
        one = model(fit_intercept=intercept).fit(X[at], Y[at], WEIGHT[at])
        wanted += WEIGHT[at].sum() / WEIGHT.sum() * one.predict(NEW)
    assert relative(found.predict(NEW), wanted) < 1e-8


@pytest.mark.parametrize("basis", ["full", Landmarks(20), Sketch(20)])
def test_functions_of_its_own_are_averaged_as_predictors(basis, engine):
    split = labels(4)
    found = model(basis, combine=Average(local_basis=True), engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)  # one shard has fewer rows than functions
        found.fit(X, Y, shard_labels=split)
    if basis == "full":
        wanted = np.zeros((len(NEW), 2))
        for shard in range(4):
            at = split == shard
            wanted += at.mean() * model("full").fit(X[at], Y[at]).predict(NEW)
        assert relative(found.predict(NEW), wanted) < 1e-8
    assert found.basis_.size == len(X) if basis == "full" else found.basis_.size > 40
    assert found.score(X, Y) > 0.5


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_rounds_start_at_the_average(engine):
    split = {"shard_labels": labels(40)}
    average = model(combine="average", engine=engine).fit(X, Y, **split)
    newton = model(combine="newton", engine=engine).fit(X, Y, **split)
    assert newton.fit_.solution.status is Status.DIVERGED  # at once, and the start is returned
    assert newton.n_iter_ == 1
    assert relative(newton.predict(NEW), average.predict(NEW)) < 1e-7


def test_a_newton_round_from_zero_is_a_newton_round(engine):
    split = labels(3)
    split[split == 0] = 1
    found = model(combine=NewtonRounds(1, start="zero"), fit_intercept=False, alpha=0.1)
    found.set_params(engine=engine)
    found.fit(X, Y - [5.0, -300.0], shard_labels=split)
    H, b, penalty = {}, 0.0, 0.1 * KERNEL(POINTS)
    for shard in (1, 2):
        at = split == shard
        K = KERNEL(X[at], POINTS)
        H[shard] = K.T @ K / at.sum() + penalty
        b = b + at.mean() * K.T @ (Y - [5.0, -300.0])[at] / at.sum()
    c = sum((split == shard).mean() * np.linalg.solve(H[shard], b) for shard in H)
    assert relative(found.predict(NEW), KERNEL(NEW, POINTS) @ c) < 1e-6


COMBINATIONS = ["sum", "average", "newton", "conjugate", Average(local_basis=True)]


@over_each(combine=COMBINATIONS, shards=[1, 2, 7, 40])
@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_a_cluster_gives_the_same_bits(combine, shards, client):
    settings = {"combine": combine, "shards": shards, "rounds": 3, "dtype": "auto"}
    here = model("landmarks", **settings).fit(X, Y)
    there = model("landmarks", **settings, engine=client).fit(X, Y)
    assert np.array_equal(here.dual_coef_, there.dual_coef_)
    assert np.array_equal(here.predict(NEW), there.predict(NEW))


@pytest.mark.parametrize(
    "solver",
    [KCGM(StopAfter(3)), PreconditionedCG(1e-8), "cutoff", GradientDescent(StopAfter(50))],
    ids=str,
)
def test_shards_may_use_other_solvers(solver):
    split = labels(3)
    split[split == 0] = 1
    found = model(solver=solver, combine="average").fit(X, Y, shard_labels=split)
    assert found.score(X, Y) > 0.5
    if not isinstance(solver, PreconditionedCG):
        summed = model(solver=solver).fit(X, Y, shard_labels=split)
        alone = model(solver=solver).fit(X, Y)
        assert relative(summed.predict(NEW), alone.predict(NEW)) < 1e-6


@over_each(combine=["sum", "average", "newton", "conjugate"], kernel=["gaussian", Gaussian(1.5)])
def test_alpha_is_chosen_for_all_rows(combine, kernel):
    found = model(combine=combine, shards=4, alpha="auto", kernel=kernel, basis=Landmarks(50))
    found.fit(X, Y[:, 0])
    whole = model(alpha="auto", kernel=kernel, basis=Landmarks(50)).fit(X, Y[:, 0])
    assert whole.alpha_ / 30 < found.alpha_ < whole.alpha_ * 30
    assert found.cv_results_["alpha"].size == 20
    assert found.score(X, Y[:, 0]) > 0.9


def test_folds_of_shards_add_up(engine):
    found = model(alpha="auto", selection="kfold", shards=5, engine=engine).fit(X, Y)
    whole = model(alpha="auto", selection="kfold").fit(X, Y)
    assert len(found.fit_.folds) == 5
    assert sum(fold.rows for fold in found.fit_.folds) == len(X)
    assert whole.alpha_ / 10 < found.alpha_ < whole.alpha_ * 10


def test_the_median_distance_knows_of_shards_that_lie_apart():
    far = X + 40.0 * (np.arange(len(X)) % 3)[:, None]
    split = np.arange(len(X)) % 3
    found = regressor(basis=Landmarks(30), alpha=1e-3, random_state=0)
    whole = found.fit(far, Y).kernel_.bandwidth
    shards = found.fit(far, Y, shard_labels=split).kernel_.bandwidth
    assert whole / 2 < shards < whole * 2


def test_a_search_draws_and_finds_what_it_does_in_one_place():
    search = MetricSearch(sample=300, rounds=1, n_components=30)
    found = KernelRegressor(
        basis=Landmarks(30), alpha=1e-3, metric=search, random_state=0, shuffle=False
    )
    whole = found.fit(X, Y)
    tried, points, wanted = whole.search_results_, whole.basis_.landmarks_, whole.predict(NEW)
    parts = found.set_params(shards=3).fit(X, Y)
    np.testing.assert_allclose(parts.search_results_["error"], tried["error"], rtol=1e-6)
    assert {*map(tuple, parts.basis_.landmarks_)} == {*map(tuple, points)}
    assert relative(parts.predict(NEW), wanted) < 1e-8


def test_rows_can_be_added_to_a_sum():
    found = model(shards=3).fit(X[:400], Y[:400]).partial_fit(X[400:], Y[400:])
    assert relative(found.predict(NEW), model().fit(X, Y).predict(NEW)) < 1e-8


def test_more_shards_than_rows_leave_some_empty():
    found = model(Landmarks(10), shards=40).fit(X[:30], Y[:30])
    assert found.communication_.shards == 30


def test_the_summary_tells_of_shards():
    found = model(shards=3, combine="conjugate").fit(X, Y)
    assert "conjugate rounds" in str(found.summary())
    assert "3 (conjugate rounds;" in str(found.summary())
    assert "exchange" in str(found.communication_)
