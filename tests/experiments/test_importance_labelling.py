"""Importance labeling: the fast fits are those of the library, and the claims hold loosely."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.importance_labelling import descent, plane, problems, trials
from experiments.importance_labelling.__main__ import EXPERIMENT
from experiments.importance_labelling.drawing import (
    Rounds,
    important,
    labeller,
    probabilities,
    uniform,
)
from experiments.importance_labelling.fits import Products, eigenfunctions, ridge, rmse
from experiments.importance_labelling.measured import Estimate
from experiments.importance_labelling.problems import (
    Features,
    features,
    load,
    network,
    shortened,
    through,
    whiten,
)
from experiments.importance_labelling.summary import (
    gain,
    median,
    reach,
    scatter,
    shrinkage,
    single_gains,
)
from experiments.importance_labelling.trials import METHODS, NOISES, SMALL, UNWEIGHTED
from experiments.scaffold.data import AbsentError
from experiments.scaffold.records import as_csv
from experiments.scaffold.runner import QUIET, Job
from sklearn.utils import Bunch

from mercer import KernelRegressor, RandomFeatures
from mercer.estimators.baselines import EigenfunctionRegressor, TruncatedRidge

PLAIN = {"fit_intercept": False, "dtype": "float64", "metric": None, "scale": None}


@pytest.fixture(scope="module")
def seen():
    """Columns of which some are 0 in nearly all rows: what importance is for."""
    rng = np.random.default_rng(0)
    X = rng.random((2500, 30))
    X[:, 10:] *= rng.random((2500, 20)) < 0.004
    X = np.column_stack([X, np.ones(2500)])
    return Features(X[:2000], X[2000:])


@pytest.fixture(scope="module")
def rows(seen):
    return whiten(seen)


@pytest.fixture(scope="module")
def labels(rows):
    return trials.labels_of(rows, np.random.default_rng(1))


@pytest.fixture(scope="module")
def drawn(seen):
    return Rounds(labeller(1e-6, 300, 0).fit(seen.pool)).draw([300])[0]


def test_the_fast_path_is_the_regressor_of_the_library(seen, rows, labels, drawn):
    alpha, y = 1e-4, labels.y[drawn.rows]
    products = Products.of(rows.pool[drawn.rows], y, drawn.weight)
    fast = ridge(products, rows.values, [alpha])
    model = KernelRegressor("linear", RandomFeatures(), alpha, **PLAIN).fit(
        seen.pool[drawn.rows], y, sample_weight=drawn.weight
    )
    predicted = model.predict(seen.test)
    np.testing.assert_allclose(rows.test @ fast[0], predicted, rtol=1e-7, atol=1e-7)
    errors = np.sqrt(np.mean((predicted - (rows.test @ labels.coefficients)[:, None]) ** 2, axis=0))
    for Z in (rows.test, rows.brief):
        np.testing.assert_allclose(rmse(fast, Z, labels.coefficients)[0], errors, rtol=1e-6)


def test_sssr_is_that_of_the_library(seen, rows, labels):
    y = labels.y[:300]
    products = Products.of(rows.pool[:300], y, np.ones(300))
    sizes = [3, 10, 12]
    fast = eigenfunctions(products, rows.values, sizes)
    for size, found in zip(sizes, fast, strict=True):
        model = EigenfunctionRegressor("linear", RandomFeatures(), size)
        model.fit(seen.pool[:300], y[:, 0], X_unlabelled=seen.pool[300:])
        expected = model.predict(seen.test)
        np.testing.assert_allclose(rows.test @ found[:, 0], expected, rtol=1e-6, atol=1e-6)


def test_ktr3_is_that_of_the_library(seen, rows, labels):
    alpha, y = 1e-4, labels.y[:300, 2]
    model = TruncatedRidge("linear", RandomFeatures(), alpha, random_state=3, **PLAIN).fit(
        seen.pool[:300], y
    )
    used = model.used_
    first = Products.of(rows.pool[used], y[used, None], np.ones(len(used)))
    fast = ridge(first, rows.values, [alpha * 300 / len(used)])  # a mean over those used
    truth = rows.test @ labels.coefficients
    expected = np.sqrt(np.mean((model.predict(seen.test) - truth) ** 2))
    found = rmse(fast, rows.test, labels.coefficients, np.abs(y).max())
    assert found.item() == pytest.approx(expected, rel=1e-6)


def test_the_pool_is_white_and_the_truth_has_unit_coefficients(seen, rows, labels):
    np.testing.assert_allclose(rows.pool.T @ rows.pool / 2000, np.eye(len(rows.values)), atol=1e-8)
    assert np.all(np.diff(rows.values) <= 0)
    f = seen.pool @ (rows.back @ labels.coefficients)
    np.testing.assert_allclose(labels.y[:, 0], f, atol=0.01)


def test_rounds_are_draws_of_their_own(seen):
    fitted = labeller(1e-6, 100, 0).fit(seen.pool)
    indices, weight = fitted.indices_, fitted.sample_weight_
    rounds = Rounds(fitted)
    first, more = rounds.draw([100, 250])
    np.testing.assert_array_equal(first.rows, indices)
    np.testing.assert_allclose(first.weight, weight)
    np.testing.assert_array_equal(more.rows, fitted.indices_)
    np.testing.assert_allclose(more.weight, fitted.sample_weight_)
    (other,) = rounds.draw([250])
    counts = other.weight * 2000 * fitted.probability_[other.rows]
    assert counts.sum() == pytest.approx(250)
    assert not np.array_equal(other.rows, more.rows)
    with pytest.raises(ValueError, match="the first round has 100 draws"):
        Rounds(labeller(1e-6, 100, 0).fit(seen.pool)).draw([50])


def test_uniform_rows_are_distinct_and_nested():
    few, many = uniform(100, [10, 100], np.random.default_rng(0))
    np.testing.assert_array_equal(few.rows, many.rows[:10])
    np.testing.assert_array_equal(np.sort(many.rows), np.arange(100))


@pytest.fixture(scope="module")
def run(miniature, seen):
    """Figures 1 and 2, and figure 3 on the linear task, without real pixels."""

    def no_data(name):
        raise AbsentError("not here")

    def dealt(name, pool, test, repeat):
        X = np.concatenate([seen.pool, seen.test])
        order = np.random.default_rng(repeat).permutation(len(X))
        return X[order[:pool]], X[order[pool:]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "TASKS", ("linear",))
        patch.setattr(trials, "load", dealt)
        patch.setattr(
            trials, "features", lambda task, pool, test, width, repeat: Features(pool, test)
        )
        patch.setattr(problems, "load_set", no_data)
        return miniature(EXPERIMENT, parts=("figure1", "figure2", "mnist", "descent"))


@pytest.fixture(scope="module")
def found(run):
    return run.results.trials["mnist"]


def test_importance_finds_what_uniform_draws_miss(found):
    assert len(found) == len(METHODS) * 2 * 2 * len(NOISES)
    assert gain(found, "linear", 300, NOISES[0], "KRR") > 100
    for method in METHODS:
        assert median(found, "linear", 300, 1e-6, method) <= median(
            found, "linear", 150, 1e-6, method
        )
    assert all(trial.rmse <= trial.typical for trial in found)


def test_every_repeat_has_a_split_of_its_own(found):
    ratios = single_gains(found, "linear", 300, NOISES[0], "KRR")
    assert len(ratios) == SMALL.repeats
    assert len(set(ratios)) == SMALL.repeats
    assert min(ratios) > 1
    first, second = (load_made_up(repeat) for repeat in (0, 1))
    assert not np.array_equal(first, second)
    nets = [features("nonlinear", first, first, 20, repeat).pool for repeat in (0, 0, 1)]
    np.testing.assert_array_equal(nets[0], nets[1])
    assert not np.allclose(nets[0], nets[2])


def load_made_up(repeat):
    """Return the pool of a set whose rows are numbered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problems, "load_set", lambda name: Bunch(X=np.arange(300.0).reshape(100, 3)))
        return load("mnist", 60, 40, repeat)[0]


