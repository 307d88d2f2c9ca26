"""The experiment on distributed Nystroem approximation, on a few hundred digits."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from experiments.distributed_nystroem import trials
from experiments.distributed_nystroem.__main__ import AUTHORS, EXPERIMENT
from experiments.distributed_nystroem.figures import draw_partitions
from experiments.distributed_nystroem.methods import METHODS, estimator
from experiments.distributed_nystroem.problems import (
    PROBLEMS,
    Problem,
    Size,
    load,
    unchanged,
)
from experiments.distributed_nystroem.summary import (
    Study,
    authors_crossing,
    errors,
    partitions_crossing,
    passes,
)
from experiments.distributed_nystroem.tables import CROSSING_COLUMNS, crossings_csv, markdown
from experiments.distributed_nystroem.trials import (
    Point,
    Trial,
    as_results,
    as_trials,
    by_centers,
    by_partitions,
    by_rows,
    error,
    missing,
    points,
)
from experiments.scaffold.data import AbsentError, Split
from experiments.scaffold.records import as_csv, from_csv
from experiments.scaffold.runner import Job
from experiments.scaffold.stored import Curve, stored
from sklearn.datasets import load_digits

SMALL = Problem(
    "digits",
    bandwidth=3.0,
    alpha=1e-6,
    train_rows=480,
    scale=unchanged,
    repeats=4,
    partitions=(3, 12, 30),
    centers=(20, 100),
    at_centers=100,
    at_partitions=12,
    samples=(300,),
    paper_partitions=20,
    paper_centers=100,
)


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: SMALL.train_rows], order[SMALL.train_rows :]
    return Split(X[train], y[train], X[test], y[test])


SIZE = Size(problems={"digits": SMALL})


@pytest.fixture(scope="module")
def study(data, miniature):
    on_digits = replace(EXPERIMENT, parts={"digits": trials.run}, small=SIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "load", lambda problem: data)
        return miniature(on_digits)


@pytest.fixture(scope="module")
def results(study):
    return study.results.results["digits"]


def test_more_partitions_cost_accuracy_and_random_features_more(results):
    mean = {
        method: errors(results, by_partitions(SMALL, method)).mean(axis=0) for method in METHODS
    }
    for method in ("DNystroem", "DC-NY", "DKRR", "DC-RF"):
        assert mean[method][0] < mean[method][-1]
    assert np.all(mean["DNystroem"] < mean["DC-RF"])
    assert np.all(mean["Nystroem"] <= mean["DNystroem"])


def test_all_curves_are_whole(results):
    for method in METHODS:
        assert errors(results, by_partitions(SMALL, method)).shape == (4, 3)
        assert errors(results, by_centers(SMALL, method)).shape == (4, 2)
        assert not np.isnan(errors(results, by_centers(SMALL, method))).any()
    assert not missing(SMALL, SMALL.repeats, results)


def test_local_centers_at_all_rows_are_the_exact_kernel(data):
    # So that trials of one stand for the other; 60 centers are more than the 40 rows of a shard.
    both = [error(SMALL, data, Point("DC-NY", 12, centers, 480), seed=0) for centers in (60, 0)]
    assert both[0] == both[1]


def test_shared_centers_at_all_rows_are_the_exact_kernel(data):
    # Why the curves of DNystroem turn: its best function in a shard is one of the shard's rows.
    one, other = Point("DNystroem", 12, 240, 240), Point("DC-NY", 12, 0, 240)
    both = [error(SMALL, data, at, seed=0) for at in (one, other)]
    assert both[0] == pytest.approx(both[1], abs=0.002)


def test_only_the_penalty_of_dkrr_grows_with_the_shards():
    dkrr, local = (estimator(name, 20, 0, 1.0, 1e-6, seed=0) for name in ("DKRR", "DC-NY"))
    assert dkrr.alpha == pytest.approx(20e-6)
    assert local.alpha == 1e-6


def test_random_frequencies_have_two_deviations():
    kernels = [estimator(name, 2, 9, 3.0, 1e-6, seed=0).kernel for name in ("DC-RF", "DC-RF2")]
    assert [kernel.bandwidth for kernel in kernels] == [3.0, 9.0]


def test_the_authors_curves_cross_elsewhere_than_their_text_says():
    authors = from_csv(AUTHORS, Curve)
    assert 716 < authors_crossing(authors, "6", "letter", "DKRR") < 1000  # 716 in the text
    assert stored(authors, "6", "usps", "DKRR").at(1000) == 0.0655
    assert {curve.name for curve in authors} == {one.name for one in PROBLEMS.values()}


def test_the_tables_have_their_columns(study):
    text = study.text()
    head = "| DNystroem | DC-NY | DKRR | DC-RF, 1/sigma | DC-RF, 1/sigma² | Nystroem (m = 1) |"
    assert f"| m {head}" in text
    assert f"| M {head}" in text
    assert "| N | DNystroem | DC-NY | DKRR |" in text
    rows = list(csv.reader(io.StringIO(study.text("crossings.csv"))))
    assert tuple(rows[0]) == CROSSING_COLUMNS
    assert len(rows) == 1 + 2 + 2
    assert study.written[2:] == ["figure1.png", "figure5.png", "figure6.png"]


def test_trials_that_were_not_made_are_left_out(results):
    part = {
        (at, seed): value
        for (at, seed), value in results.items()
        if at.method != "DC-RF" and not (at.partitions == 30 and seed)
    }
    study = Study({"digits": SMALL}, {"digits": part})
    text = markdown(study)
    (last,) = (line for line in text.splitlines() if line.startswith("| 30 |"))
    ours = 100 * part[by_partitions(SMALL, "DNystroem")[-1], 0]
    assert last.startswith(f"| 30 | {ours:.2f} |")
    assert " | - | " in last
    assert "nan" not in text + crossings_csv(study)
    labels = draw_partitions(study).axes[0].get_legend_handles_labels()[1]
    assert len(labels) == len(METHODS) - 1


def test_stored_trials_are_not_made_again(results, tmp_path, data, monkeypatch):
    path, made = tmp_path / "digits.csv", []
    kept = dict(list(results.items())[:-1])
    path.write_text(as_csv(as_trials(kept)))
    assert as_results(from_csv(path, Trial)) == pytest.approx(kept, abs=1e-6)
    monkeypatch.setattr(trials, "load", lambda problem: data)
    monkeypatch.setattr(trials, "error", lambda *trial: made.append(trial) or 0.25)
    found = trials.run(Job("digits", SIZE, tmp_path, resume=True))
    assert len(made) == 1
    assert len(found) == len(results)
    assert from_csv(path, Trial)[-1].error == pytest.approx(found[-1].error, abs=1e-6)


def test_a_set_that_is_absent_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(AbsentError, match="MERCER_DATA"):
        load(PROBLEMS["mnist"])


def test_letter_is_cut_and_scaled_as_in_the_paper():
    data = load(PROBLEMS["letter"])
    assert data.X.shape == (15000, 16)
    assert data.X_test.shape == (5000, 16)
    assert (data.X.min(), data.X.max()) == (-1.0, 1.0)


def test_where_a_curve_passes_another():
    x, falling = (1, 2, 3), np.array([3.0, 2.0, 1.0])
    assert passes(x, falling, np.full(3, 2.5)) == 1.5
    assert passes(x, falling, np.full(3, 4.0)) == float("-inf")
    assert passes(x, falling, np.full(3, 0.5)) == float("inf")


def test_an_interval_of_the_crossing_comes_from_many_repeats():
    rng = np.random.default_rng(0)
    ours, theirs = by_partitions(SMALL, "DNystroem"), by_partitions(SMALL, "DKRR")
    made = {}
    for seed in range(20):
        for k, (first, second) in enumerate(zip(ours, theirs, strict=True)):
            made[first, seed] = 0.1 + 0.02 * rng.standard_normal()
            made[second, seed] = (0.05, 0.1, 0.2)[k] + 0.02 * rng.standard_normal()
    found = partitions_crossing(SMALL, made, "DKRR")
    few = {key: value for key, value in made.items() if key[1] < 4}
    single = partitions_crossing(SMALL, few, "DKRR")
    assert 3 < found.low < found.at < found.high < 30
    assert found.at == pytest.approx(12, abs=4)  # where the true curves cross
    gaps = [[few[at, seed] for at in ours] for seed in range(4)]
    bars = [[few[at, seed] for at in theirs] for seed in range(4)]
    each = [
        passes(SMALL.partitions, np.array(a), np.array(b)) for a, b in zip(gaps, bars, strict=True)
    ]
    assert (single.low, single.high) == (min(each), max(each))


def test_figures_share_points():
    problem = PROBLEMS["mnist"]
    assert len(points(problem)) == len(set(points(problem)))
    assert set(by_centers(problem, "DKRR")) & set(by_rows(problem, "DKRR"))
