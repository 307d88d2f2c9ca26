"""The experiment on distributed learning with random features, in small."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from experiments.distributed_random_features import as_stored, by_shards, real, simulated
from experiments.distributed_random_features.__main__ import EXPERIMENT
from experiments.distributed_random_features.closed_form import order_half, order_one
from experiments.distributed_random_features.kernel import CutFeatures, CutSpline, spline
from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import GRID, PROBLEMS
from experiments.distributed_random_features.summary import (
    fewest_components,
    most_shards,
    slope,
)
from experiments.distributed_random_features.tables import markdown
from experiments.scaffold.data import AbsentError, Split
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.records import as_csv, select

from mercer import Gaussian, PeriodicSpline, RandomFeatures, recipe

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(miniature):
    """Everything, on rows in the place of covtype; other real sets are absent."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int8)

    def load(chosen):
        if chosen.name != "covtype":
            raise AbsentError("not here")
        return X, y

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "load", load)
        patch.setitem(real.SETS, "covtype", replace(real.SETS["covtype"], bandwidth=1.0))
        patch.setattr(simulated, "CONSTANTS", (1.0, 4.0))
        for name, problem in PROBLEMS.items():
            few = min(problem.harmonics, 2**12)  # Fourier transforms take most of the time
            patch.setitem(PROBLEMS, name, replace(problem, harmonics=few))
        return miniature(EXPERIMENT)


@pytest.fixture(scope="module")
def found(run):
    return [row for name in PROBLEMS for row in run.results.parts[name]]


def test_every_method_is_measured_at_every_size(found):
    for name in PROBLEMS:
        for method in simulated.METHODS:
            rows = select(found, group=name, method=method)
            assert [row.rows for row in rows] == [100, 200, 400]
            assert all(row.error > 0 and row.seconds > 0 and row.trials == 2 for row in rows)


def test_the_easy_problem_falls_as_one_over_n(found):
    for method in simulated.METHODS:
        assert slope(select(found, group="easy", method=method))[0] == pytest.approx(-1.0, abs=0.35)


def test_tables_and_figures_come_from_the_files(run, found):
    drawn = [f"figure{number}.png" for number in (5, 6, 7, 8, 12)]
    assert run.written == ["results.md", *drawn]
    assert as_csv(run.results.parts["general"]) == run.text("general.csv")
    power, error = slope(select(found, group="general", method="DKRR-RF"))
    assert f"{-power:.2f} ± {error:.2f}" in run.text()
    assert "Not run: susy was not at hand." in run.text()
    assert any("susy: skipped" in line for line in run.told)


def test_results_can_be_written_before_anything_was_run():
    assert "not run" in markdown({})


def test_more_features_help_and_more_shards_do_not(run):
    names = ("covtype", "covtype_exact", "covtype_shards")
    rows, exact, by_m = (run.results.parts[name] for name in names)
    few, many = (row.error for row in select(rows, group=real.FEATURES, method="DKRR-RF"))
    assert many < few
    assert len(by_m) == 2 * len(by_shards.READINGS)
    alone, cut = select(by_m, group=by_shards.OF_SHARD)
    assert (alone.method, cut.method, alone.shards, cut.shards) == ("KRR-RF", "DKRR-RF", 1, 25)
    assert alone.error < cut.error
    assert cut.alpha == pytest.approx(25 * alone.alpha)
    fixed = select(by_m, group=by_shards.OF_ALL)
    assert fixed[0].alpha == fixed[1].alpha == alone.alpha
    assert [row.method for row in exact] == ["DKRR"]
    assert exact[0].error < few


def test_the_setting_of_the_authors_code(run):
    rows = run.results.parts["covtype_stored"]
    few, many = select(rows, group=real.FEATURES)
    assert (few.components, many.components) == (5, 100)
    assert many.error < few.error
    alone, cut = select(rows, group=as_stored.SHARDS)
    assert (alone.shards, cut.shards) == (1, 38)  # of 400 rows
    assert cut.alpha == pytest.approx(38 * alone.alpha, rel=1e-5)
    text = run.text()
    assert as_stored.SOURCE in text
    assert " | 0.2418 |" in text  # what is stored for M = 100
    assert {curve.name for curve in run.results.authors} == set(real.SETS)


def test_one_shard_of_the_authors_is_a_ridge_fit():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)), rng.integers(0, 2, 300)
    rows = Split(X[:200], y[:200], X[200:], y[200:])
    chosen = replace(real.SETS["covtype"], train=200, test=100)
    draw = np.random.default_rng([real.SEED, 30])
    basis = RandomFeatures(30, kernel=Gaussian(2.0), random_state=draw).fit(X[:1])
    H = np.column_stack([basis.transform(X), np.ones(300)]).astype(float)
    A = H[:200].T @ H[:200] + 2.0**-6 * np.eye(31)
    w = np.linalg.solve(A, H[:200].T @ y[:200])
    expected = np.mean((H[200:] @ w > 0.5) != y[200:])
    assert as_stored.error(chosen, rows, 30, 1) == pytest.approx(expected, abs=0.011)


