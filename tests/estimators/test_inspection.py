"""scikit-learn's partial dependence, ICE curves and permutation importance of fitted models."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import (
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)

from mercer import Gaussian, KernelClassifier, KernelRanker, KernelRegressor, Matern

RNG = np.random.default_rng(0)
X = RNG.random((200, 3))
Y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.05 * RNG.standard_normal(200)
FRAME = pd.DataFrame(
    {
        "size": X[:, 0],
        "age": np.where(X[:, 1] < 0.1, np.nan, X[:, 1]),
        "color": pd.Categorical(np.array(["red", "green", "blue"])[(3 * X[:, 2]).astype(int)]),
        "town": np.array(["here", "there"])[(2 * X[:, 2]).astype(int)],
    }
)
COLORS = FRAME["color"].map({"red": 1.0, "green": 0.0, "blue": -1.0}).astype(float).to_numpy()


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def of_arrays():
    return KernelRegressor(Matern(2.5, "median"), metric=None, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def of_frames():
    model = KernelRegressor(Gaussian("median"), metric=None, random_state=0)
    return model.fit(FRAME, Y + COLORS)


def averages(predict, table, name, grid):
    """The mean prediction with a column set to each value of a grid."""
    found = []
    for value in grid:
        moved = table.copy()
        if isinstance(table, pd.DataFrame):
            moved[name] = value
        else:
            moved[:, name] = value
        found.append(predict(moved).mean(axis=0))
    return np.array(found)


def test_partial_dependence_of_numbers(of_arrays):
    found = partial_dependence(of_arrays, X, [0], grid_resolution=15, kind="both")
    grid = found["grid_values"][0]
    np.testing.assert_allclose(found["average"][0], averages(of_arrays.predict, X, 0, grid))
    np.testing.assert_allclose(found["individual"][0].mean(axis=0), found["average"][0])
    rise = np.sin(4 * grid) - np.sin(4 * grid).mean()
    np.testing.assert_allclose(found["average"][0] - found["average"][0].mean(), rise, atol=0.05)


def test_pairs_and_pictures(of_arrays):
    display = PartialDependenceDisplay.from_estimator(
        of_arrays, X[:50], [0, (0, 1)], kind=["both", "average"], grid_resolution=8
    )
    assert display.pd_results[1]["average"].shape == (1, 8, 8)
    assert len(display.lines_[0, 0]) == 51  # the curves of 50 rows, and their mean


def test_columns_of_a_data_frame(of_frames):
    display = PartialDependenceDisplay.from_estimator(
        of_frames,
        FRAME,
        ["size", "age", "color", "town", ("color", "town")],
        categorical_features=["color", "town"],
        grid_resolution=6,
    )
    by_name = dict(zip(["size", "age", "color", "town"], display.pd_results, strict=False))
    found = by_name["color"]
    levels = found["grid_values"][0]
    assert set(levels) == {"red", "green", "blue"}
    expected = averages(of_frames.predict, FRAME, "color", levels)
    np.testing.assert_allclose(found["average"][0], expected)
    order = levels[np.argsort(found["average"][0])]
    assert order.tolist() == ["blue", "green", "red"]


def test_probabilities_and_decisions():
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
    model = KernelClassifier(Gaussian("median"), metric=None, random_state=0).fit(X, labels)
    for method in ("predict_proba", "decision_function"):
        found = partial_dependence(model, X, [1], response_method=method, grid_resolution=5)
        values = averages(getattr(model, method), X, 1, found["grid_values"][0])
        np.testing.assert_allclose(found["average"], values.T)
    two = KernelClassifier(Gaussian("median"), metric=None, random_state=0).fit(FRAME, Y > 1)
    PartialDependenceDisplay.from_estimator(
        two, FRAME, ["color"], categorical_features=["color"], response_method="predict_proba"
    )
    display = PartialDependenceDisplay.from_estimator(
        model, X, [0], target=2, kind="both", grid_resolution=5
    )
    assert display.pd_results[0]["average"].shape == (3, 5)


def test_permutation_importance(of_arrays, of_frames):
    found = permutation_importance(of_arrays, X, Y, n_repeats=3, random_state=0)
    assert found["importances_mean"].argsort().tolist() == [2, 1, 0]
    assert abs(found["importances_mean"][2]) < 0.01
    found = permutation_importance(of_frames, FRAME, Y + COLORS, n_repeats=3, random_state=0)
    assert found["importances_mean"][2] > 0.3
    ranker = KernelRanker(Gaussian("median"), metric=None, random_state=0).fit(X, Y)
    found = permutation_importance(ranker, X, Y, n_repeats=3, random_state=0)
    assert found["importances_mean"].argmin() == 2
