"""The experiment of intervals and probabilities against peers, in miniature."""

import numpy as np
import pytest
from experiments.scaffold.json_lines import append_line, read_lines
from experiments.scaffold.runner import QUIET, Job
from experiments.uncertainty import interval_methods, probability_methods, scores
from experiments.uncertainty.__main__ import EXPERIMENT
from experiments.uncertainty.parts import INTERVALS, PARTS, PROBABILITIES, SHIFTED
from experiments.uncertainty.problems import (
    FULL,
    MADE_UP,
    REGRESSIONS,
    SMALL,
    TABLES,
    jester,
    movielens,
    regression_rows,
    shifted_rows,
)
from experiments.uncertainty.results import common, means, ranks, read, score_at
from experiments.uncertainty.tables import markdown
from experiments.uncertainty.trials import INSIDE, OUTSIDE, Intervals, Probabilities
from scipy.stats import norm
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as log_loss_of_sklearn

from mercer.datasets import load_real

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow

#: Methods that need nothing but what the library needs.
QUICK = ("intervals-histogram-quantile", "shifted-histogram-quantile", "probabilities-histogram",
         "intervals-gaussian-process", "probabilities-mercer-uncalibrated")  # fmt: skip
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def small(miniature):
    return miniature(EXPERIMENT, parts=QUICK)


def table(kind, name, split, method, value=1.0, **further):
    """Return a record whose measures are all the same."""
    cost = {"fit": 1.0, "processor": value, "predict": 0.1, "load": 1.0}
    told = {"version": "x 1.0", "when": "now", "rows": 10, "tested": 5}
    if kind is Intervals:
        levels = dict.fromkeys(("coverage", "width", "score"), (value,) * 4)
        return Intervals(name, split, method, further["where"], **told, **levels, **cost)
    measures = dict.fromkeys(("log_loss", "brier", "calibration_error", "error"), value)
    return Probabilities(name, split, method, **told, **measures, **cost)


def test_every_split_has_a_record(small):
    records = small.results.intervals
    assert {one.key for one in records} == {
        ("small regression", split, method)
        for split in range(SMALL.repeats)
        for method in ("histogram-quantile", "gaussian-process")
    }
    for one in records:
        assert list(one.width) == sorted(one.width)  # wider at higher levels
        assert all(0 < covered <= 1 for covered in one.coverage)
        assert all(s >= w for s, w in zip(one.score, one.width, strict=True))
    assert {one.where for one in small.results.shifted} == {INSIDE, OUTSIDE}
    assert all(one.error < 0.5 for one in small.results.probabilities)


def test_tables_and_figures_are_written(small):
    assert small.written == list(EXPERIMENT.outputs)
    text = small.text()
    for mark in ("summary", "scores", "shifted", "probabilities", "log loss"):
        assert f"<!-- {mark} -->" in text
    assert "| small regression | 2 |" in text


def test_a_run_goes_on_and_a_method_is_run_again_alone(small, tmp_path):
    path = tmp_path / "intervals.jsonl"
    kept = read_lines(small.folder / "intervals.jsonl", Intervals)
    for one in kept[1:]:
        append_line(path, one)
    part = "intervals-histogram-quantile"
    told = []
    job = Job(part, SMALL, tmp_path, resume=True, progress=told.append)
    PARTS[part](job)
    assert len(told) == 1  # only the one that was missing
    assert {one.key for one in read_lines(path, Intervals)} == {one.key for one in kept}
    PARTS[part](Job(part, SMALL, tmp_path, progress=QUIET))
    again = read_lines(path, Intervals)
    assert len(again) == len(kept)
    by = {one.key: one.score for one in kept}
    assert all(one.score == pytest.approx(by[one.key]) for one in again)


@pytest.mark.parametrize("part", [part for part in PARTS if part not in QUICK])
def test_every_other_method_runs(part, tmp_path):
    if PARTS[part].missing:
        pytest.skip(PARTS[part].missing)
    EXPERIMENT.run(tmp_path, SMALL, [part])
    found = read(tmp_path, SMALL)
    records = found.intervals or found.shifted or found.probabilities
    assert {one.method for one in records} == {PARTS[part].method}


def test_parts_name_a_table_and_a_method():
    for name, part in PARTS.items():
        assert name == f"{part.table}-{part.method}"
        assert part.table in (INTERVALS, SHIFTED, PROBABILITIES)
    keys = list(PARTS["probabilities-catboost"].keys(FULL))
    assert len(keys) == FULL.classes_repeats * (len(FULL.classification) - 3)
    assert [split for _, split, _ in keys] == sorted(split for _, split, _ in keys)


def test_true_quantiles_have_the_least_interval_score():
    y = RNG.standard_normal(20_000)
    best = norm.ppf([[(1 - q) / 2, (1 + q) / 2] for q in scores.LEVELS]).T
    intervals = np.broadcast_to(best, (len(y), 2, 4))
    np.testing.assert_allclose(scores.coverage(y, intervals), scores.LEVELS, atol=0.02)
    least = scores.interval_score(y, intervals)
    for factor in (0.7, 1.4):
        assert np.all(scores.interval_score(y, factor * intervals) > least)
    np.testing.assert_allclose(scores.width(intervals), best[1] - best[0])