def test_repeats_that_were_kept_are_not_run_again(run, found, monkeypatch):
    monkeypatch.setattr(trials, "one_repeat", None)
    monkeypatch.setattr(trials, "TASKS", ("linear",))
    job = Job("mnist", SMALL, run.folder, resume=True)
    assert as_csv(trials.run(job)) == run.text("mnist.csv")


def test_scores_of_the_pool_are_those_of_the_labeller(seen, rows):
    alphas = (1e-9, 1e-4, 1e-1)
    for alpha, chance in zip(alphas, probabilities(rows.pool, rows.values, alphas), strict=True):
        fitted = labeller(alpha, 100, 0).fit(seen.pool)
        np.testing.assert_allclose(chance, fitted.probability_, rtol=1e-6)


def test_important_draws_are_nested_and_their_weights_unbiased(rows):
    (chance,) = probabilities(rows.pool, rows.values, [1e-6])
    rng = np.random.default_rng(0)
    few, many = important(chance, [50, 400], rng)
    assert set(few.rows) <= set(many.rows)
    counts = many.weight * len(chance) * chance[many.rows]
    np.testing.assert_allclose(counts, np.round(counts))
    assert counts.sum() == pytest.approx(400)
    # The mean weight of a draw is 1: sums over draws stand for sums over the pool.
    means = [important(chance, [400], rng)[0].weight.sum() / 400 for _ in range(200)]
    assert np.mean(means) == pytest.approx(1, abs=0.01)


