"""Plans: figures that hang together, sizes that fit, and requests that are refused."""

import json

import matplotlib
import numpy as np
import pandas as pd
import pytest
from problems import request_for, rows_of

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    PlanDisplay,
)
from mercer.plan.cost import Speeds, direct_seconds
from mercer.theory import Cluster, Forecaster, study_rows
from mercer.theory.forecast import SHAPES
from mercer.theory.system_costs import COSTS, Sizes, measured_speeds

matplotlib.use("Agg")


def problem(n=1200, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(5 * X[:, 0]) * X[:, 1] + noise * rng.standard_normal(n)


def model(**settings):
    return KernelRegressor(Gaussian(0.4), random_state=0, **settings)


@pytest.fixture(scope="module")
def plan():
    X, y = problem()
    return model().plan(X, y, n_rows=1e6, workers=20)


def test_a_plan_has_every_system_and_leaves_the_estimator_alone(plan):
    X, y = problem()
    estimator = model()
    before = dict(vars(estimator))
    estimator.plan(X, y, sample=400, n_components=32)
    assert vars(estimator) == before
    names = [one.name for one in plan.systems]
    assert names == ["this estimator", *SHAPES]
    assert plan.recommended in plan.systems
    assert plan.forecast.n_rows == 1_000_000


def test_expected_errors_are_near_the_noise_of_a_smooth_problem(plan):
    for one in plan.systems:
        assert one.error.low <= one.error.value <= one.error.high
        assert one.error.value == pytest.approx(0.1, rel=0.2)


def test_more_workers_are_faster_where_work_is_shared(plan):
    for one in plan.systems:
        if one.name in ("KRR-Nystroem", "DNystroem", "DKRR-RF"):
            assert one.cluster_seconds < one.seconds
    krr = next(one for one in plan.systems if one.name == "KRR")
    assert krr.cluster_seconds == krr.seconds
    assert "over the memory limit" in krr.note


def test_the_tables_and_json_tell_the_same(plan):
    record = json.loads(json.dumps(plan.to_dict()))
    assert record["recommended"] == plan.recommended.name
    assert [one["name"] for one in record["systems"]] == [one.name for one in plan.systems]
    text = str(plan)
    for title, header, rows in plan.tables():
        assert title in text
        assert all(name in text for name in header)
        assert len(rows) == len(plan.systems)
    assert "source r" in text
    assert "20 workers" in text
    assert plan._repr_html_().count("<table") == 3
    assert "theorem 11" in plan.statements()


def test_the_display_draws_all_panels(plan):
    display = PlanDisplay.from_plan(plan)
    assert display.axes_.shape == (2, 2)
    assert all(ax.lines for ax in display.axes_.flat)
    assert display.axes_[1, 0].get_xlabel() == "functions"


def test_the_expected_error_is_that_of_a_fit():
    """A forecast for rows that are there, against a fit to them."""
    X, y = problem(4000)
    test, truth = problem(4000, seed=1)
    found = model(basis="landmarks").plan(X, y, sample=1500)
    fitted = model(basis="landmarks").fit(X, y)
    error = np.sqrt(np.mean((fitted.predict(test) - truth) ** 2))
    assert found.systems[0].functions == fitted.basis_.wanted_size(4000)
    assert found.systems[0].error.value == pytest.approx(error, rel=0.1)


def test_classes_are_planned_by_their_error_rate():
    X, y = problem()
    found = KernelClassifier(Gaussian(0.4), random_state=0).plan(X, y > 0.2)
    assert found.forecast.classes
    assert "error rate" in str(found)
    assert 0 <= found.recommended.error.value < 0.3
    PlanDisplay.from_plan(found)


def test_tables_files_and_shards_are_planned(tmp_path):
    X, y = problem(800)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(
        town=np.where(X[:, 0] > 0.5, "Ashby", "Bray"), y=y
    )
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    options = {"sample": 400, "n_components": 32}
    estimator = KernelRegressor("gaussian", metric=None, scale="standard", random_state=0)
    from_file = estimator.plan(str(path), "y", **options)
    from_frame = estimator.plan(frame.drop(columns="y"), frame["y"], **options)
    assert from_file.forecast.n_features == from_frame.forecast.n_features == 4
    assert from_file.systems[0].error.value == pytest.approx(from_frame.systems[0].error.value)
    sharded = model(shards=3).plan(X, y, **options)
    assert sharded.recommended.error.value == pytest.approx(0.1, rel=0.25)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"n_rows": 0}, "n_rows must be a finite number at least 1"),
        ({"network": "fast"}, "network must be a number of bytes"),
        ({"network": "auto"}, "network must be a number of bytes"),
        ({"sample": 10}, "sample must be at least 320"),
        ({"n_components": 1}, "n_components must be at least 16"),
    ],
)
def test_bad_options_are_refused_before_any_work(options, message):
    with pytest.raises(ValueError, match=message):
        model().plan(np.full((5, 1), np.nan), None, **options)


