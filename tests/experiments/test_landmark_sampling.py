"""The experiment on ways to choose landmarks, on few rows and with few landmarks."""

import csv

import numpy as np
import pytest
from experiments.landmark_sampling.__main__ import EXPERIMENT
from experiments.landmark_sampling.over_shards import SHARDED_SMALL, WAYS, exact_leverage
from experiments.landmark_sampling.over_shards_report import errors
from experiments.landmark_sampling.problems import PROBLEMS, as_targets, islands, split
from experiments.landmark_sampling.summary import curve, equivalent, ratio, worth, worths
from experiments.landmark_sampling.trials import (
    SAMPLINGS,
    SMALL,
    TINY,
    Case,
    Size,
    cases,
    measured,
    trace_error,
    uniform_sizes,
)
from experiments.landmark_sampling.unevenness import unevenness
from experiments.scaffold.data import AbsentError

from mercer import Gaussian, KernelRegressor, Landmarks
from mercer.sampling import exact_scores

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(miniature):
    return miniature(EXPERIMENT)


@pytest.fixture(scope="module")
def results(run):
    return run.results


def case_of(X, y, seed=0):
    part = split(X, y.reshape(-1, 1), seed, 600, 200)
    return Case("islands", 1.0, seed, part, Gaussian("median").fitted(part.X))


def test_every_way_sees_every_split(results):
    for name in SMALL.problems:
        for factor, asked in SMALL.sizes.items():
            for sampling in SAMPLINGS:
                sizes, errors = curve(results, name, factor, sampling, "error")
                wanted = uniform_sizes(asked) if sampling == "uniform" else asked
                assert tuple(sizes) == wanted
                splits = SMALL.repeats if factor == 1.0 else SMALL.other_repeats
                assert errors.shape == (splits, len(wanted))
                if name == "letter":
                    assert np.all(errors[:, -1] < errors[:, 0])
                _, traces = curve(results, name, factor, sampling, "trace")
                assert np.all((traces >= 0) & (traces < 1))
    assert all(0 <= one.choosing <= one.fitting for one in results.found)
    assert [(one.size, one.factor) for one in results.loo] == [(50, 1.0)] * 4 * len(SAMPLINGS)
    assert {one.problem for one in results.found if np.isnan(one.wrong)} == {"islands"}


def test_chosen_landmarks_find_the_islands(results):
    for sampling in ("leverage", "rpcholesky"):
        assert worth(results, "islands", 1.0, sampling, "trace").low > 1
        assert ratio(results, "islands", 1.0, sampling, "trace").high < 1
    by_name = {(one.problem, one.factor): one for one in results.uneven}
    assert by_name["islands", 1.0].spread > 1.5 * by_name["letter", 1.0].spread
    assert by_name["islands", 2.0].spread > by_name["islands", 1.0].spread


def test_tables_and_figures_hold_what_was_measured(run):
    found = worth(run.results, "letter", 1.0, "kmeans", "trace")
    assert f"{found.middle:.2f} ({found.low:.2f}-{found.high:.2f})" in run.text()
    rows = list(csv.DictReader(run.text("fits.csv").splitlines()))
    assert len(rows) == len(run.results.found)
    assert float(rows[3]["error"]) == pytest.approx(run.results.found[3].error, rel=1e-5)
    assert run.written == ["results.md", "errors.png", "trace.png", "gain.png", "shards.png"]


def test_every_way_sees_the_same_shards(run):
    found = run.results.shards
    assert len(found) == SMALL.repeats * len(SHARDED_SMALL.points()) * len(WAYS)
    assert sorted({(one.partitions, one.size) for one in found}) == [
        (2, 60),
        (4, 20),
        (4, 60),
        (8, 60),
    ]
    for way in WAYS:
        few, many = (errors(found, "letter", way, 4, size).mean() for size in (20, 60))
        assert many < few < 1 - 1 / 26
    mean = 100 * errors(found, "letter", "uniform", 4, 60).mean()
    assert f"| letter | 4 | 60 | {mean:.2f} ±" in run.text()
    (one,) = run.results.scored
    assert one.rows == 400
    assert 1 / 3 < one.low <= one.middle <= one.high < 3
    assert f"| letter | 400 | 1e-07 | {one.dimension:.0f} |" in run.text()


