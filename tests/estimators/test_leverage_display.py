"""The picture of residuals against leverage: the numbers, and which rows are named."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from cases import regressor, rows, targets, weights
from mercer import Gaussian, KernelRegressor, Landmarks, ResidualLeverageDisplay
from mercer.estimators.deviations import posterior_of_model

X = np.vstack([rows(60), [[3.0, 3.0]]])
Y = np.append(targets(rows(60)), 1.0)
Y[20] += 2.0


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("basis", ["full", Landmarks(sampling=X[:30])])
def test_residuals_are_standardized(basis):
    weight = weights(61)
    model = regressor(Gaussian(0.5), basis, 1e-3).fit(X, Y, weight)
    display = ResidualLeverageDisplay.from_estimator(model, X, Y, weight)
    leverage = weight * model.leverage(X)
    noise = posterior_of_model(model).noise()[0] * model._targets.scale[0] ** 2
    wanted = (Y - model.predict(X)) / np.sqrt(noise * (1 - leverage) / weight)
    np.testing.assert_allclose(display.residuals, wanted, rtol=1e-10)
    np.testing.assert_allclose(display.leverages, leverage, rtol=1e-10)
    mean = (model.effective_dimension_ + 1) / max(weight.sum(), 61)
    assert display.mean_leverage == pytest.approx(mean)
    drawn = np.concatenate([line.get_xdata() for line in (display.points_, display.alone_points_)])
    np.testing.assert_allclose(np.sort(drawn), np.sort(leverage))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_constant_has_no_residuals(fitted, value):
    y = np.full(61, value)
    display = ResidualLeverageDisplay.from_estimator(
        KernelRegressor().fit(X, y), X, y, fitted=fitted
    )
    np.testing.assert_array_equal(display.residuals, np.zeros(61))


def test_the_variance_of_standardized_residuals_is_one():
    rng, spread = np.random.default_rng(0), []
    X = rows(60)
    for _ in range(40):  # f is 0, so that the fit has no bias
        y = rng.standard_normal(60)
        model = regressor(Gaussian(0.5), "full", 1e-3).fit(X, y)
        display = ResidualLeverageDisplay.from_estimator(model, X, y)
        spread.append(display.residuals**2)
        plt.close("all")
    assert abs(np.mean(spread) - 1) < 0.05


def test_rows_that_stand_alone_are_named():
    model = regressor(Gaussian(0.5), "full", 1e-3).fit(X, Y)
    display = ResidualLeverageDisplay.from_estimator(model, X, Y, name="rows")
    assert {20, 60} <= set(display.alone.tolist())
    assert display.leverages[60] > 3 * display.mean_leverage
    assert abs(display.residuals[20]) > 3
    written = [text.get_text() for text in display.texts_]
    assert written == [str(at) for at in display.alone[:8]]
    assert display.ax_.get_title(loc="left") == "rows"
    assert display.ax_.get_xlabel() == "leverage"
    few = ResidualLeverageDisplay.from_estimator(model, X, Y, names=1, ax=display.ax_)
    assert len(few.texts_) == 1
    assert few.ax_ is display.ax_


def test_frames_have_an_index_and_gaps_are_left_out():
    pandas = pytest.importorskip("pandas")
    index = [f"row {number}" for number in range(61)]
    frame = pandas.DataFrame(X, columns=["a", "b"], index=index).assign(price=Y)
    model = regressor(Gaussian(0.5), "full", 1e-3).fit(frame, "price")
    frame.loc["row 3", "price"] = np.nan
    display = ResidualLeverageDisplay.from_estimator(model, frame, "price")
    assert len(display.residuals) == 60
    assert "row 3" not in display.labels
    assert "row 20" in [text.get_text() for text in display.texts_]


def test_new_rows_and_other_outputs():
    both = np.column_stack([Y, -5 * Y])
    model = regressor(Gaussian(0.5), "full", 1e-3).fit(X, both)
    new = rows(50, seed=4)
    y = np.column_stack([targets(new), -5 * targets(new)])
    mean, std = model.predict(new, return_std=True, include_noise=True)
    for output in range(2):
        display = ResidualLeverageDisplay.from_estimator(model, new, y, fitted=False, output=output)
        np.testing.assert_allclose(display.residuals, ((y - mean) / std)[:, output])
    with pytest.raises(ValueError, match="output must be a column of y, 0 to 1"):
        ResidualLeverageDisplay.from_estimator(model, new, y, output=2)


def test_arguments():
    with pytest.raises(ValueError, match="residuals"):
        ResidualLeverageDisplay(leverages=[0.1], residuals=[1.0, 2.0], mean_leverage=0.1)
    with pytest.raises(ValueError, match="labels"):
        ResidualLeverageDisplay(
            leverages=[0.1], residuals=[1.0], mean_leverage=0.1, labels=["a", "b"]
        )
    model = KernelRegressor(Gaussian(0.5), Landmarks(20), solver="kcgm", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="regularized by steps"):
        ResidualLeverageDisplay.from_estimator(model, X, Y)
