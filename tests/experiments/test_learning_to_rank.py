"""The experiment on learning to rank, on a few queries and with a few settings."""

import csv
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from experiments.learning_to_rank import trees, trials
from experiments.learning_to_rank.__main__ import EXPERIMENT
from experiments.learning_to_rank.data import Judged, fold, load, parts_of, stacked
from experiments.learning_to_rank.kernel import ALPHAS, fit, tune
from experiments.learning_to_rank.measures import compare, letor_ndcg, measure
from experiments.learning_to_rank.tables import differences
from experiments.learning_to_rank.trials import METHODS, SMALL, search
from experiments.scaffold.runner import Job
from experiments.scaffold.timing import one_thread

from mercer.metrics import ndcg

QUERIES = 30


def made(seed, noise=0.0):
    """Queries of several levels, in which the first column tells the order, but for noise."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(QUERIES) + 100 * seed, 12)
    X = rng.random((len(qid), 4))
    judged = X[:, 0] + rng.normal(0, noise, len(qid))
    return Judged(X, np.floor(3 * np.clip(judged, 0, 0.99)).astype(int), qid)


@pytest.fixture(scope="module", params=["made", pytest.param("MQ2008", marks=pytest.mark.real)])
def run(miniature, request):
    """Two folds, with all methods whose package is here."""
    names = [
        name
        for name in METHODS
        if name.split()[0] in ("kernel", "linear") or find_spec(name.split()[0])
    ]
    size = replace(SMALL, methods={name: SMALL.methods[name] for name in names})
    with pytest.MonkeyPatch.context() as patch:
        parts = load() if request.param == "MQ2008" else [made(seed, 0.1) for seed in range(5)]
        patch.setattr(trials, "load", lambda: parts)
        patch.setattr(trees, "MOST_TREES", 30)
        return miniature(EXPERIMENT, size, ("fold1", "fold4"))


@pytest.fixture(scope="module")
def results(run):
    return run.results


def test_every_method_is_measured_on_every_fold(results):
    for name, found in results.found.items():
        assert [one.fold for one in found] == [1, 4], name
        for one in found:
            assert 0.3 < one.test.ndcg[-1] <= 1
            assert 0 < one.test.pairwise_error < 0.6
            assert one.search.seconds > 0
            assert one.fit_seconds > 0
            assert len(one.test.by_query) == QUERIES


def test_tables_and_figure_hold_what_was_measured(run):
    results = run.results
    mean = np.mean([one.test.ndcg[-1] for one in results.found["kernel"]])
    assert f"| KernelRanker, Gaussian | {mean:.4f} |" in run.text()
    rows = list(csv.DictReader(run.text("results.csv").splitlines()))
    assert [(row["fold"], row["method"]) for row in rows] == [
        (number, name) for number in "14" for name in results.methods
    ]
    assert float(rows[0]["ndcg10"]) == pytest.approx(
        results.found["kernel"][0].test.ndcg[-1], abs=1e-6
    )
    assert run.written == ["results.md", "results.csv", "ndcg.png"]


def test_differences_are_of_the_queries_with_a_relevant_document(results):
    ours = results.by_query("kernel")
    for name, found in differences(results).items():
        assert found.queries == np.sum(~np.isnan(ours))
        assert found.mean == pytest.approx(np.nanmean(ours - results.by_query(name)))
        assert found.low <= found.mean <= found.high


def test_the_parts_of_a_fold_are_the_official_ones():
    assert parts_of(1) == ([1, 2, 3], 4, 5)
    assert parts_of(5) == ([5, 1, 2], 3, 4)
    parts = [made(seed) for seed in range(5)]
    rows = fold(parts, 2)
    assert rows.train.qid.tolist() == stacked(parts[1:4]).qid.tolist()
    assert rows.valid is parts[4]
    assert rows.test is parts[0]
    assert rows.train.sizes.tolist() == [12] * (3 * QUERIES)
    for number in range(1, 6):
        assert np.all(np.diff(fold(parts, number).train.qid) >= 0)


def test_one_fit_tries_every_alpha():
    rows = fold([made(seed) for seed in range(5)], 1)
    settings = METHODS["kernel"].grid[0] | {"landmarks": 40}
    with one_thread():
        tuned, scores = tune(settings, rows)
        reached = [
            ndcg(
                rows.valid.y,
                fit(settings | {"alpha": alpha}, rows.train)(rows.valid.X),
                rows.valid.qid,
            )
            for alpha in ALPHAS["gaussian"]
        ]
    best = ndcg(rows.valid.y, scores, rows.valid.qid)
    assert best == pytest.approx(max(reached), abs=1e-6)
    assert reached[int(np.argmin(np.abs(ALPHAS["gaussian"] - tuned["alpha"])))] == best


def test_a_search_goes_on_from_the_best_of_the_grid():
    rows = fold([made(seed) for seed in range(5)], 1)
    tried = []

    def attempt(settings, rows):
        tried.append(settings)
        return settings | {"n": len(tried)}, settings["sign"] * rows.valid.X[:, 0]

    method = replace(
        METHODS["linear"], grid=({"sign": -1}, {"sign": 1}), changes=({"more": 1},), tune=attempt
    )
    found = search(method, rows)
    assert tried == [{"sign": -1}, {"sign": 1}, {"sign": 1, "more": 1}]
    assert found.settings == {"sign": 1, "n": 2}  # the change is no better, so it is not taken
    assert found.ndcg == 1.0
    assert found.configurations == 3


def test_measures_of_a_perfect_order():
    rows = made(0)
    found = measure(rows, rows.X[:, 0])
    assert found.ndcg == (1.0,) * 10
    assert found.pairwise_error == 0.0
    assert letor_ndcg(rows, rows.X[:, 0], 12) == 1.0
    assert letor_ndcg(rows, rows.X[:, 0], 13) == 0.0  # no query has as many documents


def test_an_interval_holds_the_mean_and_leaves_out_queries_without_a_value():
    first = np.array([0.5, np.nan, 0.75, 1.0])
    found = compare(first, np.array([0.25, np.nan, 0.75, 0.0]))
    assert (found.better, found.worse, found.queries) == (2, 0, 3)
    assert found.mean == pytest.approx(1.25 / 3)
    assert found.low <= found.mean <= found.high


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_a_peer_that_is_absent_is_named_with_the_way_to_get_it(name, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, name, None)
    chosen = {key: method for key, method in METHODS.items() if key.startswith(name)}
    with pytest.raises(ImportError, match=f"pip install .*{name}"):
        trials.run(Job("fold1", replace(SMALL, methods=chosen), tmp_path))
