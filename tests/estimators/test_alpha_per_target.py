"""An alpha of each output: the same as a fit of each output, with the same functions."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV

from cases import PLAIN
from mercer import (
    KCGM,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    Linear,
    load,
    save,
)
from pairs import over_pairs

RNG = np.random.default_rng(0)
X, NEW = RNG.uniform(size=(150, 2)), RNG.uniform(size=(20, 2))
#: Outputs of any smoothness, noise and scale.
Y = np.column_stack(
    [
        np.sin(6 * X[:, 0]) + 0.05 * RNG.normal(size=150),
        X[:, 1] + 2 * RNG.normal(size=150),
        100 * np.sin(20 * X[:, 0]) + RNG.normal(size=150),
    ]
)
GIVEN = np.array([1e-5, 1e-1, 1e-3])


ALPHAS = np.geomspace(1e-6, 1.0, 13)


def model(**params):
    params = {"basis": Landmarks(40, random_state=0), "alphas": ALPHAS, **params}
    return KernelRegressor(Gaussian(0.4), random_state=0, dtype="float64", **PLAIN, **params)


def assert_close(found, wanted, share=1e-6):
    """Equal up to a share of the largest."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=share * np.abs(wanted).max())


@over_pairs(
    basis=["full", Landmarks(40, random_state=0)],
    how=[
        {"selection": "auto"},
        {"selection": "gcv"},
        {"selection": "kfold"},
        {"selection": "loo"},
        {"selection": "gcv", "solver": "cutoff"},
        {"alpha": GIVEN.tolist()},
    ],
    rows=["one place", "weighted", "shards"],
    allowed=lambda basis, how, rows: not (basis == "full" and rows == "shards"),
)
def test_each_output_is_a_fit_of_its_own(basis, how, rows):
    weight = np.arange(150) % 3 + 0.5 if rows == "weighted" else None
    shards = 2 if rows == "shards" else None
    how = {**how, "basis": basis, "shards": shards, "weight_type": "relative"}
    found = model(alpha_per_target=True, **how).fit(X, Y, weight)
    assert found.alpha_.shape == (3,)
    if "alpha" not in how:
        assert len(set(found.alpha_)) > 1
        scores = found.cv_results_
        assert_close(scores["squared_error_by_target"].sum(axis=1), scores["mean_squared_error"])
    for output in range(3):
        one = model(**how | ({"alpha": GIVEN[output]} if "alpha" in how else {}))
        one.fit(X, Y[:, output], weight)
        assert found.alpha_[output] == pytest.approx(one.alpha_, rel=1e-12)
        assert found.effective_dimension_[output] == pytest.approx(one.effective_dimension_)
        assert_close(found.predict(NEW)[:, output], one.predict(NEW))
        scale = one._targets.scale / found._targets.scale[output]
        without, folds = (m.fit_.intervals for m in (one, found))
        assert (without is None) == (folds is None) == ("solver" in how and shards is not None)
        if folds is not None:
            wanted = scale * without.coefficients[:, :, 0]
            assert_close(folds.coefficients[:, :, output], wanted, 1e-3 if shards else 1e-5)
        if "solver" not in how:
            assert found.noise_[output] == pytest.approx(one.noise_, rel=1e-6)
            assert_close(found.leverage(NEW)[:, output], one.leverage(NEW))
            deviations = found.predict(NEW, return_std=True)[1]
            assert_close(deviations[:, output], one.predict(NEW, return_std=True)[1])


def test_it_is_that_of_scikit_learn():
    alphas = np.geomspace(1e-4, 1e2, 13)
    theirs = RidgeCV(alphas * len(X), alpha_per_target=True).fit(X, Y)
    ours = KernelRegressor(
        Linear(), "full", alphas=alphas, alpha_per_target=True, selection="loo", **PLAIN
    ).fit(X, Y)
    np.testing.assert_allclose(ours.alpha_ * len(X), theirs.alpha_)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-6)
    given = KernelRegressor(Linear(), "full", GIVEN, **PLAIN).fit(X, Y)
    theirs = Ridge(GIVEN * len(X)).fit(X, Y)
    np.testing.assert_allclose(given.predict(NEW), theirs.predict(NEW), rtol=1e-6)


def test_rows_come_and_go_and_models_are_stored(tmp_path):
    whole = model(alpha_per_target=True, selection="gcv").fit(X, Y)
    same = Landmarks(sampling=whole.basis_.landmarks_)
    parts = model(alpha_per_target=True, selection="gcv", basis=same)
    parts.partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=1e-5)
    again = load(save(whole, tmp_path / "model", moments=True))
    np.testing.assert_array_equal(again.alpha_, whole.alpha_)
    np.testing.assert_array_equal(again.predict(NEW), whole.predict(NEW))
    np.testing.assert_array_equal(
        again.predict_interval(NEW, coverage=0.8), whole.predict_interval(NEW, coverage=0.8)
    )
    assert "one for each output" in str(whole.summary())


def test_landmarks_grow_by_the_errors_of_all_outputs():
    rng = np.random.default_rng(1)
    rows = rng.uniform(size=(2100, 2))
    targets = np.column_stack([rows[:, 0], np.sin(9 * rows[:, 1])]) + rng.normal(size=(2100, 2))
    found = model(basis="auto", alpha_per_target=True, intervals=None).fit(rows, targets)
    errors = found.size_path_.errors
    assert np.isfinite(errors).all()
    assert errors[-1] <= found.cv_results_["mean_squared_error"].min()  # the best for each


def test_a_target_of_one_dimension_has_one_alpha():
    found = model(alpha_per_target=True).fit(X, Y[:, 0])
    assert isinstance(found.alpha_, float)
    assert model(alpha_per_target=True).fit(X, Y[:, :1]).alpha_.shape == (1,)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"solver": KCGM()}, "regularizes all outputs by one number of steps"),
        ({"solver": "pcg"}, "products solve for one alpha"),
        ({"combine": "average", "shards": 2}, "solves with one alpha in every shard"),
        ({"combine": "newton", "shards": 2}, "solves with one alpha in every shard"),
        ({"intervals": "jackknife+"}, "use intervals='cv\\+' or None"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_has_one_penalty_refuses(params, words):
    for alpha in ({"alpha_per_target": True}, {"alpha": GIVEN}):
        with pytest.raises(ValueError, match=words):
            model(**params, **alpha).fit(X, Y)


def test_alphas_that_are_none_for_each_output():
    with pytest.raises(ValueError, match=r"one for each of the 3 columns of y, got shape \(2,\)"):
        model(alpha=[1.0, 2.0]).fit(X, Y)
    with pytest.raises(ValueError, match=r"alpha of output 1 must be .* at least 0, got -1"):
        model(alpha=[1.0, -1.0, 2.0]).fit(X, Y)
    with pytest.raises(TypeError, match="alpha of a KernelClassifier must be one number"):
        KernelClassifier(alpha=[1.0, 2.0]).fit(X, Y[:, 0] > 0)
