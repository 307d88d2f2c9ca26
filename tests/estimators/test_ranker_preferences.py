"""Probabilities of preferences, from pairs of rows that a ranker leaves out."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from cases import PLAIN
from mercer import Gaussian, KernelRanker, Landmarks, load, save
from mercer.estimators.calibrating import preferences_of
from mercer.inference.preferences import fit_preferences, pairs_within

SETTINGS = {"kernel": Gaussian(0.5), "basis": Landmarks(40), "alpha": 1e-3}


def drawn(queries=120, size=15, seed=0, unit=1.0):
    """Rows of queries, whose relevance has logistic noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((queries * size, 2))
    qid = np.repeat(np.arange(queries), size)
    noise = rng.gumbel(size=len(X))  # differences are logistic: the law of Bradley and Terry
    return X, unit * (4 * X[:, 0] + noise + 10 * rng.random(queries)[qid]), qid


X, Y, QID = drawn()


def ranker(**settings):
    return KernelRanker(**{**SETTINGS, **PLAIN, "random_state": 0, **settings})


def paired(seed=7, queries=200):
    """Two rows of each query, and whether the first is above."""
    x, y, _ = drawn(queries, 2, seed)
    return x[::2], x[1::2], y[::2] > y[1::2]


@pytest.mark.parametrize("unit", [1.0, 1000.0])
@pytest.mark.parametrize("weighting", ["pair", "query"])
def test_probabilities_are_honest(weighting, unit):
    found = ranker(pair_weighting=weighting).fit(X, unit * Y, QID)
    a, b, above = paired(queries=3000)
    p = found.predict_preference(a, b)
    truth = 1 / (1 + np.exp(-4 * (a[:, 0] - b[:, 0])))
    assert np.abs(p - truth).mean() < 0.05
    assert log_loss(above, p) < log_loss(above, truth) + 0.02
    assert found.calibration_.log_loss == pytest.approx(log_loss(above, p), abs=0.06)
    np.testing.assert_allclose(p + found.predict_preference(b, a), 1.0)


def test_the_map_is_that_of_left_out_pairs(monkeypatch):
    records = []

    def noted(fit, *others):
        records.append(fit.left_out)
        return preferences_of(fit, *others)

    monkeypatch.setattr("mercer.estimators.ranker.preferences_of", noted)
    found = ranker().fit(X, Y, QID)
    (record,) = records
    scale = found._targets.scale[0]
    pairs = pairs_within(
        record.query, record.values[:, 0] * scale, record.targets[:, 0], record.weight
    )
    by_hand = fit_preferences(pairs)
    assert found.calibration_.slope == pytest.approx(by_hand.slope)
    a, b, _ = paired()
    difference = found.predict(a) - found.predict(b)
    np.testing.assert_allclose(
        found.predict_preference(a, b), 1 / (1 + np.exp(-by_hand.slope * difference))
    )


def test_without_queries_all_rows_are_compared():
    y = 4 * X[:, 0] + np.random.default_rng(1).gumbel(size=len(X))
    found = ranker().fit(X, y)
    a, b, _ = paired()
    truth = 1 / (1 + np.exp(-4 * (a[:, 0] - b[:, 0])))
    assert np.abs(found.predict_preference(a, b) - truth).mean() < 0.05


def test_shards_are_one_model():
    a, b, _ = paired()
    one, many = ranker().fit(X, Y, QID), ranker(shards=3).fit(X, Y, QID)
    np.testing.assert_allclose(
        one.predict_preference(a, b), many.predict_preference(a, b), atol=0.05
    )


@pytest.mark.parametrize("settings", [{"calibration": None}, {"combine": "conjugate", "shards": 3}])
def test_fits_that_leave_nothing_out_are_refused(settings):
    found = ranker(**settings).fit(X, Y, QID)
    assert found.calibration_ is None
    with pytest.raises(AttributeError, match="no pairs were left out of this fit"):
        found.predict_preference(X[:2], X[2:4])


def test_equal_relevance_has_no_pairs():
    found = ranker().fit(X[:100], np.ones(100))
    assert found.calibration_ is None


def test_rows_must_be_paired():
    with pytest.raises(ValueError, match="same number of rows, one for each pair, got 2 and 3"):
        ranker().fit(X, Y, QID).predict_preference(X[:2], X[:3])


def test_other_maps_are_refused():
    with pytest.raises(ValueError, match="unknown calibration"):
        ranker(calibration="sigmoid").fit(X, Y, QID)


def test_files_keep_the_map(tmp_path):
    found = ranker().fit(X, Y, QID)
    again = load(save(found, tmp_path / "model"))
    assert again.calibration_ == found.calibration_
    assert "in the wrong order" in str(again.summary())