def test_knees():
    def curve(name, pairs):
        base = Measured("", "", 9, 9, 1, 0.1, 1, 0.0, 0.0, 1.0, 0.0)
        return [replace(base, **{name: key, "error": error}) for key, error in pairs]

    shards = curve("shards", [(1, 0.2), (10, 0.203), (20, 0.21), (30, 0.2)])
    assert most_shards(shards) == 10  # past the first rise nothing counts
    assert most_shards(shards, 0.06) == 30
    features = curve("components", [(10, 0.4), (100, 0.201), (200, 0.22), (300, 0.2)])
    assert fewest_components(features, 0.2) == 300
    assert fewest_components(features, 0.2, 0.11) == 100
    assert fewest_components(features, 0.1) is None


def test_the_cut_spline_is_its_series():
    t = np.random.default_rng(0).random(50)
    k = np.arange(1, 501)
    expected = 1 + 2 * np.cos(2 * np.pi * t[:, None] * k) @ (1 / k)
    np.testing.assert_allclose(spline(t, 1.0), expected, atol=1e-4)
    X = t[:, None]
    np.testing.assert_allclose(CutSpline(np.inf)(X), PeriodicSpline(np.inf)(X), atol=1e-6)


def test_features_of_the_cut_spline_average_to_it():
    X = GRID[:64]
    psi = CutSpline().feature_map(1, 1, np.random.default_rng(0))
    shifted = replace(psi, knots=np.arange(1024) / 1024)  # exact, as the grid is
    values = shifted(X, "float64")
    np.testing.assert_allclose(values @ values.T / 1024, CutSpline()(X), atol=1e-3)


def test_theory_sets_sizes():
    general = PROBLEMS["general"]
    assert (general.rate, general.components(10_000), general.shards(10_000)) == (0.5, 400, 25)
    assert PROBLEMS["easy"].rate == 1.0
    difficult = PROBLEMS["difficult"]
    assert (difficult.rate, difficult.components(1000), difficult.shards(1000)) == (0.0, 250, 4)


def test_all_harmonics_have_closed_forms():
    t = np.array([1e-6, 0.05, 0.21, 0.5, 0.83])
    for closed, order in ((order_half, 0.5), (order_one, 1.0)):
        waves = [mpmath.polylog(order, mpmath.expjpi(2 * one)) for one in t]
        expected = [1 + 2 * float(wave.real) for wave in waves]
        np.testing.assert_allclose(closed(t), expected, rtol=1e-9)
        np.testing.assert_array_equal(spline(t, order, np.inf), closed(t))


def test_features_of_all_harmonics_average_to_the_kernel():
    # integral of psi(x, w) psi(z, w) dw over the knots, with midpoints between the singularities
    knots = (np.arange(2_000_000) + 0.5) / 2_000_000
    psi = CutFeatures(knots, 0.5, np.inf)(np.array([[0.1], [0.35]]), "float64")
    assert np.mean(psi[0] * psi[1]) == pytest.approx(order_one(np.array([0.25]))[0], abs=0.02)


@pytest.mark.parametrize("method", simulated.METHODS)
def test_the_distance_by_harmonics_is_that_on_the_grid(method):
    problem = replace(PROBLEMS["difficult"], harmonics=500)
    X, y = problem.draw(120, 0)
    model = simulated.estimator(problem, method, 120, 0).fit(X, y)
    assert problem.by_harmonics(model) == pytest.approx(problem.excess(model, 0), rel=1e-6)


def test_a_cut_makes_the_difficult_problem_easy_and_many_harmonics_do_not(run):
    def falls(harmonics):
        problem = replace(PROBLEMS["difficult"], harmonics=harmonics)
        first, last = (simulated.repeat(problem, "KRR", n, 5).error for n in (100, 400))
        return last / first

    assert falls(30) < 0.1  # 61 dimensions, which 400 rows determine
    assert falls(2**14) > 0.5
    assert "| difficult | all | 0.25 |" in run.text()


@pytest.mark.parametrize("shards", [1, 3, 40])
def test_curves_against_shards_are_those_of_the_library(shards):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 3))
    y = (X[:, 0] * X[:, 1] > 0.3).astype(np.int8)
    more = {"shard_labels": np.arange(240) % shards} if shards > 1 else {}
    cut = {"shards": None} if shards > 1 else {}
    for alpha in (1e-1, 1e-4):
        model = recipe(
            "DKRR-RF" if shards > 1 else "KRR-RF",
            "classification",
            kernel=Gaussian(1.0),
            alpha=alpha,
            n_components=30,
            fit_intercept=True,  # as in the experiment
            dtype="float64",
            random_state=0,
            **cut,
        ).fit(X, y, **more)
        H = model.basis_.evaluate(X)
        w, constant = averaged(H, np.where(y[:, None], 1.0, -1.0), [alpha], shards, intercept=True)
        mine = H @ w[0, :, 0] + constant[0, 0]
        np.testing.assert_allclose(mine, model.decision_function(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chosen", real.SETS.values(), ids=real.SETS)
def test_each_panel_of_real_sets_has_our_curve_and_that_of_the_authors(chosen):
    results = EXPERIMENT.read(EXPERIMENT.folder, EXPERIMENT.full)
    figure = EXPERIMENT.outputs[f"figure{chosen.figure}.png"](results)
    for axes in figure.axes[:2]:
        labels = axes.get_legend_handles_labels()[1]
        assert labels[0].startswith("the authors' stored means")
        assert len(labels) > 1
