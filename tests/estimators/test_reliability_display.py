"""Reliability curves, of rows that were left out and of given ones."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay, calibration_curve

from cases import PLAIN
from mercer import Gaussian, KernelClassifier, Landmarks, ReliabilityDisplay
from mercer.inference.reliability import BINS, reliability_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2500, 2))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=2500) > 0, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=2500), [-0.5, 0.5])


def model(y=Y, **settings):
    found = KernelClassifier(
        Gaussian(0.7), Landmarks(40), alpha=1e-4, **PLAIN, random_state=0, **settings
    )
    return found.fit(X[:1000], y[:1000])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_left_out_rows_need_no_others():
    found = model()
    display = ReliabilityDisplay.from_estimator(found, name="ours")
    predicted, observed, share = found.calibration_.reliability.curve(1)
    np.testing.assert_array_equal(display.prob_pred, predicted)
    np.testing.assert_array_equal(display.prob_true, observed)
    assert share.sum() == pytest.approx(1.0)
    assert "rows left out" in display.line_.get_label()
    assert display.ax_.get_title(loc="left") == "ours"
    assert np.abs(predicted - observed) @ share < 0.06


@pytest.mark.parametrize("calibration", ["auto", None])
def test_given_rows_are_drawn_as_scikit_learn_does(calibration):
    found = model(calibration=calibration)
    display = ReliabilityDisplay.from_estimator(found, X[1000:], Y[1000:])
    true, predicted = calibration_curve(
        Y[1000:] == "yes", found.predict_proba(X[1000:])[:, 1], n_bins=BINS
    )
    np.testing.assert_allclose(display.prob_pred, predicted)
    np.testing.assert_allclose(display.prob_true, true)
    theirs = CalibrationDisplay.from_estimator(found, X[1000:], Y[1000:], n_bins=BINS)
    np.testing.assert_allclose(theirs.prob_true, display.prob_true)


def test_of_more_classes_the_most_probable_or_one_by_its_label():
    found = model(THREE)
    top = ReliabilityDisplay.from_estimator(found)
    assert "most probable" in top.ax_.get_xlabel()
    assert top.prob_pred.min() >= 1 / 3
    one = ReliabilityDisplay.from_estimator(found, pos_label=2)
    np.testing.assert_array_equal(one.prob_pred, found.calibration_.reliability.curve(2)[0])
    with pytest.raises(ValueError, match="one of the classes"):
        ReliabilityDisplay.from_estimator(found, pos_label=7)


def test_axes_may_be_given():
    _, axes = plt.subplots()
    assert ReliabilityDisplay.from_estimator(model(), ax=axes).ax_ is axes


def test_a_model_without_a_map_needs_rows():
    with pytest.raises(ValueError, match="give rows that it has not seen"):
        ReliabilityDisplay.from_estimator(model(calibration=None))


def test_bins_of_few_rows_are_not_joined():
    p = np.r_[np.full(100, 0.3), np.full(3, 0.9)]
    codes = (np.arange(103) % 3 == 0).astype(int)
    found = reliability_of(np.log(np.c_[1 - p, p]), codes, np.ones(103))
    display = ReliabilityDisplay(found, pos_class=1, label="rows").plot()
    assert len(display.line_.get_xdata()) == 1
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "bins of fewer than 10 rows" in labels
