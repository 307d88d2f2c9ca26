"""The experiment on distributed ranking, on few rows."""

from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pytest
from experiments.distributed_ranking import paper, parts, ratings
from experiments.distributed_ranking.__main__ import EXPERIMENT
from experiments.distributed_ranking.literal import algorithm_1
from experiments.distributed_ranking.measured import Measured, repeat, select
from experiments.distributed_ranking.parts import ROUNDS, SMALL, TABLES
from experiments.distributed_ranking.paths import features_path, kernel_path
from experiments.distributed_ranking.rows import deal, split
from experiments.distributed_ranking.selection import (
    LAMBDAS,
    Choice,
    choose,
    kernel_features,
    ranked,
)
from experiments.distributed_ranking.simulated import draw, least_error, least_of, tied_share
from experiments.distributed_ranking.systems import (
    ALL,
    CONJUGATE,
    EXACT_RF,
    LITERAL,
    MEAN,
    WITHIN,
    Cell,
    estimator,
    fit,
)
from experiments.distributed_ranking.tuning import Fold, choice_for, choose_each, tuned
from experiments.scaffold.data import AbsentError
from experiments.scaffold.records import as_csv
from experiments.scaffold.runner import QUIET
from scipy.stats import norm

from mercer import Gaussian, MercerWarning, recipe
from mercer.metrics import pairwise_error

CHOICE = Choice(32.0, 2.0**-7, 0.1)


def few_ratings(name):
    """Few reviewers and items, in place of those of the data sets."""
    rng = np.random.default_rng(0)
    taste = rng.standard_normal((120, 3))
    table = np.round(taste @ rng.standard_normal((3, 60)) + 3).astype(np.float32)
    table[rng.random(table.shape) < 0.5] = np.nan
    table[:, :4] = np.round(taste @ rng.standard_normal((3, 4)) + 3)
    return table


