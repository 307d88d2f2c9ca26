"""The claims of the paper on kernel conjugate gradients, loosely, from a few trials."""

import numpy as np
import pytest
from experiments.kernel_conjugate_gradients.__main__ import EXPERIMENT
from experiments.kernel_conjugate_gradients.methods import METHODS, RIDGE, ridge
from experiments.kernel_conjugate_gradients.problem import (
    RATE,
    draw,
    knots,
    squared_distance,
    truth,
)
from experiments.kernel_conjugate_gradients.summary import EACH, ORACLE, choices
from experiments.kernel_conjugate_gradients.trials import Size, run
from experiments.scaffold.runner import Job

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow

PAPER = ("sketched", "nystroem", "classic")


@pytest.fixture(scope="module")
def large(miniature):
    return miniature(EXPERIMENT, Size(4, (64, 1024), PAPER))


@pytest.fixture(scope="module")
def results(large):
    return large.results


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


def test_ridge_regression_does_not_depend_on_n_once_scaled(miniature):
    results = miniature(EXPERIMENT, Size(5, (32, 256), (RIDGE,)), write=False).results
    scaled = [choices(results, RIDGE, n)[ORACLE].scaled(n).mean for n in (32, 256)]
    assert all(0.2 < value < 0.8 for value in scaled)


@pytest.mark.parametrize("name", PAPER)
def test_no_rule_does_better_than_the_one_that_knows_the_truth(results, name):
    found = choices(results, name, 1024)
    least = found.pop(EACH)
    for other in found.values():  # the discrepancy rule may find the best step every time
        assert least.mean * (1 - 1e-9) <= other.mean < 0.01


def test_the_tables_hold_what_was_measured(large):
    found = choices(large.results, "sketched", 1024)[ORACLE].scaled(1024)
    assert f"{found.mean:.2f} ± {found.error:.2f} (3)" in large.text()
    assert large.text("steps.csv").count("\n") == 1 + sum(
        METHODS[name].steps(n) for name in PAPER for n in (64, 1024)
    )
    assert large.text("sizes.csv").count("\n") == 1 + 3 * 4 * 2
    assert large.written[3:] == ["figure1.png", "figure2.png"]


def test_the_same_every_time(tmp_path):
    job = Job("trials", Size(1, (32,)), tmp_path)
    assert run(job) == run(job)


def test_what_is_kept_is_not_run_again(large, tmp_path):
    size = Size(1, (64, 32), PAPER)
    (tmp_path / "trials.json").write_text(large.text("trials.json"))
    run(Job("trials", size, tmp_path, resume=True))
    found = EXPERIMENT.read(tmp_path, size)
    assert found.sizes == [32, 64, 1024]
    assert found.steps["classic", 64] == large.results.steps["classic", 64]


def test_the_distance_is_that_of_a_fine_grid():
    X, y = draw(64, trial=0)
    model, at = ridge(64, 1.0).fit(X, y), knots(X)
    grid = (np.arange(200_000) + 0.5) / 200_000
    expected = np.mean((model.predict(grid[:, None]) - truth(grid)) ** 2)
    assert squared_distance(at, model.predict(at[:, None])) == pytest.approx(expected, rel=1e-6)


def test_the_rate_is_that_of_the_paper():
    assert pytest.approx(2 / 3) == RATE