def test_with_much_noise_all_are_alike(found):
    assert gain(found, "linear", 300, 1e2, "KRR") < 3
    assert 0.5 < gain(found, "linear", 300, 1e-6, UNWEIGHTED) < 2


def test_importance_makes_estimates_of_the_plane_less_scattered(run):
    estimates = run.results.estimates
    spread = {
        scheme: np.percentile([abs(one.beta2 - 1) for one in estimates if one.scheme == scheme], 75)
        for scheme in plane.SCHEMES
    }
    assert spread["CRED"] < 0.95 * spread["uniform"]


def test_spreads_are_quantiles_that_far_trials_do_not_move(run):
    rng = np.random.default_rng(0)
    values = {"uniform": 1 + rng.standard_normal(400), "CRED": 1 + 0.5 * rng.standard_normal(400)}
    values["CRED"][:4] = 1e6
    made = [
        Estimate(scheme, trial, value, value)
        for scheme, found in values.items()
        for trial, value in enumerate(found)
    ]
    one, ratio = scatter(made, "CRED", "beta1"), shrinkage(made, "CRED", "beta1")
    assert one.middle_half == pytest.approx(0.5 * 1.349, rel=0.15)
    assert one.mad == pytest.approx(0.5 * 0.6745, rel=0.15)
    assert ratio.low < 0.5 < ratio.high < 0.7
    assert ratio.ratio == pytest.approx(
        one.middle_half / scatter(made, "uniform", "beta1").middle_half
    )
    points = run.results.points
    assert 1.4 < reach(points, "uniform") < 2.6 < reach(points, "CRED") < 4.2


def test_everything_is_written_from_the_files(run, found):
    assert run.written == ["results.md", "figure1.png", "figure2.png", "figure3.png"]
    assert "nan" not in run.text()
    assert as_csv(found) == run.text("mnist.csv")
    middle = median(found, "linear", 300, 1.0, "CRED")
    assert f"| {middle:.3g} (" in run.text()


def test_a_set_that_is_absent_is_skipped(run):
    assert any("descent: skipped, as its data are not at hand" in line for line in run.told)
    assert not (run.folder / "descent.csv").exists()
    assert "Gradient descent" not in run.text()


def test_few_rows_measure_as_many(rows):
    np.testing.assert_allclose(
        rows.brief.T @ rows.brief / len(rows.brief), rows.test.T @ rows.test / 500, atol=1e-9
    )
    assert len(shortened(np.ones((3, 5)))) == 3


def test_the_network_keeps_lengths_and_has_no_bias():
    X = np.random.default_rng(0).standard_normal((200, 40))
    weights = network(40, 300)
    H = through(weights, X)
    assert [layer.shape for layer in weights] == [(40, 300), (300, 300), (300, 300)]
    assert np.sum(H**2) == pytest.approx(np.sum(X**2), rel=0.3)
    np.testing.assert_allclose(through(weights, 2 * X), 2 * H)
    assert features("nonlinear", X, X, 300).pool.shape == (200, 300)


@pytest.mark.real
def test_real_pixels():
    try:
        pool, test = load("mnist", 1500, 300)
    except AbsentError as error:
        pytest.skip(f"there are no data of MNIST: {error}")
    assert (pool.shape, test.shape) == ((1500, 784), (300, 784))
    assert (pool.min(), pool.max()) == (0.0, 1.0)
    tiny = replace(SMALL, labels=(500, 1000), scores=(1e-9,), pool=1500, test=300, width=20)
    paths = descent.run(tiny, QUIET)
    errors = {(one.method, one.steps, one.noise): one.rmse for one in paths}
    assert errors["RF-CRED-GD", 30, 1e-6] < errors["RF-CRED-GD", 5, 1e-6]
    assert errors["CRED-GD", 30, 1.0] == pytest.approx(errors["RF-CRED-GD", 30, 1.0], rel=1e-6)
    assert errors[descent.ANALYTIC, 0, 1e-6] < errors[descent.ACCELERATED, 30, 1e-6]