@pytest.fixture(scope="module")
def run(miniature):
    """Everything, with few ratings, in few shards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratings, "load", few_ratings)
        for name, chosen in ratings.SETS.items():
            patch.setitem(ratings.SETS, name, replace(chosen, band=(30, 90), reference=12))
        for name, table in TABLES.items():
            few = {"shards": table.shards[:1], "components": table.components[:1]}
            patch.setitem(TABLES, name, replace(table, **few))
        parts.rating_rows.cache_clear()  # those of real ratings, and then those of few
        found = miniature(EXPERIMENT)
        parts.rating_rows.cache_clear()
    return found


def test_the_least_error_is_that_of_brute_force():
    level, deviation = np.array([3, 3, 4, 4, 4, 6, 7, 7]), 0.8
    wrong = [
        0.5 if one == other else norm.cdf(-abs(one - other) / (deviation * np.sqrt(2)))
        for one, other in combinations(level, 2)
    ]
    assert least_error(level, deviation) == pytest.approx(np.mean(wrong), rel=1e-12)
    ties = np.mean([one == other for one, other in combinations(level, 2)])
    assert tied_share(level) == pytest.approx(ties)
    assert least_error(level, 0.0) == pytest.approx(ties / 2)
    # Drawn again and again, the order of levels has this error, and no other order has less.
    rng = np.random.default_rng(0)
    draws = level + deviation * rng.standard_normal((1500, 8))
    scores = level + 1e-6 * np.arange(8)
    reached = np.mean([pairwise_error(y, scores) for y in draws])
    assert reached == pytest.approx(np.mean(wrong), abs=0.008)
    for _ in range(3):
        other = np.mean([pairwise_error(y, rng.permutation(8)) for y in draws[:200]])
        assert other > reached


def test_simulated_rows_are_those_of_the_paper():
    rows = draw(0)
    assert rows.X.shape == (14_000, 7)
    assert rows.X_test.shape == (6000, 7)
    assert (rows.X.min(), rows.X.max()) == (1, 100)
    np.testing.assert_array_equal(rows.level, np.floor(np.linalg.norm(rows.X_test, axis=1) / 7))
    assert np.std(rows.y_test - rows.level) == pytest.approx(0.1, rel=0.05)
    np.testing.assert_array_equal(draw(0, "scaled").X, rows.X / 100)
    least = least_of(rows)
    assert least.by_norm == pytest.approx(least.least, abs=0.001)
    assert least.by_level == pytest.approx(least.tied)  # ties are wrong
    assert least.least == pytest.approx(least.tied / 2, rel=1e-6)


def test_every_system_is_measured_in_every_setting(run):
    for name in ("figure1", "figure2", "rounds"):
        found, chosen = run.results.found[name], run.results.chosen[name]
        assert {row.group for row in found} == {"raw", "scaled"}, name
        assert [row.group for row in chosen] == ["raw", "scaled"]
        for row in found:
            assert 0 < row.error < 0.9
            assert row.seconds > 0
    found = run.results.found["figure1"]
    assert [row.components for row in select(found, "raw", "DRank-RF", shards=2)] == [20, 40]
    (exact,), (cut,) = select(found, "raw", "LSRank"), select(found, "raw", "DRank", shards=10)
    assert exact.error < cut.error
    assert cut.over_exact == pytest.approx(cut.error - exact.error, abs=1e-5)


def test_figure_2_is_also_tuned_by_system(run):
    found, chosen = (getattr(run.results, what)["figure2_tuned"] for what in ("found", "chosen"))
    for scale in ("raw", "scaled"):
        assert len(select(found, scale, LITERAL, WITHIN)) == len(SMALL.shards) * len(ROUNDS)
        (goal,), (ours,) = (
            select(found, scale, name, components=SMALL.rounds_components, shards=p)
            for name, p in ((EXACT_RF, 1), ("DRank-RF", SMALL.shards[0]))
        )
        assert ours.over_all == pytest.approx(ours.error - goal.error, abs=1e-5)
    assert len(chosen) == len(found)
    assert "every system tuned by itself" in run.text()


def test_conjugate_rounds_are_closer_than_newton_rounds(run):
    found = run.results.found["rounds"]
    for scale in ("raw", "scaled"):
        for p in SMALL.many_shards:
            (ours,) = select(found, scale, CONJUGATE, shards=p)
            (newton,) = select(found, scale, "DRank-RF-C", shards=p)
            assert ours.distance < newton.distance
            assert not ours.stopped


def test_rounds_within_shards_are_algorithm_1_where_it_converges():
    rows, cell = draw(0, rows=1000), Cell("DRank-RF-C", 30, 4, 3, WITHIN)
    ours, theirs = (fit(one, rows, CHOICE, 0) for one in (cell, replace(cell, system=LITERAL)))
    assert not ours.stopped
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, rtol=1e-6)
    assert ours.error == pytest.approx(theirs.error, abs=1e-6)


def test_algorithm_1_of_one_shard_is_the_solution():
    rng = np.random.default_rng(0)
    features, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    g = algorithm_1(features, y, np.zeros(50, int), 0.1, rounds=1)
    centered = features - features.mean(axis=0)
    wanted = np.linalg.solve(centered.T @ centered / 50 + 0.05 * np.eye(4), centered.T @ y / 50)
    np.testing.assert_allclose(g, wanted)


def test_a_model_that_was_stopped_at_once_counts_as_an_order_at_random():
    rows = draw(0, rows=1000)
    trial = fit(Cell("DRank-RF-C", 200, 30, 2), rows, Choice(32.0, 2.0**-13, 0.1), 0)
    assert (trial.stopped, trial.empty, trial.made) == (True, True, 1)
    assert trial.error == trial.level_error == 0.5


@pytest.mark.parametrize("name", TABLES)
def test_ratings_of_all_systems(name, run):
    found, chosen = run.results.found[name], run.results.chosen[name]
    # One reviewer; every system that has parameters has a choice of its own.
    cells = [Cell(row.system, row.components, row.shards, row.rounds, row.pairs) for row in found]
    names = [(one.system, one.components, one.shards, one.rounds) for one in tuned(cells)]
    assert sorted(names) == sorted((c.system, c.components, c.shards, c.rounds) for c in chosen)
    assert {c.bandwidth for c in chosen} <= set(SMALL.bandwidths)
    systems = {row.system for row in found}
    everywhere = {MEAN, "LSRank", "DRank", "DRank-C", "DRank-RF", "DRank-RF-C", LITERAL, EXACT_RF}
    assert everywhere <= systems
    assert ("MPRank" in systems) == (name == "jester")
    measured = {(row.system, row.components, row.shards, row.rounds) for row in found}
    table = TABLES[name]
    sizes = {(m, p) for m in (0, table.components[0]) for p in (1, table.shards[0])}
    printed = {key for key in paper.TABLES[table.number] if key[1:3] in sizes}
    assert len(printed) > 5
    assert printed <= measured


def test_ratings_in_other_units(run):
    found = run.results.found["jester_scaled"]
    assert {row.group for row in found} == {"jester / 10", "jester / 50"}
    exact = select(found, "jester / 50", "LSRank")
    assert len(exact) == 1
    assert f"| LSRank |  |  | {select(found, 'jester / 10', 'LSRank')[0].error:.4f} |" in run.text()


@pytest.mark.real
@pytest.mark.parametrize("name", TABLES)
def test_there_are_enough_reviewers(name):
    chosen = ratings.SETS[name]
    try:
        table = ratings.load(chosen.name)
    except AbsentError as error:
        pytest.skip(f"{chosen.name} is not here: {error}")
    assert len(ratings.in_band(table, chosen.band)) > 2 * chosen.reference
    reviewer = ratings.test_reviewers(table, chosen)[0]
    rows = ratings.reviewer_rows(table, reviewer, chosen)
    assert rows.X.shape[1] == chosen.reference
    assert len(rows.y) == round(0.7 * (len(rows.y) + len(rows.y_test)))
    assert np.all(np.isfinite(rows.X))


def test_the_tables_hold_what_was_measured(run):
    assert run.written == ["results.md", "figure1.png", "figure2.png", "rounds.png"]
    text = run.text()
    (exact,) = select(run.results.found["figure1"], "raw", "LSRank")
    assert f"LSRank: error {exact.error:.4f}" in text
    assert text.count("\n| LSRank |") == 5  # tables 2, 3, 3 in other units, and 4 twice
    assert f"## Table 4: {parts.SIMULATED_4}" in text
    assert "## DRank-C on the simulated data" in text
    header = run.text("rounds.csv").splitlines()[0]
    assert header == ",".join(field.name for field in fields(Measured))
    assert as_csv(run.results.found["rounds"]) == run.text("rounds.csv")


def test_ratings_that_are_not_there_are_told_of(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(AbsentError):
        ratings.load("jester_1")


def test_the_path_of_selection_is_that_of_the_library():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((60, 3)), rng.standard_normal((20, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    settings = {"kernel": Gaussian(1.5), "dtype": "float64"}
    features = kernel_features(np.vstack([X, new]), 1.5)
    scores = ranked(features[:60], y, features[60:], [0.01, 0.1])
    for column, alpha in zip(scores.T, (0.01, 0.1), strict=True):
        wanted = recipe("LSRank", alpha=alpha, **settings).fit(X, y).predict(new)
        np.testing.assert_allclose(np.diff(column), np.diff(wanted), atol=1e-6)


@pytest.fixture(scope="module")
def few_rows():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((60, 3)), rng.standard_normal((20, 3))
    return X, np.sin(X[:, 0]) + X[:, 1], new


@pytest.mark.parametrize("shards", [1, 4])
def test_paths_of_the_kernel_are_fits_of_the_library(few_rows, shards):
    X, y, new = few_rows
    labels, rounds = deal(60, shards), (2, 8) if shards > 1 else ()
    kernel = Gaussian(CHOICE.bandwidth)
    K, K_new = kernel(X), kernel.against(X)(new)
    found = kernel_path(K, y, K_new, labels, [0.5, CHOICE.alpha], rounds)
    for made, scores in found.items():
        name = "LSRank" if shards == 1 else "DRank-C" if made else "DRank"
        model = estimator(Cell(name, 0, shards, made), CHOICE, 0)
        model.fit(X, y, **({"shard_labels": labels} if shards > 1 else {}))
        expected = np.diff(model.predict(new))
        np.testing.assert_allclose(np.diff(scores[:, 1]), expected, rtol=1e-6, atol=1e-8)


def test_a_round_that_is_stopped_is_not_kept():
    rng = np.random.default_rng(1)
    X, new = rng.standard_normal((60, 3)), rng.standard_normal((20, 3))
    y, labels = np.sin(3 * X[:, 0]), deal(60, 20)
    narrow = Choice(2.0, 2.0**-13, 0.1)
    kernel = Gaussian(narrow.bandwidth)
    found = kernel_path(kernel(X), y, kernel.against(X)(new), labels, [narrow.alpha], (8,))
    model = estimator(Cell("DRank-C", 0, 20, 8), narrow, 0)
    with pytest.warns(MercerWarning, match="diverge"):
        model.fit(X, y, shard_labels=labels)
    expected = np.diff(model.predict(new))
    np.testing.assert_allclose(np.diff(found[8][:, 0]), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shards", [3, 6])  # 20 rows a shard, and 10, for 15 features
def test_paths_of_features_are_fits_of_the_library_and_algorithm_1(few_rows, shards):
    X, y, new = few_rows
    labels = deal(60, shards)
    model = estimator(Cell("DRank-RF", 15, shards), CHOICE, 0).fit(X, y, shard_labels=labels)
    features, seen = model.basis_.evaluate(X), model.basis_.evaluate(new)
    found = features_path(features, y, seen, labels, [0.5, CHOICE.alpha], (1, 3))
    expected = np.diff(model.predict(new))
    np.testing.assert_allclose(np.diff(found[0][:, 1]), expected, rtol=1e-6, atol=1e-8)
    for made in (1, 3):
        g = algorithm_1(features, y, labels, CHOICE.alpha, made)
        np.testing.assert_allclose(found[made][:, 1], seen @ g, rtol=1e-6, atol=1e-8)


def test_errors_of_a_fold_are_pairwise_errors():
    rng = np.random.default_rng(0)
    y, out = np.round(rng.standard_normal(60), 1), np.arange(60) < 25
    scores = np.round(rng.standard_normal((25, 3)), 1)
    found = Fold.of(y, out).errors(scores * np.std(y[~out]))
    expected = [pairwise_error(y[out], column) for column in scores.T]
    np.testing.assert_allclose(found, expected)


def test_systems_are_tuned_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 5))
    y = X[:, 0] + rng.standard_normal(150)
    cells = [Cell("LSRank"), Cell(LITERAL, 40, 6, 8, WITHIN), Cell("DRank-RF", 40, 6)]
    found = choose_each(X, y, cells, (2.0, 8.0))
    exact = choose(X, y, 200, (2.0, 8.0))
    assert (found[cells[0]].bandwidth, found[cells[0]].alpha) == (exact.bandwidth, exact.alpha)
    assert found[cells[0]].error == pytest.approx(exact.error)
    # Rounds of small shards diverge where lambda is small, so they choose more of it.
    assert found[cells[1]].alpha > min(LAMBDAS)
    assert choice_for(Cell("DRank-RF-C", 40, 6, 8, WITHIN), found) == found[cells[1]]
    assert choice_for(Cell("DRank-RF, one shard", 40, 6), found) == found[cells[2]]
    assert choice_for(Cell("DRank"), CHOICE) is CHOICE


def test_selection_finds_what_suits():
    rng = np.random.default_rng(0)
    X = rng.random((120, 1))
    y = np.sin(12 * X[:, 0])
    for components in (50, 200):  # random features, and the exact kernel
        found = choose(X, y, components, (2.0**-2, 2.0**5), (2.0**-13, 2.0**-3))
        assert (found.bandwidth, found.alpha) == (0.25, 2.0**-13)
        assert found.error < 0.1


def test_differences_to_the_exact_kernel_are_within_trials():
    problems = [(draw(trial, rows=300), CHOICE) for trial in range(3)]
    cells = [Cell("LSRank"), Cell("DRank", 0, 3)]
    exact, ours = repeat("made", problems, cells, QUIET)
    gaps = [
        fit(cells[1], rows, choice, seed).error - fit(cells[0], rows, choice, seed).error
        for seed, (rows, choice) in enumerate(problems)
    ]
    assert ours.over_exact == pytest.approx(np.mean(gaps))
    assert ours.over_exact_se == pytest.approx(np.std(gaps, ddof=1) / np.sqrt(3))
    assert np.isnan(exact.over_exact)
    assert np.isnan(ours.over_all)
    cells = [Cell(EXACT_RF, 20), Cell("DRank-RF", 20, 3)]
    goal, ours_rf = repeat("made", problems, cells, QUIET)
    assert ours_rf.over_all == pytest.approx(ours_rf.error - goal.error)
    assert ours_rf.over_all_sd > 0
    assert np.isnan(goal.over_all)
    assert (ours.pairs, ours.trials, ours.rows) == (ALL, 3, 210)


def test_rows_are_dealt_evenly_and_split_at_random():
    assert np.bincount(deal(10, 4)).tolist() == [3, 3, 2, 2]
    X = np.arange(10.0)[:, None]
    rows = split(X, X[:, 0], np.random.default_rng(0))
    assert len(rows.y) == 7
    assert sorted([*rows.y, *rows.y_test]) == list(range(10))