def test_what_cannot_be_planned_is_refused():
    X, y = problem(500)
    with pytest.raises(ValueError, match="not a precomputed kernel"):
        KernelRegressor("precomputed").plan(X @ X.T, y)
    with pytest.raises(ValueError, match="at least 320 rows"):
        model().plan(X[:100], y[:100])
    with pytest.raises(ValueError, match="y is constant: there is nothing to learn"):
        model().plan(X, np.ones(500))
    assert not hasattr(KernelRanker(), "plan")


def test_a_plan_for_any_number_of_rows_and_workers():
    X, y = problem(400)
    found = model(memory_limit="1GB").plan(X, y, n_rows=1e12, workers=10**6, n_components=32)
    assert found.recommended.memory <= 1e9
    assert np.isfinite([one.cluster_seconds for one in found.systems]).all()


def test_the_cost_model_moves_as_it_should():
    speeds = Speeds()
    small = Sizes(10_000, 10, 1, 500)
    for name, cost in COSTS.items():
        shards = 4 if name in ("average", "rounds") else 1
        one = Sizes(10_000, 10, 1, 500, shards, 8 if name == "rounds" else 0)
        more = Sizes(100_000, 10, 1, 500, shards, one.rounds)
        assert cost(more, speeds, Cluster())[0] > cost(one, speeds, Cluster())[0]
    sum_seconds, sent = COSTS["sum"](small, speeds, Cluster())
    once = direct_seconds(10_000, 500, 10, True, True)
    assert once < sum_seconds < 1.4 * once + 0.5
    assert sent == 8 * 500 * (501 / 2 + 1 + 2)  # a triangle, and vectors
    slow = COSTS["sum"](small, speeds, Cluster(10, network=1e3))[0]
    assert slow > COSTS["sum"](small, speeds, Cluster(10, network=1e9))[0] + sent / 1e3


def test_a_size_by_theory_is_that_of_the_rows_to_plan_for():
    X, y = problem(600)
    estimator = model(basis=Landmarks("theory"))
    few, many = (estimator.plan(X, y, n_rows=n, n_components=32).systems[0] for n in (600, 3000))
    assert few.functions < many.functions
    assert "by theory" in many.note


def test_an_estimator_that_does_not_fit_is_named_beside_the_others():
    X, y = problem(400)
    found = model(basis="full").plan(X, y, n_rows=1e6, n_components=32)
    assert found.systems[0].name == "KRR"
    assert "over the memory_limit" in found.remarks()[0]
    assert "this estimator: " in str(found)


def test_measured_speeds_are_those_of_a_machine():
    X = np.random.default_rng(0).random((300, 5))
    found = measured_speeds(Gaussian(0.5), X)
    assert 1e7 < found.outer < 1e14
    assert 1e-12 < found.value < 1e-5
    assert found.column == 0


def test_memory_bounds_the_functions_of_a_forecast():
    X = problem()[0]
    rough = np.sign(np.sin(40 * X[:, 0]) * np.sin(40 * X[:, 1]))  # always wants more functions
    request = request_for(rough, Gaussian(0.1))
    study = study_rows(rows_of(X, rough), request, n_components=128)
    common = {"speeds": Speeds(), "cluster": Cluster()}
    for limit in (200_000_000, 5_000_000_000):
        found = Forecaster(study, request, 500_000, 2, **common, memory_limit=limit).forecast()
        by = {one.name: one for one in found.systems}
        assert by["KRR-Nystroem"].memory <= limit
        assert found.recommended.memory <= limit
