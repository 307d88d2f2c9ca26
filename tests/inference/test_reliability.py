"""Scores of probabilities, and observed frequencies by bins."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from mercer.inference.reliability import BINS, reliability_of
from mercer.storage.state import check_state


def drawn(classes, rows=500, seed=0):
    """Logarithms of probabilities, classes and weights."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), rows)
    codes = rng.integers(0, classes, rows)
    return np.log(p), codes, rng.uniform(0.5, 2.0, rows)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_scores_are_those_of_scikit_learn(classes):
    logs, codes, weight = drawn(classes)
    found, p = reliability_of(logs, codes, weight), np.exp(logs)
    assert found.log_loss == pytest.approx(log_loss(codes, p, sample_weight=weight))
    given = p[:, 1] if classes == 2 else p
    brier = np.average(np.sum((p - np.eye(classes)[codes]) ** 2, axis=1), weights=weight)
    assert found.brier == pytest.approx(brier / 2 if classes == 2 else brier)
    if classes == 2:
        assert found.brier == pytest.approx(brier_score_loss(codes, given, sample_weight=weight))


@pytest.mark.parametrize("classes", [2, 4])
def test_curves_are_those_of_scikit_learn(classes):
    logs, codes, _ = drawn(classes)
    found = reliability_of(logs, codes, np.ones(len(codes)))
    for number in range(classes):
        true, predicted = calibration_curve(codes == number, np.exp(logs[:, number]), n_bins=BINS)
        curve = found.curve(number)
        np.testing.assert_allclose(curve[0], predicted)
        np.testing.assert_allclose(curve[1], true)
        assert curve[2].sum() == pytest.approx(1.0)


def test_confidence_is_that_of_the_most_probable_class():
    logs, codes, weight = drawn(5)
    found, p = reliability_of(logs, codes, weight), np.exp(logs)
    right = p.argmax(axis=1) == codes
    weights, predicted, observed = found.confidence.sum(axis=0)
    assert weights == pytest.approx(weight.sum())
    assert predicted == pytest.approx(weight @ p.max(axis=1))
    assert observed == pytest.approx(weight @ right)


def test_drawn_classes_have_a_small_calibration_error():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(50_000, 1)) * [1.0, -1.0] + [0.0, 1.0]
    codes = (rng.random(50_000) < p[:, 1]).astype(int)
    honest = reliability_of(np.log(p), codes, np.ones(50_000))
    assert honest.calibration_error < 0.02
    sharper = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert reliability_of(np.log(sharper), codes, np.ones(50_000)).calibration_error > 0.08


def test_probabilities_of_zero_and_one_have_their_bins():
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([[1.0, 0.0], [0.0, 1.0]]))
    found = reliability_of(logs, np.array([0, 1]), np.ones(2))
    assert found.brier == 0.0
    assert found.by_class[1, 0, 0] == found.by_class[1, -1, 0] == 1.0
    wrong = reliability_of(logs, np.array([1, 1]), np.ones(2))
    assert wrong.log_loss == np.inf


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"log_loss": -1.0}, "log_loss must"),
        ({"brier": np.nan}, "brier must"),
        ({"n_rows": 0}, "n_rows must"),
        ({"by_class": np.zeros((2, BINS, 3))}, "by_class must"),
        ({"confidence": np.zeros((BINS, 2))}, "confidence must"),
    ],
    ids=str,
)
def test_records_that_cannot_be_are_refused(change, words):
    found = reliability_of(*drawn(3))
    check_state(found, classes=3)
    with pytest.raises(ValueError, match=words):
        check_state(replace(found, **change), classes=3)
