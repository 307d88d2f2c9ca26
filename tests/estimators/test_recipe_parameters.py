"""Recipes are the systems of their papers: no default of the estimators gets in."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from cases import rows, targets
from mercer import (
    ActiveLearner,
    FullKernel,
    Gaussian,
    GradientDescent,
    KernelRanker,
    KernelRegressor,
    LaplacianL1,
    Linear,
    Matern,
    RandomFeatures,
    Ridge,
    StopAfter,
    recipe,
)
from mercer.recipes import RECIPES
from mercer.solvers import PreconditionedCG
from mercer.solvers.solver import IterativeSolver

over_recipes = pytest.mark.parametrize("name", RECIPES)
OF_THEIR_OWN = [name for name, found in RECIPES.items() if found.estimator is not None]


def made(name, *task, **parameters):
    """The estimator of a recipe."""
    shards = {} if RECIPES[name].combine is None else {"shards": 3}
    return recipe(name, *task, **shards, **parameters)


def parts(estimator):
    """The parameters of an estimator; of its model, if it draws rows first."""
    model = estimator.model if isinstance(estimator, ActiveLearner) else estimator
    return model.get_params()


@over_recipes
def test_nothing_is_left_to_a_default(name):
    found = parts(made(name))
    assert repr(found["kernel"]) == "Gaussian(bandwidth='median')"
    assert found["kernel"].parameters_with("auto") == []
    if name == "SSSR":  # an estimator without these
        assert not {"metric", "scale", "selection", "fit_intercept"} & found.keys()
        return
    assert (found["metric"], found["scale"], found["columns"]) == (None, None, None)
    assert found["selection"] == ("loo" if name == "MPRank" else "gcv")
    assert "auto" not in (found["kernel"], found["basis"], found["solver"])
    assert found.get("fit_intercept", False) is False  # no paper has one
    required = "require" if name == "DKRR-RF semi-supervised" else "use"
    assert found["unlabelled"] == required


@over_recipes
@pytest.mark.parametrize(
    ("kernel", "bandwidths"),
    [
        ("matern", {"bandwidth": "median"}),
        (LaplacianL1("auto"), {"bandwidth": "median"}),
        (Gaussian(2.0), {"bandwidth": 2.0}),
        (
            Gaussian() + Matern(2.5, "median") * Gaussian(3.0),
            {
                "left__bandwidth": "median",
                "right__left__bandwidth": "median",
                "right__right__bandwidth": 3.0,
            },
        ),
        (Linear(), {}),
    ],
    ids=str,
)
def test_an_open_bandwidth_is_the_median_distance(name, kernel, bandwidths):
    found = parts(made(name, kernel=kernel))["kernel"].get_params()
    assert {key: found[key] for key in found if key.endswith("bandwidth")} == bandwidths


@over_recipes
def test_every_parameter_is_set_alone_and_in_any_order(name):
    """What needs other parameters is checked by the fit: any value is stored until then."""
    before = made(name).get_params()
    leaves = [key for key in before if not any(other.startswith(f"{key}__") for other in before)]
    for key in before:
        value = object()
        after = made(name).set_params(**{key: value}).get_params()
        assert after.pop(key) is value
        assert all(repr(after[leaf]) == repr(before[leaf]) for leaf in leaves if leaf in after)
    one, other = made(name), made(name)
    for key in leaves:
        one.set_params(**{key: f"new {key}"})
    for key in reversed(leaves):
        other.set_params(**{key: f"new {key}"})
    assert repr(one.get_params()) == repr(other.get_params())
    assert {key: one.get_params()[key] for key in leaves} == {key: f"new {key}" for key in leaves}


@over_recipes
def test_parameters_of_parts_may_be_given_to_the_recipe(name):
    parts = {key: f"new {key}" for key in made(name).get_params() if key.count("__") == 1}
    found = made(name, **parts).get_params()
    assert {key: found[key] for key in parts} == parts


@pytest.mark.parametrize("name", ["CRED-GD", "RF-CRED-GD"])
@pytest.mark.parametrize(
    ("parameter", "steps"),
    [
        ({"step_size": 0.6}, 167),
        ({"max_steps": 5}, 5),
        ({"stop": StopAfter(7)}, 7),
        ({"stop__alpha": 0.1}, None),
        ({"step_size": -1.0}, "step_size of GradientDescent must be"),
        ({"stop__alpha": -1.0}, "alpha of StopAtPenalty must be"),
        ({"stop__alpha": "small"}, "alpha of StopAtPenalty must be"),
    ],
    ids=str,
)
def test_the_arguments_of_cred_gd_are_checked_by_the_fit(name, parameter, steps):
    """Algorithm 1 is CRED-GD(eta, lambda_q, T), with T = ceil(1 / (eta alpha)) unless given."""
    size = None if name == "CRED-GD" else 10
    asked = {"alpha": 0.01, "budget": 30, "random_state": 0, "weight_type": "relative"}
    model = recipe(name, n_components=size, **asked)
    model.set_params(**{f"model__solver__{key}": value for key, value in parameter.items()})
    pool = rows(60)
    if isinstance(steps, str):
        with pytest.raises((TypeError, ValueError), match=steps):
            model.fit(pool, targets(pool))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five steps are too few
        model.fit(pool, targets(pool))
    assert steps is None or model.model_.n_iter_ == steps


def test_the_basis_of_the_user_is_not_changed():
    model = recipe("SSSR", n_components=10).fit(rows(40), targets(rows(40)))
    assert (model.basis.kernel, hasattr(model.basis, "kernel_")) == (None, False)


def test_the_kernel_of_the_user_is_not_changed():
    kernel = Gaussian() + Linear()
    made("KRR", kernel=kernel)
    assert kernel.left.bandwidth == "auto"


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "SSSR"])
def test_what_is_passed_is_kept(name):
    asked = {"kernel": "auto", "metric": "full", "scale": "quantile", "selection": "kfold"}
    if RECIPES[name].draws:
        asked["kernel"] = Gaussian(2.0)  # labeller and model have the same
    if RECIPES[name].estimator is not KernelRanker:
        asked["fit_intercept"] = True
    found = parts(made(name, **asked))
    kernel = asked.pop("kernel")
    assert repr(found["kernel"]) == repr(kernel)
    assert {key: found[key] for key in asked} == asked


def test_a_recipe_is_the_plain_fit():
    X = rows(60)
    y = targets(X)
    model = recipe("KRR").fit(X, y)
    assert model.search_results_ is None
    assert model.metric_ is None
    common = {"metric": None, "scale": None, "selection": "gcv", "solver": "ridge"}
    plain = KernelRegressor(Gaussian("median"), "full", fit_intercept=False, **common)
    assert np.array_equal(model.predict(X), plain.fit(X, y).predict(X))
    assert isinstance(model.kernel_, Gaussian)


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in OF_THEIR_OWN])
def test_two_classes_are_the_regression_of_signs(name):
    """The score of a class is the recipe fitted to +1 and -1."""
    X = rows(120)
    y = np.sign(targets(X) - 0.3)
    found, settings = RECIPES[name], {"kernel": Gaussian(0.5), "random_state": 0}
    if found.basis is not FullKernel:
        settings["n_components"] = 20
    if found.solver in (Ridge, PreconditionedCG) or found.draws:
        settings["alpha"] = 1e-3
    if found.draws:
        settings["budget"] = 60
    elif found.solver is not None and issubclass(found.solver, IterativeSolver):
        settings["solver"] = found.solver(StopAfter(5))
    names = np.where(y > 0, "up", "down").astype(object)
    if found.unlabelled == "require":
        y[::7], names[::7] = np.nan, None
    scores = made(name, "classification", **settings).fit(X, names).decision_function(X)
    values = made(name, "regression", **settings).fit(X, y).predict(X)
    np.testing.assert_allclose(scores, values, rtol=1e-6, atol=1e-7 * np.abs(values).max())


@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_recipes_with_an_estimator_of_their_own_take_no_task(name):
    with pytest.raises(ValueError, match="omit task="):
        recipe(name, "classification", kernel="gaussian")


def test_recipes_that_draw_share_kernel_functions_and_alpha():
    model = recipe("RF-CRED-GD", n_components=30, alpha=1e-3, budget=50, random_state=7)
    assert isinstance(model, ActiveLearner)
    assert (model.same_basis, model.same_alpha, model.weight_type) == (True, True, "importance")
    labeller, fit = model.labeller, model.model
    assert (labeller.alpha, labeller.budget, fit.alpha) == (1e-3, 50, "auto")
    assert isinstance(labeller.basis, RandomFeatures)
    assert labeller.basis.n_components == 30
    assert labeller.random_state == fit.random_state == 7
    assert repr(labeller.kernel) == repr(fit.kernel)
    model = recipe("CRED", labeller__basis="landmarks", model__alpha=1e-5, same_alpha=False)
    assert (model.labeller.basis, model.model.alpha, model.same_alpha) == ("landmarks", 1e-5, False)
    model = recipe("CRED-GD", solver=GradientDescent(StopAfter(5)))
    assert model.model.solver.stop.steps == 5


@pytest.mark.parametrize("name", ["FALKON", "DC-Sketch", "KTR3", "SSSR", "MPRank", "DRank-C"])
def test_a_baseline_cites_the_work_of_its_formula(name):
    """The papers of the other recipes only compare with these."""
    assert re.search(r"\(.+, \d{4}\)$", RECIPES[name].about)


def test_the_semi_supervised_recipe_needs_unlabelled_rows(tmp_path):
    X = rows(60)
    y = targets(X)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.c_[X, y], delimiter=",", header="a,b,y", comments="")
    for given in ((X, y), (X, y, None, None, X[:0]), (path, "y")):
        model = made("DKRR-RF semi-supervised", n_components=10)
        with pytest.raises(ValueError, match="needs rows without labels, but every row has one"):
            model.fit(*given)
        assert not hasattr(model, "fit_")


def test_unlabelled_rows_may_come_in_three_ways(tmp_path):
    X = rows(60)
    y = targets(X)
    known = np.arange(60) % 3 > 0
    partly = np.where(known, y, np.nan)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.c_[X, partly], delimiter=",", header="a,b,y", comments="")
    path.write_text(path.read_text().replace("nan", ""))
    settings = {"n_components": 10, "kernel": Gaussian(0.5), "random_state": 0, "alpha": 1e-2}

    def fitted(*given, shuffle=False, **more):
        model = made("DKRR-RF semi-supervised", shuffle=shuffle, **settings)
        return model.fit(*given, **more)

    together = fitted(X, partly).predict(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_allclose(fitted(path, "y").predict(frame), together, rtol=1e-10)
    order = np.argsort(~known, kind="stable")  # labelled rows first, as X_unlabelled has them
    together = fitted(X[order], partly[order], shuffle=True).predict(X)
    apart = fitted(X[known], y[known], X_unlabelled=X[~known], shuffle=True).predict(X)
    np.testing.assert_allclose(apart, together, rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("DNystrom",), "did you mean 'DNystroem'"),
        (("DNystroem",), "set shards="),
        (("KRR", "ranking"), "task"),
    ],
)
def test_recipes_refuse_what_they_are_not(arguments, said):
    with pytest.raises(ValueError, match=said):
        recipe(*arguments)
    with pytest.raises(ValueError, match="omit n_components="):
        recipe("KRR", n_components=3)
    with pytest.raises(ValueError, match="shards= is not a parameter of KRR"):
        recipe("KRR", shards=3)
    assert np.isfinite(recipe("KRR", alpha=1.0).alpha)
