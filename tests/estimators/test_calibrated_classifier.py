"""Probabilities of a classifier: from the rows that its fit leaves out, or from given ones."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss

from cases import PLAIN
from mercer import (
    Gaussian,
    KernelClassifier,
    Landmarks,
    MercerWarning,
    ModelFileError,
    StopAfter,
    load,
    load_letter,
    save,
)
from mercer.estimators.calibrating import Calibration, calibration_of
from mercer.estimators.classifier import project_to_simplex
from mercer.inference.calibration import classes_of, fit_map
from mercer.inference.probability_map import by_class


def drawn(rows, seed=0, classes=2, noise=0.5):
    """Rows of two columns, with classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + noise * rng.normal(size=rows)
    return X, np.floor((angle % (2 * np.pi)) / (2 * np.pi) * classes).astype(int)


X, Y = drawn(600)
MORE, Z = drawn(600, classes=3, seed=5)
NEW, TRUE = drawn(4000, seed=1)
NEWER, TRUER = drawn(4000, classes=3, seed=6)
SETTINGS = {**PLAIN, "random_state": 0}


def model(**settings):
    return KernelClassifier(
        **{"kernel": Gaussian(0.7), "basis": Landmarks(60), "alpha": 1e-5, **SETTINGS, **settings}
    )


