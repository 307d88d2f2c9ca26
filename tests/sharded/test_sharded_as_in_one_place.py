"""What works in one place works over shards, on threads and on a cluster, with the same result."""

import numpy as np
import pytest

from mercer import (
    KCGM,
    Average,
    Gaussian,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LeaveOneOut,
    MercerWarning,
    NewtonRounds,
    PreconditionedCG,
    RandomFeatures,
    StopAfter,
)
from mercer.contracts import Status
from pairs import over_each, over_pairs
from shard_cases import NEW, POINTS, WEIGHT, X, Y, labels

KERNEL = Gaussian(1.5)
BASES = {"landmarks": Landmarks(sampling=POINTS), "features": RandomFeatures(40, random_state=5)}
ENGINES = {"engine": ["threads", "dask"], "indirect": ["engine"]}
EXACT = PreconditionedCG(tolerance=1e-11)
PARTLY = np.where(np.arange(len(X)) % 5 == 0, np.nan, Y[:, 0])
QUERY = np.arange(len(X)) * 7 % 30


def model(basis="landmarks", cls=KernelRegressor, **settings):
    settings = {"alpha": 1e-4, "dtype": "float64", "random_state": 0, **settings}
    return cls(kernel=KERNEL, basis=BASES.get(basis, basis), **settings)


def assert_same(parts, whole, tolerance=1e-8):
    found, wanted = parts.predict(NEW), whole.predict(NEW)
    assert np.linalg.norm(found - wanted) < tolerance * np.linalg.norm(wanted)


@over_pairs(basis=BASES, shards=[1, 7, 40], **ENGINES)
def test_leave_one_out(basis, shards, engine):
    settings = {"alpha": "auto", "alphas": np.geomspace(1e-7, 1e-1, 7), "selection": "loo"}
    whole = model(basis, **settings).fit(X, Y, WEIGHT)
    parts = model(basis, engine=engine, **settings)
    parts.fit(X, Y, WEIGHT, shard_labels=labels(shards))
    assert_same(parts, whole)
    np.testing.assert_allclose(
        parts.cv_results_["mean_squared_error"], whole.cv_results_["mean_squared_error"], rtol=1e-8
    )
    assert "leave-one-out errors" in str(parts.communication_)


def test_leave_one_out_on_a_sample(engine):
    """A sample is of all rows, whichever shard they are in."""
    settings = {"alpha": "auto", "alphas": np.geomspace(1e-7, 1e-1, 7)}
    settings["selection"] = LeaveOneOut(sample=90)
    whole = model(**settings).fit(X, Y, WEIGHT)
    parts = model(engine=engine, **settings).fit(X, Y, WEIGHT, shard_labels=labels(7))
    np.testing.assert_allclose(
        parts.cv_results_["mean_squared_error"], whole.cv_results_["mean_squared_error"], rtol=1e-8
    )


@over_pairs(basis=BASES, cut=["between queries", "within queries"], **ENGINES)
def test_leave_one_query_out(basis, cut, engine):
    settings = {"alpha": "auto", "alphas": np.geomspace(1e-6, 1e-1, 6), "selection": "loo"}
    whole = model(basis, KernelRanker, **settings).fit(X, Y[:, 0], QUERY, WEIGHT)
    split = QUERY % 4 if cut == "between queries" else labels(7)
    parts = model(basis, KernelRanker, engine=engine, **settings)
    parts.fit(X, Y[:, 0], QUERY, WEIGHT, shard_labels=split)
    assert_same(parts, whole)
    np.testing.assert_allclose(
        parts.cv_results_["mean_squared_error"], whole.cv_results_["mean_squared_error"], rtol=1e-7
    )


@over_pairs(basis=BASES, shards=[1, 7, 40], keep=[True, False], intercept=[True, False], **ENGINES)
def test_products(basis, shards, keep, intercept, engine):
    solver = PreconditionedCG(tolerance=1e-11, keep=keep)
    whole = model(basis, fit_intercept=intercept).fit(X, Y, WEIGHT)
    settings = {"solver": solver, "fit_intercept": intercept, "intervals": None}
    parts = model(basis, engine=engine, **settings)
    parts.fit(X, Y, WEIGHT, shard_labels=labels(shards))
    assert_same(parts, whole)
    assert parts.fit_.solution.status is Status.CONVERGED
    steps = [e for e in parts.communication_.exchanges if e.what == "product"]
    assert sum(e.times for e in steps) >= parts.fit_.solution.steps
    assert max(e.from_shard for e in steps) <= 40 * 4  # vectors, not matrices


def test_products_with_an_open_alpha(engine):
    settings = {"alpha": "auto", "solver": EXACT}
    whole = model(**settings).fit(X, Y, WEIGHT)
    parts = model(engine=engine, **settings).fit(X, Y, WEIGHT, shard_labels=labels(7))
    assert parts.alpha_ == pytest.approx(whole.alpha_, rel=1e-6)
    assert_same(parts, whole, 1e-6)


