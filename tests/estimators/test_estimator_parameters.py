"""Every parameter takes effect, by the constructor, by set_params and in a grid search."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import GIVEN, MEDIAN, regressor, rows, targets
from mercer import (
    ArcCosine,
    FullKernel,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KFold,
    Landmarks,
    LeaveOneOut,
    Matern,
    MemoryLimitError,
    PeriodicSpline,
    Polynomial,
    RandomFeatures,
    Ridge,
)
from mercer.engines import ThreadEngine
from mercer.kernels import InMetric
from pairs import over_each

X, Y = rows(), targets(rows())
NEW = rows(12, seed=9)

OF_SHARDS = {"basis": Landmarks(5)}
CHECKPOINT = tempfile.TemporaryDirectory()


def shards_of(model):
    told = model.fit_.communication
    return 0 if told is None else told.shards


def wrote_a_checkpoint():
    files = list(Path(CHECKPOINT.name).iterdir())
    for file in files:
        file.unlink()
    return any(file.name == "fit.json" for file in files)


#: parameter -> (settings before, beside MEDIAN, new value, what a fit must show after)
EFFECTS = {
    "kernel": ({}, "matern", lambda m: isinstance(m.kernel_, Matern)),
    "metric": ({}, np.array([2.0, 0.5]), lambda m: np.array_equal(m.metric_, [2.0, 0.5])),
    "scale": ({}, "standard", lambda m: isinstance(m.kernel_, InMetric)),
    "columns": ({}, None, lambda m: m.columns_ is None),
    "missing": ({}, "error", lambda m: m.columns_ is None),  # arrays are then taken as they are
    "unlabelled": ({}, "use", lambda m: m.fit(X, [np.nan, *Y[1:]]).fit_.n_rows == len(X)),
    "basis": ({}, RandomFeatures(7), lambda m: m.basis_.size == 7),
    "alpha": ({}, 0.123, lambda m: m.alpha_ == 0.123),
    "alphas": (
        {"alpha": "auto"},
        [0.1, 0.2],
        lambda m: m.cv_results_["alpha"].tolist() == [0.1, 0.2],
    ),
    "selection": (
        {"alpha": "auto"},
        "gcv",
        lambda m: "generalized" in m.cv_results_["criterion"],
    ),
    "solver": (
        {"basis": "landmarks"},
        Ridge("eigen"),
        lambda m: "Cholesky" not in m.fit_.solution.reason,
    ),
    "fit_intercept": ({}, False, lambda m: np.all(m.intercept_ == 0)),
    "weight_type": (
        {"basis": "landmarks", "alpha": 0.5},
        "importance",
        lambda m: m.fit(X, Y, np.full(len(X), 2.0)).alpha_ == 0.25,
    ),
    "dtype": (
        {"basis": "random_features"},
        "float32",
        lambda m: m.fit_.plan.precision == "float32",
    ),
    "memory_limit": ({}, "123MB", lambda m: m.fit_.plan.memory_limit == 123_000_000),
    "random_state": (
        {"basis": Landmarks(5)},
        77,
        lambda m: np.array_equal(
            m.basis_.indices_,
            regressor(basis=Landmarks(5), random_state=77).fit(X, Y).basis_.indices_,
        ),
    ),
    "warm_start": ({"solver": "kcgm"}, True, lambda m: m._fitted_to is not None),
    "verbose": ({}, 2, lambda m: m.verbose == 2),  # what it prints: see the summary's tests
    "shards": (OF_SHARDS, 3, lambda m: shards_of(m) == 3),
    "shuffle": ({**OF_SHARDS, "shards": 2}, False, lambda m: not m.shuffle),
    "combine": (
        {**OF_SHARDS, "shards": 2},
        "average",
        lambda m: m.fit_.combination.startswith("average"),
    ),
    "rounds": (
        {**OF_SHARDS, "shards": 2, "combine": "conjugate"},
        2,
        lambda m: m.n_iter_ == 2,
    ),
    "engine": (
        {**OF_SHARDS, "shards": 2},
        ThreadEngine(workers=1),
        lambda m: isinstance(m.engine, ThreadEngine) and shards_of(m) == 2,
    ),
    "checkpoint": (
        OF_SHARDS,
        CHECKPOINT.name,
        lambda m: wrote_a_checkpoint(),
    ),
    "remember_rows": ({}, True, lambda m: m._remembered is not None),
}

#: The same for parameters that only regressors have.
OF_NUMBERS = {
    "intervals": ({"basis": "landmarks"}, None, lambda m: m.fit_.intervals is None),
    "alpha_per_target": (
        {"alpha": "auto"},
        True,
        lambda m: np.shape(m.fit(X, np.column_stack([Y, Y**2])).alpha_) == (2,),
    ),
}

#: The same for parameters that only classifiers have.
OF_CLASSES = {
    "class_weight": (
        {"basis": "landmarks", "fit_intercept": False},
        {1: 3.0},
        lambda m: m.fit_.weight > len(X),
    ),
    "calibration": (
        {"basis": "landmarks"},
        "sigmoid",
        lambda m: m.calibration_ is not None and m.calibration_.map.name == "sigmoid",
    ),
}


def test_every_parameter_is_in_the_walk():
    assert set(EFFECTS) | set(OF_NUMBERS) == set(KernelRegressor().get_params(deep=False))
    assert set(EFFECTS) | set(OF_CLASSES) == set(KernelClassifier().get_params(deep=False))


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_parameters_of_regressors_take_effect(name):
    before, value, shows = OF_NUMBERS[name]
    settings = {"alpha": 1e-3, "random_state": 0, **MEDIAN, **before}
    model = KernelRegressor(**settings).fit(X, Y)
    assert not shows(model)
    assert shows(model.set_params(**{name: value}).fit(X, Y))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_parameters_of_classifiers_take_effect(name):
    before, value, shows = OF_CLASSES[name]
    y = np.digitize(Y, [0.0])
    settings = {"alpha": 1e-3, "random_state": 0, "calibration": None, **MEDIAN, **before}
    model = KernelClassifier(**settings).fit(X, y)
    assert not shows(model)
    assert shows(model.set_params(**{name: value}).fit(X, y))
    assert shows(KernelClassifier(**{**settings, name: value}).fit(X, y))


@over_each(name=EFFECTS, cls=[KernelRegressor, KernelClassifier])
def test_every_parameter_takes_effect_through_set_params(name, cls, capsys):
    before, value, shows = EFFECTS[name]
    settings = {"alpha": 1e-3, "random_state": 0, **MEDIAN, **before}
    y = Y if cls is KernelRegressor else np.digitize(Y, [0.0])
    model = cls(**settings).fit(X, y)
    if name != "verbose":
        assert not shows(model)
    model.set_params(**{name: value})
    assert shows(model.fit(X, y))
    assert shows(cls(**{**settings, name: value}).fit(X, y))
    assert ("outputs" in capsys.readouterr().out) == (name == "verbose")


@pytest.mark.parametrize(
    ("settings", "nested", "shows"),
    [
        ({"kernel": Gaussian()}, {"kernel__bandwidth": 3.0}, lambda m: m.kernel_.bandwidth == 3.0),
        ({"kernel": "gaussian"}, {"kernel__bandwidth": 3.0}, lambda m: m.kernel_.bandwidth == 3.0),
        (
            {"kernel": "gaussian"},
            {"kernel": "matern", "kernel__nu": 2.5},
            lambda m: isinstance(m.kernel_, Matern) and m.kernel_.nu == 2.5,
        ),
        (
            {"kernel": "matern"},
            {"kernel": Matern(), "kernel__nu": 2.5},
            lambda m: m.kernel_.nu == 2.5,
        ),
        (
            {"kernel": Gaussian() + Matern()},
            {"kernel__right__nu": 0.5},
            lambda m: m.kernel_.right.nu == 0.5,
        ),
        ({"kernel": Polynomial()}, {"kernel__degree": 5}, lambda m: m.kernel_.degree == 5),
        ({"kernel": Polynomial()}, {"kernel__gamma": 0.1}, lambda m: m.kernel_.gamma == 0.1),
        ({"kernel": Polynomial()}, {"kernel__offset": 0.0}, lambda m: m.kernel_.offset == 0.0),
        ({"kernel": "arc_cosine"}, {"kernel__order": 0}, lambda m: m.kernel_.order == 0),
        ({"kernel": "periodic_spline"}, {"kernel__order": 4}, lambda m: m.kernel_.order == 4),
        ({"basis": Landmarks(5)}, {"basis__n_components": 9}, lambda m: m.basis_.size == 9),
        ({"basis": "landmarks"}, {"basis__n_components": 9}, lambda m: m.basis_.size == 9),
        (
            {"basis": Landmarks(5)},
            {"basis__sampling": GIVEN},
            lambda m: set(map(tuple, m.basis_.landmarks_)) == set(map(tuple, GIVEN)),
        ),
        (
            {"basis": Landmarks(5)},
            {"basis__random_state": 77},
            lambda m: np.array_equal(
                m.basis_.indices_, Landmarks(5, random_state=77).fit(X).indices_
            ),
        ),
        ({"basis": RandomFeatures(5)}, {"basis__n_components": 9}, lambda m: m.basis_.size == 9),
        (
            {"basis": RandomFeatures(2)},
            {"basis__orthogonal": True},
            lambda m: abs(m.basis_.features_.turns[:, 0] @ m.basis_.features_.turns[:, 1]) < 1e-12,
        ),
        (
            {"selection": KFold(3), "alpha": "auto"},
            {"selection__n_splits": 4},
            lambda m: "split3_squared_error" in m.cv_results_,
        ),
        (
            {"selection": LeaveOneOut(), "alpha": "auto"},
            {"selection__sample": 5},
            lambda m: "5 rows" in m.cv_results_["criterion"],
        ),
        (
            {"solver": Ridge(), "basis": "landmarks"},
            {"solver__method": "eigen"},
            lambda m: "Cholesky" not in m.fit_.solution.reason,
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_nested_parameters_take_effect(settings, nested, shows):
    model = regressor(**{"alpha": 1e-3, "random_state": 0, **settings}).fit(X, Y)
    assert not shows(model)
    assert shows(model.set_params(**nested).fit(X, Y))


def test_the_method_of_the_solver_takes_effect_with_the_full_kernel():
    fits = [
        KernelRegressor(basis="full", alpha=1e-3, solver=Ridge(method)).fit(X, Y).fit_.solution
        for method in ("cholesky", "eigen")
    ]
    assert "Cholesky" in fits[0].reason
    assert "Cholesky" not in fits[1].reason


@pytest.mark.parametrize("name", ["kernel__width", "basis__size", "alpah", "kernel__bandwidth__x"])
def test_misspelled_parameters_are_refused(name):
    model = KernelRegressor("gaussian", basis=Landmarks(5))
    with pytest.raises((ValueError, AttributeError), match=r"Invalid parameter|has no attribute"):
        model.set_params(**{name: 1})


@pytest.mark.parametrize("name", ["kernel__bandwidth", "kernel__width"])
def test_parameters_of_a_kernel_that_is_searched_are_refused(name):
    model = KernelRegressor()
    with pytest.raises(ValueError, match=r"kernel='auto' has no parameters: set kernel="):
        model.set_params(**{name: 1.0})
    assert model.kernel == "auto"


def test_a_refused_parameter_changes_nothing():
    model = KernelRegressor(kernel="gaussian")
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(kernel__width=2.0)
    assert model.kernel == "gaussian"


def test_setting_a_nested_parameter_of_one_model_leaves_others_alone():
    kernel = Gaussian(1.0)
    first = KernelRegressor(kernel=kernel)
    clone(first).set_params(kernel__bandwidth=5.0)
    assert kernel.bandwidth == 1.0
    named = KernelRegressor(kernel="gaussian")
    clone(named).set_params(kernel__bandwidth=5.0)
    assert named.kernel == "gaussian"


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": Gaussian(), "basis": Landmarks(5), "selection": KFold(3), "solver": Ridge()},
        {"kernel": ArcCosine() * PeriodicSpline(), "basis": FullKernel()},
    ],
    ids=["landmarks", "product"],
)
def test_fitting_leaves_every_parameter_alone(settings):
    model = KernelRegressor(random_state=0, **settings)
    before = {name: str(value) for name, value in model.get_params().items()}
    objects = {name: model.get_params(deep=False)[name] for name in settings}
    model.fit(X, Y).predict(NEW)
    assert {name: str(value) for name, value in model.get_params().items()} == before
    for name, value in objects.items():
        assert getattr(model, name) is value
        assert not [key for key in vars(value) if key.endswith("_")]


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian()], ids=["name", "object"])
def test_a_grid_search_over_nested_parameters(kernel):
    grid = {"kernel__bandwidth": [0.01, 0.5], "basis__n_components": [2, 10]}
    search = GridSearchCV(
        KernelRegressor(kernel, Landmarks(), 1e-4, random_state=0), grid, cv=3
    ).fit(X, Y)
    assert search.best_params_ == {"basis__n_components": 10, "kernel__bandwidth": 0.5}
    assert search.best_estimator_.kernel_.bandwidth == 0.5
    assert search.best_estimator_.basis_.size == 10
    for bandwidth, size, score in zip(
        search.cv_results_["param_kernel__bandwidth"],
        search.cv_results_["param_basis__n_components"],
        search.cv_results_["mean_test_score"],
        strict=True,
    ):
        model = KernelRegressor(Gaussian(bandwidth), Landmarks(size), 1e-4, random_state=0)
        assert score == pytest.approx(cross_val_score(model, X, Y, cv=3).mean())


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian()], ids=["name", "object"])
def test_a_grid_search_in_a_pipeline(kernel):
    pipeline = make_pipeline(StandardScaler(), KernelRegressor(kernel, alpha=1e-3))
    grid = {"kernelregressor__kernel__bandwidth": [1e-3, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_params_ == {"kernelregressor__kernel__bandwidth": 1.0}
    assert search.score(X, Y) > 0.8


def test_a_grid_search_over_kernels_by_name_and_their_parameters():
    grid = {"kernel": ["gaussian", "laplacian_l1"], "kernel__bandwidth": [0.01, 0.7]}
    search = GridSearchCV(KernelRegressor(alpha=1e-3), grid, cv=3).fit(X, Y)
    assert search.best_params_["kernel__bandwidth"] == 0.7
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_memory_limit_through_set_params_is_kept():
    model = KernelRegressor(basis="full").fit(X, Y)
    with pytest.raises(MemoryLimitError, match="full kernel of 30 rows"):
        model.set_params(memory_limit=100).fit(X, Y)


def test_a_bases_own_seed_goes_before_the_estimators():
    chosen = [
        regressor(basis=Landmarks(5, random_state=3), random_state=seed).fit(X, Y).basis_.indices_
        for seed in (0, 1)
    ]
    np.testing.assert_array_equal(*chosen)


def test_a_seed_of_zero_is_a_seed():
    chosen = [
        regressor(basis=Landmarks(5, random_state=0), random_state=seed).fit(X, Y).basis_.indices_
        for seed in (3, 4)
    ]
    np.testing.assert_array_equal(*chosen)
