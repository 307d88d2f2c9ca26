"""The experiment on distributed Nystroem approximation, on a few hundred digits."""

import csv
import io

import numpy as np
import pytest
from experiments.distributed_nystroem import __main__ as command
from experiments.distributed_nystroem import storage
from experiments.distributed_nystroem.figures import draw_centers, draw_partitions, draw_rows
from experiments.distributed_nystroem.methods import METHODS
from experiments.distributed_nystroem.problems import (
    PROBLEMS,
    AbsentError,
    Data,
    Problem,
    load,
    unchanged,
)
from experiments.distributed_nystroem.summary import errors, passes
from experiments.distributed_nystroem.tables import CROSSING_COLUMNS, crossings_csv, markdown
from experiments.distributed_nystroem.trials import (
    Point,
    by_centers,
    by_partitions,
    error,
    missing,
    points,
    run,
)
from sklearn.datasets import load_digits

SMALL = Problem(
    "digits",
    bandwidth=3.0,
    alpha=1e-6,
    train_rows=600,
    scale=unchanged,
    repeats=2,
    partitions=(3, 12, 30),
    centers=(20, 100),
    at_centers=(100,),
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
    return Data(X[train], y[train], X[test], y[test])


@pytest.fixture(scope="module")
def results(data):
    found = {}
    run(SMALL, data, missing(SMALL, SMALL.repeats, found), found)
    return found


def test_more_partitions_cost_accuracy_and_random_features_more(results):
    mean = {
        method: errors(results, by_partitions(SMALL, method, 100)).mean(axis=0)
        for method in METHODS
    }
    for method in ("DNystroem", "DC-NY", "DKRR", "DC-RF"):
        assert mean[method][0] < mean[method][-1]
    assert np.all(mean["DNystroem"] < mean["DC-RF"])
    assert np.all(mean["Nystroem"] <= mean["DNystroem"])


def test_all_curves_are_whole(results):
    for method in METHODS:
        assert errors(results, by_partitions(SMALL, method, 100)).shape == (2, 3)
        assert errors(results, by_centers(SMALL, method)).shape == (2, 2)
        assert not np.isnan(errors(results, by_centers(SMALL, method))).any()
    assert not missing(SMALL, SMALL.repeats, results)


def test_local_centers_at_all_rows_are_the_exact_kernel(data):
    # So that trials of one stand for the other; 60 centers are more than the 50 rows of a shard.
    both = [error(SMALL, data, Point(name, 12, 60, 600), seed=0) for name in ("DC-NY", "DKRR")]
    assert both[0] == both[1]


def test_shared_centers_at_all_rows_are_the_exact_kernel(data):
    # Why the curves of DNystroem come back to those of DKRR: its best function is of its own rows.
    both = [error(SMALL, data, Point(name, 12, 300, 300), seed=0) for name in ("DNystroem", "DKRR")]
    assert both[0] == pytest.approx(both[1], abs=0.002)


def test_the_tables_have_their_columns(results, tmp_path):
    text = markdown({"digits": results}, {"digits": SMALL})
    head = "| DNystroem | DC-NY | DKRR | DC-RF | Nystroem (m = 1) | random features (m = 1) |"
    assert f"| m {head}" in text
    assert f"| M {head}" in text
    assert "| N | DNystroem, M = 500 | DNystroem, M = 1000 | DC-NY, M = 500 | DKRR |" in text
    rows = list(csv.reader(io.StringIO(crossings_csv({"digits": results}, {"digits": SMALL}))))
    assert tuple(rows[0]) == CROSSING_COLUMNS
    assert len(rows) == 1 + 2 + 2


def test_trials_that_were_not_made_are_left_out(results, tmp_path):
    part = {
        (at, seed): value
        for (at, seed), value in results.items()
        if at.method != "DC-RF" and (at.partitions, seed) != (30, 1)
    }
    text = markdown({"digits": part}, {"digits": SMALL})
    (last,) = (line for line in text.splitlines() if line.startswith("| 30 |"))
    ours = 100 * part[by_partitions(SMALL, "DNystroem", 100)[-1], 0]
    assert last.startswith(f"| 30 | {ours:.2f} |")
    assert " | - | " in last
    assert "nan" not in text + crossings_csv({"digits": part}, {"digits": SMALL})
    draw_partitions({"digits": part}, tmp_path / "5.png", {"digits": SMALL})


def test_the_figures_are_drawn(results, tmp_path):
    found, problems = {"digits": results}, {"digits": SMALL}
    draw_partitions(found, tmp_path / "5.png", problems)
    draw_centers(found, tmp_path / "6.png", problems)
    draw_rows(SMALL, results, tmp_path / "1.png")
    assert all((tmp_path / f"{number}.png").stat().st_size > 10_000 for number in (1, 5, 6))


def test_stored_trials_are_not_made_again(results, tmp_path, data, monkeypatch, capsys):
    path = tmp_path / "digits.csv"
    kept = dict(list(results.items())[:-1])
    storage.write(path, kept)
    assert path.read_text().splitlines()[0] == ",".join(storage.COLUMNS)
    assert storage.read(path) == pytest.approx(kept, abs=1e-6)
    monkeypatch.setattr(command, "load", lambda problem: data)
    command.measure(SMALL, SMALL.repeats, path)
    assert "1 of 1 trials" in capsys.readouterr().out
    assert storage.read(path) == pytest.approx(results, abs=1e-6)


def test_a_set_that_is_absent_is_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    command.measure(PROBLEMS["usps"], 1, tmp_path / "usps.csv")
    assert "usps: skipped, there are no data" in capsys.readouterr().out
    with pytest.raises(AbsentError, match="MERCER_DATA"):
        load(PROBLEMS["mnist"])


def test_letter_is_cut_and_scaled_as_in_the_paper():
    data = load(PROBLEMS["letter"])
    assert data.X_train.shape == (15000, 16)
    assert data.X_test.shape == (5000, 16)
    assert (data.X_train.min(), data.X_train.max()) == (-1.0, 1.0)


def test_where_a_curve_passes_another():
    x, falling = (1, 2, 3), np.array([3.0, 2.0, 1.0])
    assert passes(x, falling, np.full(3, 2.5)) == 1.5
    assert passes(x, falling, np.full(3, 4.0)) == float("-inf")
    assert passes(x, falling, np.full(3, 0.5)) == float("inf")


def test_figures_share_points():
    problem = PROBLEMS["mnist"]
    assert len(points(problem)) == len(set(points(problem)))
    assert set(by_centers(problem, "DNystroem")) & set(by_partitions(problem, "DNystroem", 500))
