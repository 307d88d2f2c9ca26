"""Errors by the number of labels: the same number for every way to draw, and what comes out."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.importance_labelling import budgets, problems
from experiments.importance_labelling.__main__ import EXPERIMENT
from experiments.importance_labelling.budget_figure import by_labels, errors_of, settings
from experiments.importance_labelling.budgets import CRED, PLAIN, RANDOM, UNIFORM, VARIANCE, WAYS
from experiments.importance_labelling.measured import Budgeted
from experiments.importance_labelling.trials import SMALL
from experiments.scaffold.data import AbsentError
from experiments.scaffold.runner import Job
from sklearn.utils import Bunch

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(miniature):
    """The two problems that need no data."""

    def no_data(name):
        raise AbsentError("not here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budgets, "load", no_data)
        patch.setattr(problems, "load_set", no_data)
        return miniature(EXPERIMENT, parts=("budgets",))


@pytest.fixture(scope="module")
def found(run):
    return run.results.budgets


def test_every_way_is_measured_in_every_repeat(run, found):
    assert settings(found) == {
        "plane": [5, 10], "crowd, noise 0.0001": [60, 120], "crowd, noise 0.25": [60, 120]
    }  # fmt: skip
    assert len(found) == len(WAYS) * 2 * SMALL.repeats * (10 + 2 * 2)
    assert all(one.error > 0 for one in found)
    assert run.written == ["results.md", "figure4.png"]
    assert sum("skipped" in line for line in run.told) == 5
    assert "nan" not in run.text()
    even = np.median(errors_of(found, "plane", 5, UNIFORM))
    assert f"| plane | 5 | {even:.3g} | " in run.text()


def test_a_pool_that_is_a_crowd_is_what_importance_and_variance_are_for(found):
    name = "crowd, noise 0.0001"
    middle = {way: np.median(errors_of(found, name, 60, way)) for way in WAYS}
    for way in (CRED, PLAIN, VARIANCE, RANDOM):
        assert middle[way] < middle[UNIFORM]


def test_all_ways_have_as_many_labels():
    problem = budgets.crowd_problem(replace(SMALL, budget_rows=(400, 10)), 0)
    for sampling in ("leverage", "variance", "random_variance"):
        found = budgets.drawn(problem, sampling, 80, seed=1)
        assert len(found.indices_) == 80
        assert found.n_draws_ >= 80
    assert (problem.pool.shape, len(problem.targets)) == ((400, 2), 2)


def test_repeats_that_were_kept_are_not_run_again(run, found, monkeypatch):
    monkeypatch.setattr(budgets, "one_repeat", lambda name, repeat, size: [])
    again = budgets.run(Job("budgets", SMALL, run.folder, resume=True))
    assert again == found


def test_real_sets_have_columns_of_unit_spread(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((500, 3)) * [1.0, 10.0, 100.0], rng.integers(0, 3, 500)
    whole, parts = Bunch(X=X, y=y), Bunch(X_train=X[:300], y_train=y[:300])
    parts |= {"X_test": X[300:], "y_test": y[300:]}
    for given in (whole, parts):
        monkeypatch.setattr(budgets, "load", lambda name, given=given: given)
        one = budgets.real_problem("made up", True, SMALL, 0)
        assert (one.pool.shape, one.test.shape) == ((300, 3), (100, 3))
        np.testing.assert_allclose(one.pool.std(axis=0), 1.0)
        target = one.targets["made up"]
        assert 0 < one.error(target, np.arange(50), None) < 1


def test_ratios_are_of_the_same_repeat():
    made = [
        Budgeted("a", "a", 10, repeat, way, factor * (1 + repeat))
        for repeat in range(4)
        for way, factor in zip(WAYS, (1.0, 0.5, 2.0, 1.0, 0.25), strict=True)
    ]
    text = str(by_labels(made))
    for cell in ("1.25 (0.50 ± 0.00)", "5 (2.00 ± 0.00)", "0.625 (0.25 ± 0.00)"):
        assert cell in text
