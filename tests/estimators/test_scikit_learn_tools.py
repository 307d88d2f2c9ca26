"""What scikit-learn makes of an estimator works on a mixed table, or is refused with its reason."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from cases import regressor
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    Linear,
    TableEncoder,
    load,
    save,
)

rng = np.random.default_rng(0)
N = 240
TABLE = pd.DataFrame(
    {
        "size": rng.normal(size=N),
        "noise": rng.normal(size=N),
        "kind": rng.choice(["a", "b", "c"], N),
        "sold": np.datetime64("2020-01-01") + rng.integers(0, 700, N).astype("m8[D]"),
    }
)
Y = 2 * TABLE["size"].to_numpy() + 3 * (TABLE["kind"] == "b").to_numpy()
Y = Y + 0.1 * rng.normal(size=N)
CLASSES = np.where(Y > 1, "high", "low")
TABLE.loc[::17, "size"] = np.nan
TABLE.loc[3::19, "kind"] = None
WHOLE = TABLE.dropna()
SETTINGS = {
    "kernel": Gaussian(4.0),
    "basis": Landmarks(60),
    "alpha": 1e-2,
    "metric": None,
    "scale": "standard",
    "random_state": 0,
}
REGRESSOR, CLASSIFIER = KernelRegressor(**SETTINGS), KernelClassifier(**SETTINGS)
RANKER = KernelRanker(**SETTINGS)


def selected(model, y):
    selector = SelectFromModel(model, max_features=2, threshold=-np.inf)
    chosen = selector.set_output(transform="pandas").fit_transform(TABLE, y)
    assert list(chosen) == ["size", "kind"]
    assert clone(model).fit(chosen, y).score(chosen, y) > 0.7


def eliminated(model, y):
    """On what the table becomes, since RFE itself takes numbers only; gaps may stay."""
    encode = TableEncoder().set_output(transform="pandas")
    steps = make_pipeline(encode, RFE(model, n_features_to_select=4)).fit(TABLE, y)
    names = steps[:-1].get_feature_names_out()[steps[-1].support_]
    assert set(names) == {"size", "kind=a", "kind=b", "kind=c"}
    numbers = TABLE[["noise", "size"]]
    assert RFE(model, n_features_to_select=1).fit(numbers, y).support_.tolist() == [False, True]


def permuted(model, y):
    found = permutation_importance(model.fit(TABLE, y), TABLE, y, n_repeats=2, random_state=0)
    assert found.importances_mean[[0, 2]].min() > 4 * found.importances_mean[[1, 3]].max()


def depended(model, y):
    """At rows without gaps: quantiles of a column with gaps are NaN, a grid of nothing else."""
    model.fit(TABLE, y)
    (line,) = partial_dependence(model, WHOLE, ["size"], grid_resolution=9)["average"]
    assert np.abs(line[-1] - line[0]) > 0.3
    (levels,) = partial_dependence(model, WHOLE, ["kind"], categorical_features=["kind"])["average"]
    assert np.abs(levels[1] - levels[[0, 2]]).min() > 0.1


def stacked(model, y):
    stack = StackingClassifier if hasattr(model, "predict_proba") else StackingRegressor
    steps = [("one", model), ("other", clone(model).set_params(alpha=1.0))]
    for final in (None, clone(model)):
        found = stack(steps, final_estimator=final, cv=3).fit(TABLE, y)
        assert found.score(TABLE, y) > 0.7
    found = stack(steps, final_estimator=clone(model), cv=3, passthrough=True).fit(TABLE, y)
    assert found.score(TABLE, y) > 0.7


def transformed(model, y):
    found = TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp)
    assert found.fit(TABLE, np.exp(y / 4)).score(TABLE, np.exp(y / 4)) > 0.7


def calibrated(model, y):
    for method in ("sigmoid", "isotonic"):
        for ensemble in (True, False):
            found = CalibratedClassifierCV(model, method=method, cv=3, ensemble=ensemble)
            assert found.fit(TABLE, y).score(TABLE, y) > 0.8


def crossed(model, y):
    assert cross_val_predict(model, TABLE, y, cv=3).shape == (N,)


TOOLS = {
    "SelectFromModel": (selected, ("regressor", "classifier", "ranker")),
    "RFE": (eliminated, ("regressor", "classifier", "ranker")),
    "permutation_importance": (permuted, ("regressor", "classifier", "ranker")),
    "partial_dependence": (depended, ("regressor", "classifier")),
    "stacking": (stacked, ("regressor", "classifier")),
    "TransformedTargetRegressor": (transformed, ("regressor",)),
    "CalibratedClassifierCV": (calibrated, ("classifier",)),
    "cross_val_predict": (crossed, ("regressor", "classifier", "ranker")),
}
MODELS = {
    "regressor": (REGRESSOR, Y),
    "classifier": (CLASSIFIER, CLASSES),
    "ranker": (RANKER, Y),
}


@pytest.mark.filterwarnings("ignore:of .* rows", "ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("tool", "kind"), [(tool, kind) for tool, (_, kinds) in TOOLS.items() for kind in kinds]
)
def test_a_tool_works_on_a_mixed_table(tool, kind):
    model, y = MODELS[kind]
    TOOLS[tool][0](clone(model), y)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_encoded_columns_are_a_frame_of_the_kind_that_is_asked_for(container):
    encoder = TableEncoder().set_output(transform=container)
    found = encoder.fit_transform(TABLE, Y)
    assert list(found.columns) == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(
        np.asarray(encoder.transform(TABLE)), clone(encoder).fit(TABLE, Y).transform(TABLE)
    )


REFUSED = {
    "RFE takes numbers": (
        lambda: RFE(REGRESSOR).fit(TABLE, Y),
        "could not convert string to float",
    ),
    "levels with gaps have no order": (
        lambda: partial_dependence(
            clone(REGRESSOR).fit(TABLE, Y), TABLE, ["kind"], categorical_features=["kind"]
        ),
        "not yet supported in scikit-learn",
    ),
    "a grid of dates needs quantiles of dates": (
        lambda: partial_dependence(clone(REGRESSOR).fit(TABLE, Y), WHOLE, ["sold"]),
        "datetime64|M8",
    ),
    "predictors have no output to set": (
        lambda: REGRESSOR.set_output(transform="pandas"),
        "no attribute 'set_output'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_scikit_learn_itself_cannot_do(case):
    """Each has its own words, and none is about the estimator."""
    call, words = REFUSED[case]
    with pytest.raises((ValueError, TypeError, AttributeError), match=words):
        call()


# -- coefficients of columns -----------------------------------------------------------------------

X = rng.normal(size=(120, 4)) * [1.0, 10.0, 0.1, 3.0] + [5.0, 0.0, 1.0, -2.0]
SLOPES = rng.normal(size=(2, 4))


@pytest.mark.parametrize("basis", ["full", Landmarks(40), "random_features", "sketch"], ids=str)
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_coefficients_of_columns_are_the_slopes(basis, scale, dtype, outputs, tmp_path):
    y = X @ SLOPES.T + 3 if outputs == 2 else X @ SLOPES[0] + 3
    model = regressor(Linear(), basis, 1e-9, scale=scale, dtype=dtype, random_state=0).fit(X, y)
    assert model.coef_.shape == ((2, 4) if outputs == 2 else (4,))
    tolerance = 1e-6 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(model.coef_, SLOPES if outputs == 2 else SLOPES[0], atol=tolerance)
    steps = model.predict(X) - model.predict(X[:1])
    np.testing.assert_allclose((X - X[0]) @ model.coef_.T, steps, atol=100 * tolerance)
    np.testing.assert_array_equal(load(save(model, tmp_path / "model")).coef_, model.coef_)


def test_coefficients_of_classes_and_of_columns_that_are_left_out():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame = frame.assign(same=1.0, text=[f"${value:.9f}" for value in X[:, 0]])
    model = KernelRegressor(Linear(), alpha=1e-9, scale="standard").fit(frame, X @ SLOPES[0])
    assert model.coef_.shape == (6,)
    assert model.coef_[4] == 0
    found = np.append(model.coef_[0] + model.coef_[5], model.coef_[1:4])  # a and its text share
    np.testing.assert_allclose(found, SLOPES[0], atol=1e-5)
    for classes, rows in ((2, 1), (3, 3)):
        y = np.argsort(np.argsort(X @ SLOPES[0])) * classes // 120
        assert KernelClassifier(Linear(), alpha=1e-3, scale=None).fit(X, y).coef_.shape == (rows, 4)
    assert KernelRanker(Linear(), alpha=1e-3, scale=None).fit(X, X[:, 0]).coef_.shape == (4,)


@pytest.mark.parametrize(
    ("settings", "table", "reason"),
    [
        ({"kernel": Gaussian(2.0)}, X, "is not linear"),
        ({"kernel": Gaussian(2.0) + Linear()}, X, "is not linear"),
        ({"kernel": Linear(), "scale": "quantile"}, X, "mapped to quantiles"),
        ({"kernel": Linear()}, TABLE[:120], "text, dates and indicators"),
        ({"kernel": Linear()}, TABLE[["size", "noise"]][:120], "text, dates and indicators"),
    ],
)
def test_other_models_have_no_coefficients_of_columns(settings, table, reason):
    model = KernelRegressor(**{**SETTINGS, **settings}).fit(table, Y[:120])
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match=reason):
        _ = model.coef_
    assert model.dual_coef_.shape == (model.basis_.size, 1)
    assert not hasattr(KernelRegressor("linear"), "coef_")


@pytest.mark.parametrize("kernel", [Gaussian(1.5), "auto", "linear"])
def test_columns_of_noise_are_eliminated(kernel):
    """scikit-learn prefers coef_, which once had a row for each function, to importances."""
    rows = np.random.default_rng(0).normal(size=(200, 5))
    y = 2 * rows[:, 1] + rows[:, 3]
    model = KernelRegressor(kernel, alpha=1e-3, random_state=0)
    found = RFE(model, n_features_to_select=2).fit(rows, y)
    assert found.support_.tolist() == [False, True, False, True, False]
    assert SelectFromModel(model, max_features=2).fit(rows, y).get_support()[1]