@pytest.mark.parametrize("settings", [{}, {"basis": "full"}, {"alpha": "auto"}], ids=str)
def test_the_map_is_fitted_to_the_rows_that_were_left_out(settings, monkeypatch):
    records = []

    def noted(fit, name):
        records.append(fit.left_out)
        return calibration_of(fit, name)

    monkeypatch.setattr("mercer.estimators.classifier.calibration_of", noted)
    found = model(calibration="sigmoid", **settings).fit(X, Y)
    (record,) = records
    by_hand = fit_map("sigmoid", record.values, classes_of(record.targets), record.weight)
    np.testing.assert_allclose(found.calibration_.map.slopes, by_hand.slopes, rtol=1e-6)
    np.testing.assert_allclose(
        found.predict_proba(NEW), by_hand.probabilities(found.decision_function(NEW)[:, None]),
        atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("rows", [(X, Y, NEW, TRUE), (MORE, Z, NEWER, TRUER)], ids=["two", "three"])
@pytest.mark.parametrize("calibration", ["auto", "temperature", "sigmoid"])
def test_probabilities_are_better_than_least_squares_and_as_good_as_scikit_learns(
    rows, calibration
):
    """Softmax of scores is no law of three classes that overlap."""
    x, y, new, true = rows
    found = model(calibration=calibration, alpha=1e-3).fit(x, y)
    raw = model(calibration=None, alpha=1e-3).fit(x, y)
    theirs = CalibratedClassifierCV(model(calibration=None, alpha=1e-3), cv=5).fit(x, y)
    losses = [log_loss(true, one.predict_proba(new)) for one in (found, raw, theirs)]
    assert losses[0] < losses[1]
    assert losses[0] < (1.0 if calibration == "auto" else 1.05) * losses[2]
    np.testing.assert_allclose(found.decision_function(new), raw.decision_function(new), atol=1e-8)


def test_what_it_says_of_itself_is_true():
    found = model().fit(X, Y)
    reliability = found.calibration_.reliability
    p = found.predict_proba(NEW)
    assert reliability.log_loss == pytest.approx(log_loss(TRUE, p), rel=0.15)
    assert reliability.brier == pytest.approx(brier_score_loss(TRUE, p[:, 1]), rel=0.15)
    assert reliability.n_rows == len(X)


@pytest.mark.parametrize("calibration", ["auto", "temperature", "sigmoid", None])
@pytest.mark.parametrize("rows", [(X, Y, NEW), (MORE, Z, NEWER)], ids=["two", "three"])
def test_the_prediction_is_the_most_probable_class(calibration, rows):
    x, y, new = rows
    found = model(calibration=calibration).fit(x, y)
    p = found.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.predict(new), found.classes_[p.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found.predict_log_proba(new), np.log(p), rtol=1e-9, atol=1e-12)
    if calibration == "temperature":
        f = by_class(found.decision_function(new).reshape(len(new), -1))
        np.testing.assert_array_equal(p.argmax(axis=1), f.argmax(axis=1))


def test_none_is_the_projection_of_the_scores():
    found = model(calibration=None).fit(MORE, Z)
    assert found.calibration_ is None
    assert found.fit_.left_out is None
    raw = project_to_simplex((1 + found.decision_function(NEWER)) / 2)
    np.testing.assert_array_equal(found.predict_proba(NEWER), raw)
    assert "not calibrated" in str(found.summary())


def test_it_is_the_same_wherever_the_rows_are(tmp_path):
    """Each form leaves out folds of its own."""
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    places = {
        "array": lambda one: one.fit(X, Y),
        "file": lambda one: one.set_params(columns=None).fit(tmp_path / "rows.npz", "y"),
        "shards": lambda one: one.set_params(shards=3).fit(X, Y),
    }
    points = X[::10]
    losses = {}
    for name, fitted in places.items():
        found = fitted(model(basis=Landmarks(sampling=points)))
        assert found.calibration_ is not None, name
        losses[name] = log_loss(TRUE, found.predict_proba(NEW))
    assert max(losses.values()) < 1.02 * min(losses.values())


def test_weights_of_classes_shift_probabilities():
    """They are those of the weighted rows; given rows bring back their own."""
    plain, weighted = model().fit(X, Y), model(class_weight={1: 5.0}).fit(X, Y)
    p, q = plain.predict_proba(NEW)[:, 1], weighted.predict_proba(NEW)[:, 1]
    assert np.mean(q) > np.mean(p) + 0.05
    back = q / (q + 5.0 * (1 - q))  # the odds are five times as large
    assert log_loss(TRUE, back) < 1.1 * log_loss(TRUE, p)
    again = weighted.calibrate(*drawn(600, seed=9))
    assert log_loss(TRUE, again.predict_proba(NEW)) < 1.1 * log_loss(TRUE, p)


def test_rows_that_come_or_go_take_the_map_away():
    found = model(selection="gcv").fit(X[:500], Y[:500])
    assert found.calibration_ is not None
    found.partial_fit(X[500:], Y[500:])
    assert found.calibration_ is None
    raw = found.predict_proba(NEW)
    np.testing.assert_array_equal(found.predict(NEW), found.classes_[raw.argmax(axis=1)])
    found.calibrate(NEW[:1000], TRUE[:1000])
    assert found.calibration_.rows == "held out"
    assert log_loss(TRUE[1000:], found.predict_proba(NEW[1000:])) < log_loss(
        TRUE[1000:], np.clip(raw[1000:], 1e-15, 1)
    )
    found.forget(X[:10], Y[:10])
    assert found.calibration_ is None


@pytest.mark.parametrize("combine", ["average", "conjugate"])
def test_models_of_shards_without_sums_take_given_rows(combine):
    found = model(combine=combine, shards=3).fit(X, Y).calibrate(NEW[:1000], TRUE[:1000])
    sums = model(shards=3).fit(X, Y)
    assert log_loss(TRUE, found.predict_proba(NEW)) < 1.1 * log_loss(TRUE, sums.predict_proba(NEW))


def test_given_rows_may_be_a_file_and_have_weights(tmp_path):
    found = model(calibration="sigmoid").fit(X, Y)
    weight = np.random.default_rng(0).integers(0, 3, 1000).astype(float)
    by_array = clone(found).fit(X, Y).calibrate(NEW[:1000], TRUE[:1000], weight).calibration_.map
    at = np.repeat(np.arange(1000), weight.astype(int))
    repeated = clone(found).fit(X, Y).calibrate(NEW[at], TRUE[at]).calibration_.map
    np.savez(tmp_path / "rows.npz", X=NEW[:1000], y=TRUE[:1000], w=weight)
    by_file = found.calibrate(tmp_path / "rows.npz", "y", "w").calibration_.map
    for other in (repeated, by_file):
        np.testing.assert_allclose(by_array.slopes, other.slopes, atol=1e-7)
        np.testing.assert_allclose(by_array.offsets, other.offsets, atol=1e-7)


def test_given_rows_need_labels_that_are_known():
    found = model().fit(X, Y)
    before = found.calibration_
    with pytest.raises(ValueError, match="class that is not known: 7"):
        found.calibrate(NEW, np.full(len(NEW), 7))
    with pytest.raises(ValueError, match="requires y to be passed"):
        found.calibrate(NEW)
    with pytest.raises(ValueError, match="no row has a label"):
        found.calibrate(NEW[:3], np.full(3, np.nan))
    assert found.calibration_ is before


def test_separated_classes_have_finite_log_probabilities():
    x = np.linspace(-1, 1, 60)[:, None]
    found = KernelClassifier(Gaussian(1.0), alpha=1e-4, **SETTINGS).fit(x, x[:, 0] > 0)
    p = found.predict_proba(x)
    assert np.all((p > 0) & (p < 1))
    assert np.all(np.isfinite(found.predict_log_proba(1e3 * x)))


@pytest.mark.parametrize("rows", [2, 3, 6])
def test_few_rows_have_probabilities(rows):
    x, y = X[:rows], np.arange(rows) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        found = KernelClassifier(random_state=0).fit(x, y)
    assert np.all(np.isfinite(found.predict_proba(NEW)))


def test_a_class_of_one_row_has_a_probability():
    labels = Z.copy()
    labels[0] = 9
    p = model().fit(MORE, labels).predict_proba(NEWER)
    assert np.all(p[:, 3] > 0)
    assert p[:, 3].mean() < 0.02


def test_stages_end_with_the_prediction():
    found = KernelClassifier(
        Gaussian(0.7), Landmarks(60), solver="kcgm", calibration="sigmoid", **SETTINGS
    ).set_params(solver__stop=StopAfter(5))
    *_, last = found.fit(X, Y).staged_predict(NEW)
    np.testing.assert_array_equal(last, found.predict(NEW))


@pytest.mark.parametrize("calibration", ["auto", "sigmoid", "temperature", None])
def test_files_and_pickles_keep_the_map(calibration, tmp_path):
    found = model(calibration=calibration).fit(MORE, Z)
    for again in (load(save(found, tmp_path / "model")), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(again.predict_proba(NEWER), found.predict_proba(NEWER))
        np.testing.assert_array_equal(again.predict(NEWER), found.predict(NEWER))
        assert again.calibration == calibration
        if calibration is not None:
            assert again.calibration_.describe() == found.calibration_.describe()
        assert str(again.summary()).count("probabilities") == 1


def test_older_files_have_no_map(tmp_path, monkeypatch):
    found = model().fit(X, Y)
    monkeypatch.setattr("mercer.models.saving._calibration", lambda *_: None)
    again = load(save(found, tmp_path / "model"))
    assert again.calibration_ is None
    assert np.all(np.isfinite(again.predict_proba(NEW)))


def test_files_with_a_map_of_other_classes_are_refused(tmp_path, monkeypatch):
    found, other = model().fit(X, Y), model().fit(MORE, Z)
    found.calibration_ = other.calibration_
    with pytest.raises(ValueError, match=r"was not written.*offsets must"):
        save(found, tmp_path / "model")
    monkeypatch.setattr("mercer.models.saving.load", lambda path: None)  # as earlier versions
    with pytest.raises(ModelFileError, match="offsets must"):
        load(save(found, tmp_path / "model"))


def test_left_out_rows_are_not_kept():
    found = model().fit(X, Y)
    assert found.fit_.left_out is None
    assert isinstance(found.calibration_, Calibration)


@pytest.mark.parametrize("wrong", ["isotonic", 1, True])
def test_other_maps_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="calibration"):
        model(calibration=wrong).fit(X, Y)


def test_letters():
    data = load_letter()
    settings = {"kernel": Gaussian(3.0), "basis": Landmarks(300), "alpha": 1e-6, **SETTINGS}
    found = KernelClassifier(**settings).fit(data.X_train[:3000], data.y_train[:3000])
    raw = KernelClassifier(**settings, calibration=None)
    raw.fit(data.X_train[:3000], data.y_train[:3000])
    loss = log_loss(data.y_test, found.predict_proba(data.X_test))
    assert loss < 0.9 * log_loss(data.y_test, raw.predict_proba(data.X_test))
    assert found.calibration_.reliability.log_loss == pytest.approx(loss, rel=0.1)
