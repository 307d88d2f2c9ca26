"""The experiment on distributed learning with random features, in small."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.distributed_random_features import real, simulated
from experiments.distributed_random_features.__main__ import EXPERIMENT
from experiments.distributed_random_features.kernel import CutSpline, spline
from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import GRID, PROBLEMS
from experiments.distributed_random_features.summary import (
    fewest_components,
    most_shards,
    slope,
)
from experiments.distributed_random_features.tables import markdown
from experiments.scaffold.data import AbsentError
from experiments.scaffold.records import as_csv, select

from mercer import PeriodicSpline


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
    rows, exact = (run.results.parts[name] for name in ("covtype", "covtype_exact"))
    few, many = (row.error for row in select(rows, group=real.FEATURES, method="DKRR-RF"))
    assert many < few
    (alone,), (cut,) = (
        select(rows, group=real.SHARDS, method=method) for method in ("KRR-RF", "DKRR-RF")
    )
    assert alone.error < cut.error
    assert [row.method for row in exact] == ["DKRR"]
    assert exact[0].error < few


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
