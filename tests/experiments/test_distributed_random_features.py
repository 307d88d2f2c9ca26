"""The experiment on distributed learning with random features, in small."""

from dataclasses import fields, replace

import numpy as np
import pytest
from experiments.distributed_random_features import real, simulated
from experiments.distributed_random_features.__main__ import PARTS, run, write
from experiments.distributed_random_features.kernel import CutSpline, spline
from experiments.distributed_random_features.measured import (
    Measured,
    as_csv,
    from_csv,
    select,
)
from experiments.distributed_random_features.problems import GRID, PROBLEMS
from experiments.distributed_random_features.summary import (
    fewest_components,
    most_shards,
    slope,
)
from experiments.distributed_random_features.tables import markdown

from mercer import PeriodicSpline

SMALL = replace(real.SETS["higgs_subset"], train=400, test=200, trials=2, exact_trials=1)


def quiet(line):
    pass


@pytest.fixture(scope="module")
def found():
    return simulated.run(sizes=(100, 200, 400), trials=2, progress=quiet)


@pytest.fixture(scope="module")
def on_real():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int8)
    close = replace(SMALL, bandwidth=1.0)
    rows = real.run(close, X, y, components=(5, 100), partitions=(1, 25), progress=quiet)
    return rows, real.run_exact(close, X, y, progress=quiet)


def test_every_method_is_measured_at_every_size(found):
    for name in PROBLEMS:
        for method in simulated.METHODS:
            rows = select(found, name, method)
            assert [row.rows for row in rows] == [100, 200, 400]
            assert all(row.error > 0 and row.seconds > 0 and row.trials == 2 for row in rows)


def test_the_easy_problem_falls_as_one_over_n(found):
    for method in simulated.METHODS:
        assert slope(select(found, "easy", method))[0] == pytest.approx(-1.0, abs=0.35)


def test_files_are_read_as_they_were_written(found, tmp_path):
    text = as_csv(found)
    assert text.splitlines()[0] == ",".join(field.name for field in fields(Measured))
    (tmp_path / "found.csv").write_text(text)
    assert as_csv(from_csv(tmp_path / "found.csv")) == text


def test_tables_and_figures_come_from_the_files(found, on_real, tmp_path):
    rows, exact = on_real
    small = simulated.run_constants(sizes=(100, 200, 400), trials=1, progress=quiet)
    files = {"constants": small, "covtype": rows, "covtype_exact": exact}
    files |= {name: [row for row in found if row.group == name] for name in PROBLEMS}
    for name, part in files.items():
        (tmp_path / f"{name}.csv").write_text(as_csv(part))
    run("fits", tmp_path / "fits.csv", quiet)
    write(tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {f"figure{number}.png" for number in (5, 6, 7, 8, 12)}
    text = (tmp_path / "results.md").read_text()
    power, error = slope(select(found, "general", "DKRR-RF"))
    assert f"{-power:.2f} ± {error:.2f}" in text
    assert "Not run: susy was not at hand." in text


def test_results_can_be_written_before_anything_was_run():
    assert "not run" in markdown({})


def test_more_features_help_and_more_shards_do_not(on_real):
    rows, exact = on_real
    few, many = (row.error for row in select(rows, real.FEATURES, "DKRR-RF"))
    assert many < few
    alone, cut = select(rows, real.SHARDS, "KRR-RF"), select(rows, real.SHARDS, "DKRR-RF")
    assert alone[0].error < cut[0].error
    assert [row.method for row in exact] == ["DKRR"]
    assert exact[0].error < few


def test_a_set_that_is_not_there_is_skipped_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    lines = []
    run("susy", tmp_path / "susy.csv", lines.append)
    assert "susy: skipped" in lines[0]
    assert not (tmp_path / "susy.csv").exists()


def test_parts_have_names_of_their_own():
    assert len(set(PARTS)) == len(PARTS)


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
