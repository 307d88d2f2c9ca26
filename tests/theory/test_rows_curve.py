"""The curve of errors by rows, against fits to those rows alone."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from problems import request_for, rows_of
from sklearn.exceptions import NotFittedError

from mercer import Gaussian, KernelClassifier, KernelRanker, KernelRegressor, RowsCurveDisplay
from mercer.bases import Landmarks
from mercer.moments import sum_moments
from mercer.theory.rows_curve import AlphaDescent, training_sets
from mercer.theory.sub_sums import FOLDS, SIZES, functions_for_sums

RNG = np.random.default_rng(0)
X = RNG.random((480, 2))
Y = np.sin(7 * X[:, 0]) * X[:, 1] + 0.1 * RNG.standard_normal(480)
KERNEL = Gaussian(0.4)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_training_sets_and_tests_have_no_fold_in_common():
    sets = training_sets()
    assert len(sets) == len(SIZES) * 4
    for train, held in sets:
        assert not set(train) & set(held)
        assert len(set(train)) == len(train)
    largest = [held for train, held in sets if len(train) == SIZES[-1]]
    assert sorted(fold for held in largest for fold in held) == list(range(FOLDS))


@pytest.mark.parametrize(("train", "held"), [((0,), (8, 9)), ((1, 2, 3, 4, 5, 6), (12, 13, 14))])
def test_errors_are_those_of_exact_fits_to_the_rows_of_the_folds(train, held):
    request = request_for(Y, KERNEL)
    rows = rows_of(X, Y)
    basis, reading = functions_for_sums(rows, request, Landmarks(len(X)), np.random.default_rng(0))
    fold = np.arange(len(X)) % FOLDS
    folds = [
        sum_moments(rows_of(X[fold == k], Y[fold == k]), request.targets, basis, reading, 0)[0]
        for k in range(FOLDS)
    ]
    descent = AlphaDescent(folds, basis, True)
    found = descent.error(train, held)
    inside, outside = np.isin(fold, train), np.isin(fold, held)
    assert found.rows == inside.sum()

    def slow(alpha):
        model = KernelRegressor(KERNEL, "full", alpha, metric=None, scale=None)
        left = model.fit(X[inside], Y[inside]).predict(X[outside]) - Y[outside]
        return np.sum(left**2) / np.sum((Y[outside] - Y[outside].mean()) ** 2)

    assert found.error == pytest.approx(slow(found.alpha), rel=1e-4)
    # No other alpha of a path is clearly better on the test.
    assert found.error <= 1.05 * min(slow(alpha) for alpha in found.alpha * 4.0 ** np.arange(-5, 6))


def test_the_curve_falls_to_the_noise_and_forecasts_more_rows():
    model = KernelRegressor(KERNEL, metric=None, scale=None, random_state=0).fit(X, Y)
    curve = RowsCurveDisplay.from_estimator(model, X, Y).curve
    assert curve.n_rows == 480
    assert curve.functions == pytest.approx(480, rel=0.9)
    np.testing.assert_allclose(curve.rows, 30 * np.array(SIZES))
    means = curve.errors.mean(axis=1)
    assert means[0] > 1.2 * means[-1]
    assert 0.08 < means[-1] < 0.13
    now, more = curve.at(480), curve.at(960)
    assert more.low <= more.value <= more.high
    assert 0.08 < more.value <= now.value < 0.13
    gain = curve.gain(2)
    assert gain.low <= gain.value <= gain.high
    assert gain.value == pytest.approx(1 - more.value / now.value, abs=0.02)
    assert curve.gain(1).value == 0


def test_forecasts_of_half_the_rows_against_all_of_them():
    rng = np.random.default_rng(3)
    A = rng.random((3000, 2))
    b = np.sin(7 * A[:, 0]) * A[:, 1] + 0.3 * rng.standard_normal(3000)
    model = KernelRegressor(KERNEL, Landmarks(100), metric=None, scale=None, random_state=0)
    model.fit(A, b)
    half = RowsCurveDisplay.from_estimator(model, A[:1125], b[:1125]).curve
    whole = RowsCurveDisplay.from_estimator(model, A, b).curve
    truth = whole.errors[-1].mean()  # of 2,250 rows
    found = half.at(2250)
    assert abs(found.value / truth - 1) < 0.05


def test_classes_have_error_rates():
    classes = np.where(Y > 0.2, "yes", "no")
    model = KernelClassifier(KERNEL, Landmarks(50), metric=None, scale=None, random_state=0)
    model.fit(X, classes)
    display = RowsCurveDisplay.from_estimator(model, X, classes)
    curve = display.curve
    assert display.ax_.get_ylabel() == "error rate"
    assert curve.errors.shape == (5, 4)
    # A test of 120 rows counts whole rows.
    np.testing.assert_allclose(curve.errors * 120, np.round(curve.errors * 120), atol=1e-6)
    assert curve.errors.mean(axis=1)[0] > curve.errors.mean(axis=1)[-1]


def test_tables_files_and_shards(tmp_path):
    frame = pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0.5, "x", "y"), "y": Y}
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    model = KernelRegressor(KERNEL, Landmarks(40), metric=None, random_state=0).fit(frame, "y")
    found = [
        RowsCurveDisplay.from_estimator(model, rows, "y").curve
        for rows in (frame, tmp_path / "rows.parquet")
    ]
    np.testing.assert_allclose(found[0].errors, found[1].errors, rtol=1e-6)
    sharded = KernelRegressor(KERNEL, Landmarks(40), metric=None, random_state=0, shards=3).fit(
        X, Y
    )
    curve = RowsCurveDisplay.from_estimator(sharded, X, Y).curve
    assert curve.rows[-1] == pytest.approx(360, abs=10)
    assert curve.errors[-1].mean() < 0.15


def test_the_picture_shows_points_law_and_forecast():
    model = KernelRegressor(KERNEL, Landmarks(60), metric=None, scale=None, random_state=0)
    model.fit(X, Y)
    _, ax = plt.subplots()
    display = RowsCurveDisplay.from_estimator(model, X, Y, n_components=20, ax=ax, name="sine")
    assert display.ax_ is ax
    assert ax.get_title(loc="left") == "sine"
    labels = ax.get_legend_handles_labels()[1]
    assert labels[0] == f"measured with 20 landmarks of {model.basis_.size}"
    assert labels[2].startswith("480 rows: ")
    assert labels[3].startswith("twice the rows: ")
    points = ax.lines[0]
    np.testing.assert_allclose(points.get_ydata(), display.curve.errors.mean(axis=1))


def test_what_has_no_curve():
    with pytest.raises(NotFittedError):
        RowsCurveDisplay.from_estimator(KernelRegressor(), X, Y)
    model = KernelRegressor(KERNEL, metric=None, scale=None).fit(X, Y)
    with pytest.raises(ValueError, match="at least 160 rows"):
        RowsCurveDisplay.from_estimator(model, X[:100], Y[:100])
    with pytest.raises(ValueError, match="n_components must be"):
        RowsCurveDisplay.from_estimator(model, X, Y, n_components=2)
    with pytest.raises(ValueError, match="not for rankings"):
        RowsCurveDisplay.from_estimator(KernelRanker(KERNEL).fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="not a precomputed kernel"):
        RowsCurveDisplay.from_estimator(KernelRegressor("precomputed").fit(X @ X.T, Y), X @ X.T, Y)
