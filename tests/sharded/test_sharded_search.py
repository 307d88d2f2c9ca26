"""The search for kernel and metric over shards: that of one place, on any number of them."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRanker, KernelRegressor, Landmarks, MetricSearch
from mercer.engines import ThreadEngine, available_cores
from mercer.kernels import InMetric
from mercer.search.trial import Trial
from shard_cases import CLASSES, POINTS, WEIGHT, X, Y, labels

FAST = MetricSearch(rounds=2, n_components=60)
SETTINGS = {"basis": Landmarks(sampling=POINTS), "metric": FAST, "random_state": 0}


def check_equal(many, one):
    assert isinstance(one.kernel_, InMetric)
    assert repr(many.kernel_.kernel)[:12] == repr(one.kernel_.kernel)[:12]
    np.testing.assert_allclose(many.metric_, one.metric_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(many.feature_importances_, one.feature_importances_, atol=1e-7)
    np.testing.assert_array_equal(many.search_results_["kernel"], one.search_results_["kernel"])
    np.testing.assert_allclose(
        many.search_results_["error"], one.search_results_["error"], rtol=1e-5
    )


@pytest.mark.parametrize("shards", [2, 7])
def test_shuffled_shards_find_what_one_place_does(engine, shards):
    one = KernelRegressor(**SETTINGS).fit(X, Y, WEIGHT)
    many = KernelRegressor(**SETTINGS, shards=shards, engine=engine).fit(X, Y, WEIGHT)
    check_equal(many, one)
    np.testing.assert_allclose(many.predict(X), one.predict(X), rtol=1e-4, atol=1e-3)
    assert "sample of rows" in {exchange.what for exchange in many.communication_.exchanges}


def test_a_sample_is_of_the_same_rows(engine):
    small = MetricSearch(rounds=1, n_components=40, sample=250)
    settings = {**SETTINGS, "metric": small}
    one = KernelRegressor(**settings).fit(X, Y[:, 0])
    many = KernelRegressor(**settings, engine=engine).fit(X, Y[:, 0], shard_labels=labels(5))
    check_equal(many, one)
    assert many.fit_.search.rows == 250


def test_classes(engine):
    one = KernelClassifier(**SETTINGS).fit(X, CLASSES)
    many = KernelClassifier(**SETTINGS, engine=engine).fit(X, CLASSES, shard_labels=labels(4))
    check_equal(many, one)


def test_rankings_keep_queries_whole(engine):
    query = np.repeat(np.arange(60), 10)
    one = KernelRanker(**SETTINGS).fit(X, Y[:, 0], query)
    many = KernelRanker(**SETTINGS, shards=3, engine=engine).fit(X, Y[:, 0], query)
    check_equal(many, one)


def test_all_rows_can_stay_where_they_are(engine):
    """Without a sample, every small fit and every sum of gradients is a task over the shards."""
    whole = MetricSearch("diagonal", rounds=2, n_components=40, sample=None)
    settings = {**SETTINGS, "metric": whole, "kernel": "matern", "scale": "standard"}
    model = KernelRegressor(**settings, shards=3, engine=engine).fit(X, Y[:, 0])
    sent = {exchange.what for exchange in model.communication_.exchanges}
    assert {"columns", "search", "gradient outer product"} <= sent
    assert "sample of rows" not in sent
    assert model.fit_.search.rows == len(X)
    assert model.score(X, Y[:, 0]) > 0.9


def test_a_checkpoint_goes_on_with_the_same_metric(tmp_path):
    settings = {**SETTINGS, "shards": 3, "checkpoint": tmp_path / "folder"}
    first = KernelRegressor(**settings).fit(X, Y)
    again = KernelRegressor(**settings).fit(X, Y)
    np.testing.assert_array_equal(again.dual_coef_, first.dual_coef_)
    np.testing.assert_array_equal(again.metric_, first.metric_)


@pytest.mark.parametrize("combine", ["average", "conjugate"])
def test_combinations_share_the_metric(combine):
    model = KernelRegressor(**SETTINGS, shards=3, combine=combine).fit(X, Y)
    assert isinstance(model.kernel_, InMetric)
    assert model.score(X, Y) > 0.9


@pytest.fixture
def _sent(monkeypatch):
    """Send candidates to the workers although they are small."""
    monkeypatch.setattr("mercer.search.kernel_search.SENT", 0)
    monkeypatch.setattr("mercer.search.kernel_search.MORE_CORES", 0)


class Listing(ThreadEngine):
    """Lists the tasks that it runs, and how many items each has."""

    def __init__(self):
        super().__init__(2)
        self.ran = []

    def map(self, task, items, *common, **more):
        """List, and run."""
        self.ran.append((task.__name__, len(items)))
        return super().map(task, items, *common, **more)


@pytest.mark.usefixtures("_sent")
def test_candidates_that_do_not_depend_on_each_other_are_tasks_side_by_side():
    engine = Listing()
    KernelRegressor(**SETTINGS, shards=3, engine=engine).fit(X, Y)
    rounds = [items for name, items in engine.ran if name == "outcome_of"]
    assert rounds[0] == 2  # both scalings
    assert 2 in rounds[1:3]  # both forms of the metric
    assert min(rounds) == 2  # one alone takes as long here
    assert max(rounds) >= 6  # the other kernels, with two bandwidths each


def test_candidates_that_take_less_than_a_message_stay_here():
    engine = Listing()
    KernelRegressor(**SETTINGS, shards=3, engine=engine).fit(X, Y)
    assert "outcome_of" not in {name for name, _ in engine.ran}


@pytest.mark.usefixtures("_sent")
@pytest.mark.parametrize("y", [Y, CLASSES], ids=["numbers", "classes"])
def test_a_search_has_the_same_bits_everywhere(client, y):
    kind = KernelClassifier if y is CLASSES else KernelRegressor
    # Standard deviations differ in rounding by how they are added over shards.
    one, threads, cluster = (
        kind(**SETTINGS, scale=None, **where).fit(X, y)
        for where in ({}, {"shards": 3}, {"shards": 3, "engine": client})
    )
    for many in (threads, cluster):
        np.testing.assert_array_equal(many.search_results_["error"], one.search_results_["error"])
        np.testing.assert_array_equal(many.metric_, one.metric_)
        np.testing.assert_array_equal(many.feature_importances_, one.feature_importances_)
    np.testing.assert_array_equal(threads.dual_coef_, cluster.dual_coef_)


@pytest.mark.usefixtures("_sent")
@pytest.mark.parametrize("where", [{}, {"shards": 3}], ids=["one place", "shards"])
def test_a_small_fit_has_one_core(where, monkeypatch):
    """On a busy machine, threads of one product wait for each other for longer than it takes."""
    cores, fits = [], Trial.fits

    def listed(trial, kernels):
        cores.append((available_cores(), trial.reading.lanes))
        return fits(trial, kernels)

    monkeypatch.setattr(Trial, "fits", listed)
    KernelRegressor(**SETTINGS, **where).fit(X, Y[:, 0])
    assert set(cores) == {(1, 1)}
