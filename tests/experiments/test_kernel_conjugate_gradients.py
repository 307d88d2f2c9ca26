"""The claims of the paper on kernel conjugate gradients, loosely, from a few trials."""

import numpy as np
import pytest
from experiments.kernel_conjugate_gradients.methods import METHODS, RIDGE, ridge
from experiments.kernel_conjugate_gradients.problem import (
    RATE,
    draw,
    knots,
    squared_distance,
    truth,
)
from experiments.kernel_conjugate_gradients.summary import EACH, ORACLE, choices
from experiments.kernel_conjugate_gradients.tables import markdown, sizes_csv, steps_csv
from experiments.kernel_conjugate_gradients.trials import run

PAPER = ("sketched", "nystroem", "classic")


@pytest.fixture(scope="module")
def results():
    return run(sizes=(64, 1024), trials=10, methods=PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_the_error_falls_for_three_steps_and_rises_after(results, name):
    mean = np.mean(results.steps[name, 1024].errors, axis=0)
    assert mean[2] < mean[1] < mean[0]
    assert mean[2] < mean[3] < mean[7]
    assert mean[2] < 0.5 * min(mean[0], mean[7])


@pytest.mark.parametrize("name", PAPER)
def test_the_training_error_falls_with_every_step(results, name):
    training = np.array(results.steps[name, 1024].training)[:, : METHODS[name].steps(1024)]
    assert np.all(np.diff(training, axis=1) < 1e-12)


@pytest.mark.parametrize("name", PAPER)
def test_the_error_falls_at_about_the_rate_of_the_theory(results, name):
    scaled = [choices(results, name, n)[ORACLE].scaled(n).mean for n in (64, 1024)]
    assert all(0.2 < value < 1.0 for value in scaled)
    # Falling as 1/n would be a ratio of 1/2.5, not falling at all one of 6.3.
    assert 0.4 < scaled[1] / scaled[0] < 2.0


def test_ridge_regression_does_not_depend_on_n_once_scaled():
    results = run(sizes=(32, 256), trials=10, methods=[RIDGE])
    scaled = [choices(results, RIDGE, n)[ORACLE].scaled(n).mean for n in (32, 256)]
    assert all(0.2 < value < 0.8 for value in scaled)


@pytest.mark.parametrize("name", PAPER)
def test_no_rule_does_better_than_the_one_that_knows_the_truth(results, name):
    found = choices(results, name, 1024)
    least = found.pop(EACH)
    assert all(least.mean <= other.mean < 0.01 for other in found.values())


def test_the_tables_hold_what_was_measured(results):
    text = markdown(results)
    found = choices(results, "sketched", 1024)[ORACLE].scaled(1024)
    assert f"{found.mean:.2f} ± {found.error:.2f} (3)" in text
    assert steps_csv(results).count("\n") == 1 + sum(
        METHODS[name].steps(n) for name in PAPER for n in (64, 1024)
    )
    assert sizes_csv(results).count("\n") == 1 + 3 * 4 * 2


def test_the_same_every_time():
    first, second = (run(sizes=(32,), trials=2) for _ in range(2))
    assert markdown(first) == markdown(second)


def test_the_distance_is_that_of_a_fine_grid():
    X, y = draw(64, trial=0)
    model, at = ridge(64, 1.0).fit(X, y), knots(X)
    grid = (np.arange(200_000) + 0.5) / 200_000
    expected = np.mean((model.predict(grid[:, None]) - truth(grid)) ** 2)
    assert squared_distance(at, model.predict(at[:, None])) == pytest.approx(expected, rel=1e-6)


def test_the_rate_is_that_of_the_paper():
    assert pytest.approx(2 / 3) == RATE
