"""With moments in the file, adding and forgetting rows goes on as if nothing had happened."""

import numpy as np
import pytest
from model_files import put, rewrite, tensor

from mercer import KernelClassifier, KernelRegressor, Landmarks, RandomFeatures, Sketch, load, save
from mercer.models.loading import ModelFileError

rng = np.random.default_rng(1)
X = rng.random((240, 3))
y = np.sin(5 * X[:, 0]) + X[:, 1]
NEW = rng.random((50, 3))

MODELS = {
    "landmarks": KernelRegressor(basis=Landmarks(20), random_state=0),
    "float32": KernelRegressor(basis=Landmarks(20), dtype="float32", random_state=0),
    "random features": KernelRegressor(basis=RandomFeatures(30), random_state=0),
    "sketch": KernelRegressor(basis=Sketch(20), random_state=0),
    "folds": KernelRegressor(basis=Landmarks(20), selection="kfold", random_state=0),
    "given alpha": KernelRegressor(basis=Landmarks(20), alpha=1e-3, random_state=0),
    "automatic full kernel": KernelRegressor(random_state=0),
}


def fitted(name):
    return MODELS[name].__sklearn_clone__().fit(X[:120], y[:120])


@pytest.mark.parametrize("name", MODELS)
def test_partial_fit_goes_on(name, tmp_path):
    kept = fitted(name)
    loaded = load(save(kept, tmp_path / "model", moments=True))
    for model in (kept, loaded):
        model.partial_fit(X[120:], y[120:])
    np.testing.assert_array_equal(loaded.dual_coef_, kept.dual_coef_)
    np.testing.assert_array_equal(loaded.predict(NEW), kept.predict(NEW))
    np.testing.assert_array_equal(loaded.moments_.gram, kept.moments_.gram)


@pytest.mark.parametrize(
    "name", ["landmarks", "random features", "sketch", "automatic full kernel"]
)
def test_forget_goes_on(name, tmp_path):
    kept = fitted(name)
    loaded = load(save(kept, tmp_path / "model", moments=True))
    for model in (kept, loaded):
        model.forget(X[:30], y[:30])
    np.testing.assert_array_equal(loaded.predict(NEW), kept.predict(NEW))


def test_classes_of_later_rows(tmp_path):
    labels = np.array(["a", "b", "c"])[np.arange(240) % 3]
    kept = KernelClassifier(basis=Landmarks(10), random_state=0)
    kept.partial_fit(X[:30:3], labels[:30:3], classes=["a", "b", "c"])
    loaded = load(save(kept, tmp_path / "model", moments=True))
    for model in (kept, loaded):
        model.partial_fit(X[30:], labels[30:])
    np.testing.assert_array_equal(loaded.decision_function(NEW), kept.decision_function(NEW))


@pytest.mark.parametrize("name", ["landmarks", "automatic full kernel"])
def test_without_moments_the_error_says_how_to_keep_them(name, tmp_path):
    model = fitted(name)
    loaded = load(save(model, tmp_path / "model"))
    for update in ("partial_fit", "forget"):
        with pytest.raises(AttributeError, match=update) as caught:
            getattr(loaded, update)
        assert "moments=True" in str(caught.value.__cause__)
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert not hasattr(loaded, "moments_")
    with pytest.raises(AttributeError, match="moments=True"):
        save(loaded, tmp_path / "again", moments=True)


def test_without_moments_the_effective_dimension_of_a_given_alpha_is_not_known(tmp_path):
    loaded = load(save(fitted("given alpha"), tmp_path / "model"))
    with pytest.raises(AttributeError, match="moments=True"):
        _ = loaded.effective_dimension_


def test_moments_are_what_makes_the_file_large(tmp_path):
    model = fitted("landmarks")
    small = save(model, tmp_path / "small").stat().st_size
    large = save(model, tmp_path / "large", moments=True).stat().st_size
    assert large - small > 20 * 20 * 8


def damages():
    """What a file says of its rows and parameters -> what the error says."""
    return {
        "no fingerprints": (put("remembered", 3), "must be fingerprints"),
        "counts below 1": (tensor("remembered.counts", lambda a: a - 1), "positive count"),
        "out of order": (tensor("remembered.fingerprints", lambda a: a[::-1]), "must increase"),
        "other numbers": (
            tensor("remembered.fingerprints", lambda a: a.astype(np.float64)),
            "vector of uint64",
        ),
        "not parameters": (put("changed", ["alpha"]), "changed must name parameters"),
        "no list": (put("changed", 3), "changed must name parameters"),
    }


@pytest.mark.parametrize("name", damages())
def test_damaged_fingerprints_are_refused(name, tmp_path):
    change, words = damages()[name]
    model = KernelRegressor(basis=Landmarks(20), alpha=1e-3, remember_rows=True, random_state=0)
    path = save(model.fit(X[:120], y[:120]), tmp_path / "model", moments=True)
    path = rewrite(path, change)
    with pytest.raises(ModelFileError, match=words):
        load(path)