@over_each(cut=["between queries", "within queries"], **ENGINES)
def test_products_by_query(cut, engine):
    split = QUERY % 4 if cut == "between queries" else labels(7)
    whole = model(cls=KernelRanker, alpha=1e-3).fit(X, Y[:, 0], QUERY, WEIGHT)
    parts = model(cls=KernelRanker, alpha=1e-3, solver=EXACT, engine=engine)
    parts.fit(X, Y[:, 0], QUERY, WEIGHT, shard_labels=split)
    assert_same(parts, whole)


@over_each(intercept=[True, False], **ENGINES)
def test_products_with_the_exact_kernel(intercept, engine):
    """Rows travel, which the communication says."""
    settings = {"fit_intercept": intercept, "solver": EXACT}
    whole = model("full", fit_intercept=intercept).fit(X, Y, WEIGHT)
    parts = model("full", engine=engine, **settings).fit(X, Y, WEIGHT, shard_labels=labels(7))
    assert_same(parts, whole)
    sent = {e.what: e for e in parts.communication_.exchanges}
    assert sent["points"].to_shard == X.size


@over_each(basis=BASES, combine=["newton", "conjugate"], intercept=[True, False])
@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_rounds_with_rows_that_have_no_label(basis, combine, intercept):
    settings = {"alpha": 1e-2, "fit_intercept": intercept, "unlabelled": "use"}
    whole = model(basis, **settings).fit(X, PARTLY, WEIGHT)
    dropped = model(basis, **{**settings, "unlabelled": "drop"}).fit(X, PARTLY, WEIGHT)
    assert not np.allclose(whole.predict(NEW), dropped.predict(NEW), rtol=1e-4)
    parts = model(basis, combine=combine, rounds=80, shards=4, **settings)
    assert_same(parts.fit(X, PARTLY, WEIGHT), whole)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_rounds_with_unlabelled_rows_on_a_cluster(client):
    settings = {"alpha": 1e-2, "unlabelled": "use"}
    whole = model(**settings).fit(X, PARTLY)
    parts = model(combine="conjugate", rounds=60, engine=client, shards=4, **settings)
    assert_same(parts.fit(X, PARTLY), whole)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_rounds_in_function_space_with_rows_that_have_no_label():
    settings = {"alpha": 1e-1, "fit_intercept": False, "unlabelled": "use"}
    whole = model(Landmarks(sampling=X), **settings).fit(X, PARTLY, WEIGHT)
    parts = model("full", combine="newton", rounds=80, **settings)
    assert_same(parts.fit(X, PARTLY, WEIGHT, shard_labels=labels(3)), whole, 1e-7)


@over_each(start=[3, 9], **ENGINES)
def test_steps_go_on(start, engine):
    settings = {"engine": engine, "shards": 5, "alpha": "auto"}
    warm = model(solver=KCGM(StopAfter(start)), warm_start=True, **settings).fit(X, Y)
    run = warm.fit_.run
    warm.set_params(solver=KCGM(StopAfter(6))).fit(X, Y)
    assert warm.fit_.run is run
    assert_same(warm, model(solver=KCGM(StopAfter(6)), **settings).fit(X, Y), 1e-12)
    other = warm.fit(X, Y + 1.0)  # other rows: from the beginning
    assert other.fit_.run is not run


def test_products_go_on(engine):
    settings = {"engine": engine, "shards": 5, "solver": PreconditionedCG(1e-2)}
    warm = model(warm_start=True, **settings).fit(X, Y)
    settings["solver"] = PreconditionedCG(1e-9)
    cold = model(**settings).fit(X, Y)
    warm.set_params(solver=PreconditionedCG(1e-9)).fit(X, Y)
    assert warm.fit_.solution.residuals[0] < 0.05 * cold.fit_.solution.residuals[0]
    assert_same(warm, cold)


@over_each(sharded=["first", "all"], **ENGINES)
def test_rows_come_and_go(sharded, engine):
    whole = model().fit(X[100:], Y[100:], WEIGHT[100:])
    parts = model(engine=engine, shards=4).fit(X[:500], Y[:500], WEIGHT[:500])
    if sharded == "first":
        parts.set_params(engine=None, shards=None)
    parts.partial_fit(X[500:], Y[500:], WEIGHT[500:]).forget(X[:100], Y[:100], WEIGHT[:100])
    assert_same(parts, whole)
    assert parts.moments_.rows == 500


def test_the_first_rows_may_be_in_shards():
    parts = model(shards=3).partial_fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
    assert_same(parts, model().fit(X, Y))


@over_each(basis=["features", "full"])
def test_newton_rounds_from_zero_that_diverge_at_once_are_the_average(basis):
    settings = {"alpha": 1e-7, "shards": 60, "fit_intercept": False}
    average = model(basis, combine=Average(), **settings).fit(X, Y)
    with pytest.warns(MercerWarning, match="the average of the shards' models"):
        found = model(basis, combine=NewtonRounds(start="zero"), **settings).fit(X, Y)
    assert found.fit_.solution.status is Status.DIVERGED
    assert_same(found, average, 1e-6)
