"""Recipes are the systems of their papers: no default of the estimators gets in."""

import numpy as np
import pytest

from cases import rows, targets
from mercer import Gaussian, KernelRegressor, LaplacianL1, Linear, Matern, recipe
from mercer.recipes import RECIPES

over_recipes = pytest.mark.parametrize("name", RECIPES)


def made(name, **parameters):
    """The estimator of a recipe."""
    shards = {} if RECIPES[name].combine is None else {"shards": 3}
    return recipe(name, **shards, **parameters)


@over_recipes
def test_nothing_is_left_to_a_default(name):
    found = made(name).get_params()
    assert repr(found["kernel"]) == "Gaussian(bandwidth='median')"
    assert found["kernel"].parameters_with("auto") == []
    if name == "SSSR":  # an estimator without these
        assert not {"metric", "scale", "selection"} & found.keys()
        return
    assert (found["metric"], found["scale"]) == (None, None)
    assert found["selection"] == ("loo" if name == "MPRank" else "gcv")
    assert "auto" not in (found["kernel"], found["basis"], found["solver"])


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
    found = made(name, kernel=kernel).kernel.get_params()
    assert {key: found[key] for key in found if key.endswith("bandwidth")} == bandwidths


def test_the_kernel_of_the_user_is_not_changed():
    kernel = Gaussian() + Linear()
    made("KRR", kernel=kernel)
    assert kernel.left.bandwidth == "auto"


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "SSSR"])
def test_what_is_passed_is_kept(name):
    asked = {"kernel": "auto", "metric": "full", "scale": "quantile", "selection": "kfold"}
    found = made(name, **asked).get_params()
    assert {key: found[key] for key in asked} == asked


def test_a_recipe_is_the_plain_fit():
    X = rows(60)
    y = targets(X)
    model = recipe("KRR").fit(X, y)
    assert model.search_results_ is None
    assert model.metric_ is None
    plain = KernelRegressor(
        Gaussian("median"), "full", metric=None, scale=None, selection="gcv", solver="ridge"
    )
    assert np.array_equal(model.predict(X), plain.fit(X, y).predict(X))
    assert isinstance(model.kernel_, Gaussian)