def test_exact_scores_by_cholesky_are_those_of_the_library():
    X, _ = islands(200)
    found = exact_leverage(Gaussian(1.0), X, 1e-3)
    np.testing.assert_allclose(found, exact_scores(Gaussian(1.0), X, 1e-3), rtol=1e-8)
    with pytest.raises(ValueError, match="alpha=1e-30 is too small"):
        exact_leverage(Gaussian(1.0), np.zeros((50, 2)), 1e-30)


def test_the_tiny_alpha_is_that_of_a_fit_with_it():
    case = case_of(*islands(1000))
    found = measured(case, "leverage", 50)
    basis = Landmarks(50, "leverage", alpha="size")
    model = KernelRegressor(case.kernel, basis, alpha=TINY, dtype="float64", random_state=case.seed)
    model.fit(case.part.X, case.part.Y)
    predicted = model.predict(case.part.X_test)
    assert found.error_tiny == pytest.approx(case.part.error(predicted), rel=1e-6)
    assert found.lonely_tiny == pytest.approx(case.part.error(predicted, case.lonely), rel=1e-6)


def test_trace_error_is_that_of_the_features():
    X, _ = islands(300)
    basis = Landmarks(40, kernel=Gaussian(1.0), random_state=0).fit(X)
    features = basis.transform(X)
    left = np.trace(Gaussian(1.0)(X) - features @ features.T)
    assert trace_error(basis, X) == pytest.approx(left / len(X), rel=1e-6)


def test_lonely_rows_are_those_without_neighbors():
    X, y = islands(1000)
    case = case_of(X, y)
    near = case.kernel(case.part.X_test, case.part.X).mean(axis=1)
    assert near[case.lonely].max() < np.median(near)
    assert len(case.lonely) == 10


def test_unevenness_of_rows_that_are_all_alike():
    X = 100.0 * np.eye(200)
    found = unevenness("islands", 1.0, Gaussian(1.0), X, (50, 200))
    assert found.peak == pytest.approx(1)
    assert found.spread == pytest.approx(0, abs=1e-8)
    assert found.best == pytest.approx((0.75, 0))


def test_worth_is_one_for_the_uniform_curve_itself(results):
    _, found = worths(results, "letter", 1.0, "uniform", "trace")
    assert found == pytest.approx(np.ones_like(found))
    rising = np.array([1.0, 0.5, 0.6, 0.2])
    sizes = np.array([10, 20, 40, 80])
    assert equivalent(np.array([0.5, 2.0, 0.1]), sizes, rising) == pytest.approx([20, 10, 80])


def test_classes_become_columns():
    assert as_targets(np.array(list("abca"))).argmax(axis=1).tolist() == [0, 1, 2, 0]
    part = split(np.arange(8.0)[:, None], as_targets(np.arange(8) % 2), 0, 6, 2)
    assert part.classes
    assert part.wrong(-part.Y_test) == 1


@pytest.mark.real
@pytest.mark.parametrize("name", ["eeg", "covtype"])
def test_real_sets_are_split_and_scaled(name):
    try:
        size = Size(repeats=1, problems=PROBLEMS, train=500, test=200)
        (case,) = cases(name, size, [1.0])
    except AbsentError as error:
        pytest.skip(f"the data are not here: {error}")
    assert np.abs(case.part.X.mean(axis=0)).max() < 1e-6
    assert set(np.unique(case.part.Y)) == {-1.0, 1.0}
    assert measured(case, "uniform", 50).error < 1.1