def test_scores_of_probabilities_are_those_of_scikit_learn():
    p = RNG.dirichlet(np.ones(3), 500)
    codes = RNG.integers(0, 3, 500)
    assert scores.log_loss(codes, p) == pytest.approx(log_loss_of_sklearn(codes, p))
    two = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
    codes = codes % 2
    assert scores.brier(codes, two) == pytest.approx(2 * brier_score_loss(codes, two[:, 1]))
    assert scores.error(codes, np.eye(2)[codes]) == 0
    assert scores.calibration_error(codes, np.eye(2)[codes]) == 0
    # right with the probability that is told
    sure = RNG.uniform(0.5, 1, 40_000)
    right = RNG.random(40_000) < sure
    told = np.column_stack([sure, 1 - sure])
    assert scores.calibration_error(np.where(right, 0, 1), told) < 0.02
    assert scores.calibration_error(np.where(right, 0, 1), np.round(told)) > 0.2


def test_conformal_intervals_cover_rows_that_were_not_held_out():
    from sklearn.linear_model import QuantileRegressor

    X = RNG.uniform(1, 3, (3000, 1))
    y = X[:, 0] * RNG.standard_normal(3000)

    def narrow(quantile, seed):  # as if it were sure of itself
        return QuantileRegressor(quantile=0.5 + (quantile - 0.5) / 2, alpha=0)

    args = (X[:1000], y[:1000], (0.8,), 0)
    plain = interval_methods.by_quantiles(narrow, *args)(X[1000:])
    moved = interval_methods.conformalized(narrow, *args)(X[1000:])
    assert moved.shape == (2000, 2, 1)
    assert scores.coverage(y[1000:], plain)[0] < 0.5
    assert scores.coverage(y[1000:], moved)[0] == pytest.approx(0.8, abs=0.05)


def test_a_gaussian_process_knows_the_noise_of_a_sine():
    X = RNG.uniform(-2, 2, (400, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * RNG.standard_normal(400)
    found = interval_methods.gaussian_process(100, X[:200], y[:200], scores.LEVELS, 0)(X[200:])
    np.testing.assert_allclose(scores.coverage(y[200:], found), scores.LEVELS, atol=0.1)


def test_far_rows_are_not_trained_on():
    inside, outside = shifted_rows("small regression", 0, SMALL)
    everything = np.vstack([inside.X, inside.X_test, outside.X_test])
    norms = np.linalg.norm((everything - everything.mean(0)) / everything.std(0), axis=1)
    near = len(inside.X) + len(inside.X_test)
    assert norms[:near].max() < norms[near:].min() * 1.1  # up to the rows that are not tested
    np.testing.assert_array_equal(inside.X, outside.X)
    assert len(outside.X_test) == round(0.1 * 240)
    assert not {tuple(x) for x in inside.X} & {tuple(x) for x in inside.X_test}


def test_splits_have_no_more_rows_than_asked_for():
    rows = regression_rows("small regression", 0, SMALL)
    assert (len(rows.X), len(rows.X_test)) == (SMALL.train, SMALL.test)
    few = regression_rows("diabetes", 0, FULL)
    assert (len(few.X), len(few.X_test)) == (332, 110)
    assert set(TABLES) >= set(FULL.regression) | set(FULL.classification) | set(MADE_UP)


@pytest.mark.real
@pytest.mark.parametrize(("name", "make", "columns"), [("jester_1", jester, 10),
                                                       ("movielens_1m", movielens, 6)])  # fmt: skip
def test_ratings_are_learned_from_other_ratings(name, make, columns):
    try:
        data = load_real(name)
    except (OSError, ValueError) as error:
        pytest.skip(f"{name} is not at hand: {error}")
    X, y = make()
    assert X.shape == (len(y), columns)
    assert np.isfinite(X).all()
    assert set(np.unique(y)) <= set(np.unique(data.rating))


def test_means_are_over_splits_that_all_methods_have():
    records = [
        table(Intervals, "bike", 0, "mercer", 1.0, where="drawn"),
        table(Intervals, "bike", 1, "mercer", 9.0, where="drawn"),
        table(Intervals, "bike", 0, "lightgbm-cqr", 2.0, where="drawn"),
    ]
    found = means(common(records), score_at(0))
    assert found == {("bike", "mercer"): 1.0, ("bike", "lightgbm-cqr"): 2.0}
    assert ranks(found) == {("bike", "mercer"): 1, ("bike", "lightgbm-cqr"): 2}


def test_mercer_is_compared_with_the_wrapper(tmp_path):
    for method, value in (("mercer", 1.0), ("mercer-uncalibrated", 2.0),
                          ("mercer-calibrated-cv", 4.0)):  # fmt: skip
        one = table(Probabilities, "letter", 0, method, value)
        append_line(tmp_path / "probabilities.jsonl", one)
    text = markdown(read(tmp_path, FULL))
    assert "| letter | 0.250 | 0.250 | 0.250 | 0.500 | 0.500 |" in text
    assert "| geometric mean | 0.250 |" in text


def test_records_that_are_committed_belong_to_known_sets_and_methods():
    found = read(EXPERIMENT.folder, FULL)
    assert set(REGRESSIONS) == {one.name for one in found.intervals}
    for one in found.intervals + found.shifted:
        assert one.method in interval_methods.methods(FULL.gp_rows)
        assert one.rows <= FULL.train
        assert np.isfinite([*one.width, *one.score]).all()
    for one in found.probabilities:
        assert one.method in probability_methods.METHODS
        assert np.isfinite([one.log_loss, one.brier]).all()
    # conformal methods cover what they promise
    covered = means(found.intervals, lambda one: one.coverage[2])
    for (name, method), value in covered.items():
        if method in ("catboost-conformal", "lightgbm-cqr"):
            assert value > 0.87, name
