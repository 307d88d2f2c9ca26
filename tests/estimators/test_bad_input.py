"""Bad input is refused in words that name it, and a model that was fitted before still works."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_regressor

from cases import GIVEN, weights
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    MercerWarning,
    RandomFeatures,
    Sketch,
    TableEncoder,
)
from pairs import over_each
from refusals import NEW, X, Y, refused

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

W = weights()
BASES = {
    "full": "full",
    "landmarks": Landmarks(sampling=GIVEN),
    "random_features": RandomFeatures(20, random_state=0),
    "sketch": Sketch(10, random_state=0),
}
over_bases = pytest.mark.parametrize("basis", BASES.values(), ids=list(BASES))


def changed(array, at, value):
    array = np.array(array, dtype=float)
    array[at] = value
    return array


# -- rows ------------------------------------------------------------------------------------------


@over_each(basis=BASES, wrong=[(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "inf")])
def test_values_that_are_not_finite_are_named_by_row_and_column(basis, wrong):
    model, (value, word) = KernelRegressor(missing="error", basis=BASES[basis]), wrong
    refused(model, changed(X, (17, 1), value), Y, words=(word, "row 17", "column 1"))


@over_bases
def test_values_that_are_not_finite_are_named_by_the_name_of_their_column(basis):
    frame = pd.DataFrame(changed(X, (17, 1), np.nan), columns=["height", "width"])
    refused(
        KernelRegressor(missing="error", basis=basis), frame, Y, words=("NaN", "row 17", "'width'")
    )


@over_each(
    basis=["landmarks", Landmarks(50), Landmarks(50, "kmeans"), RandomFeatures(20), Sketch(20)],
    dtype=["float32", "float64"],
)
def test_among_many_rows_the_right_one_is_named(basis, dtype):
    """Samples of rows are looked at first: the row in the message is that of X all the same."""
    many = np.random.default_rng(0).random((3000, 2))
    many[[1500, 2000]] = np.nan
    many[2990:] = np.nan
    model = KernelRegressor(missing="error", basis=basis, dtype=dtype, random_state=0)
    with pytest.raises(ValueError, match="NaN at row 1500, column 0"):
        model.fit(many, np.arange(3000.0))


def test_rows_of_weight_zero_do_not_shift_the_row_that_is_named():
    w = W.copy()
    w[:5] = 0.0
    with pytest.raises(ValueError, match="NaN at row 17, column 1"):
        KernelRegressor(missing="error").fit(changed(X, (17, 1), np.nan), Y, w)


@over_bases
def test_predicting_values_that_are_not_finite(basis):
    model = KernelRegressor(missing="error", basis=basis, alpha=1e-3).fit(X, Y)
    with pytest.raises(ValueError, match="NaN at row 5, column 0"):
        model.predict(changed(NEW, (5, 0), np.nan))
    assert np.isfinite(model.predict(NEW)).all()


def test_the_row_is_named_in_late_blocks_too():
    many = np.random.default_rng(0).random((20_000, 2))
    model = KernelRegressor(missing="error", basis=Landmarks(sampling=GIVEN), alpha=1e-3).fit(X, Y)
    with pytest.raises(ValueError, match="infinity at row 15000, column 1"):
        model.predict(changed(many, (15_000, 1), np.inf))


@over_bases
def test_another_number_of_columns_at_prediction(basis):
    model = KernelRegressor(missing="error", basis=basis, alpha=1e-3).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but KernelRegressor is expecting 2"):
        model.predict(np.ones((4, 3)))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((30, 0)), "0 feature"),
        (X + 1j, "omplex"),
        (X[:, 0], "2D"),
        (X[None], "dim"),
        ([["a", "b"]] * 30, "a"),
        (None, "None"),
    ],
    ids=["no rows", "no columns", "complex", "one dimension", "three", "text", "none"],
)
def test_rows_that_are_no_matrix_of_numbers(bad, words):
    refused(KernelRegressor(), bad, Y, words=words)


def test_a_column_of_text_is_named():
    frame = pd.DataFrame({"height": X[:, 0], "color": ["red", "blue"] * 15})
    refused(KernelRegressor(columns=None), frame, Y, words=("'color'",))


# -- targets ---------------------------------------------------------------------------------------


@over_bases
def test_targets_that_are_not_finite(basis):
    refused(
        KernelRegressor(missing="error", basis=basis),
        X,
        changed(Y, 17, np.inf),
        words=("y contains", "infinity"),
    )


@pytest.mark.parametrize("estimator", [KernelRegressor(), KernelRanker(), KernelClassifier()])
@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
def test_an_infinite_target_is_no_gap_to_fill(estimator, wrong):
    y = changed(np.round(np.abs(Y)) % 2, 17, wrong)
    for values in (y, y.astype(object), y[:, None] if is_regressor(estimator) else y):
        with pytest.raises(ValueError, match=r"Input y contains infinity at row 17") as caught:
            estimator.fit(X, values)
        assert "ill" not in str(caught.value)
        assert str(caught.value).endswith("Replace it by a number, or drop the row")


@over_bases
def test_targets_that_are_missing_are_told(basis):
    with pytest.warns(MercerWarning, match="1 of 30 rows have no label"):
        KernelRegressor(missing="error", basis=basis).fit(X, changed(Y, 17, np.nan))
    refused(
        KernelRegressor(missing="error", basis=basis),
        X,
        np.full(30, np.nan),
        words="no row has a label",
    )


@over_bases
def test_targets_of_another_length(basis):
    refused(
        KernelRegressor(missing="error", basis=basis),
        X,
        Y[:20],
        words=("X has 30 rows", "y has 20"),
    )


def test_no_targets():
    refused(KernelRegressor(), X, words="requires y to be passed")


def test_targets_of_text_for_a_regressor():
    refused(KernelRegressor(), X, np.array(["a"] * 30), words="")


DAYS = pd.date_range("2020-01-01", periods=len(Y))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([10**400] * len(Y), ("y must hold numbers of at most 1.8e+308", "1,329 bits")),
        (np.array([1, -(10**9000)] * len(Y), dtype=object)[: len(Y)], "29,898 bits"),
        (DAYS.to_numpy(), ("y must hold numbers", "dates (datetime64[", "subtract an origin")),
        (pd.Series(DAYS), "dates (datetime64["),
        (pd.Series(DAYS.tz_localize("UTC")), "dates (Timestamp)"),
        (list(DAYS), "dates ("),
        ([day.date() for day in DAYS], "dates (date)"),
        ((DAYS - DAYS[0]).to_numpy(), "dates (timedelta64["),
    ],
)
def test_targets_that_are_dates_or_huge(y, words):
    refused(KernelRegressor(), X, y, words=words)
    with pytest.raises(ValueError, match="y must hold numbers"):
        KernelRanker().fit(X, y)
    with pytest.raises(ValueError, match="y must hold numbers"):
        KernelRegressor(shards=2).fit(X, y)


def test_huge_weights_of_integers():
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        KernelRegressor().fit(X, Y, sample_weight=[10**400] * len(Y))


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ({"a": 1}, "text, numbers or booleans, got a dict in row 1"),
        ({"a"}, "got a set in row 1"),
        (["a", "b"], "got a list in row 1"),
        (10**400, "1,329 bits in row 1: write them as text"),
    ],
)
def test_classes_that_are_containers_or_huge(label, words):
    y = np.array([None] * len(Y), dtype=object)
    for row in range(len(Y)):
        y[row] = label if row % 2 else "b"
    with pytest.raises(ValueError, match=words):
        KernelClassifier().fit(X, y)


@over_bases
def test_one_class_only(basis):
    refused(
        KernelClassifier(missing="error", basis=basis),
        X,
        np.full(30, "same"),
        words=("at least two classes", "'same'"),
        y=np.arange(30) % 3,
    )


def test_classes_that_are_numbers_of_every_size():
    refused(KernelClassifier(), X, Y, words="Unknown label type", y=np.arange(30) % 3)


def test_missing_classes():
    labels = np.array(["a", "b", None] * 10, dtype=object)
    with pytest.warns(MercerWarning, match="10 of 30 rows have no label"):
        assert KernelClassifier().fit(X, labels).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize("mixed", [["a", 1, None], [2.5, "b", "a"], [True, "no", "a"]])
def test_classes_that_are_text_and_numbers(mixed, shards):
    labels = np.array(mixed * 10, dtype=object)
    with pytest.raises(ValueError, match=r"must be all text or all numbers, got .* and '[abno]+'"):
        KernelClassifier(shards=shards).fit(X, labels)


def test_classes_that_are_text_in_one_partition_and_numbers_in_another():
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": X[:, 0], "y": np.array(["a", "b"] * 8 + [1, 2] * 7, dtype=object)})
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises(ValueError, match="must be all text or all numbers"),
    ):
        KernelClassifier().fit(dd.from_pandas(frame, npartitions=2), "y")


@over_bases
def test_a_classifier_keeps_its_classes_when_a_fit_is_refused(basis):
    refused(
        KernelClassifier(missing="error", basis=basis),
        changed(X, (17, 1), np.nan),
        np.arange(30) % 2 + 10,
        words="NaN",
        y=np.arange(30) % 3,
    )


def test_a_model_keeps_its_columns_when_a_fit_is_refused():
    model = KernelRegressor(alpha=1e-3, missing="error").fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    three = pd.DataFrame(np.full((30, 3), np.nan), columns=["c", "d", "e"])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(three, Y)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.isfinite(model.predict(pd.DataFrame(NEW, columns=["a", "b"]))).all()


@over_bases
def test_a_model_keeps_its_outputs_when_a_fit_is_refused(basis):
    refused(
        KernelRegressor(missing="error", basis=basis),
        changed(X, (17, 1), np.nan),
        np.ones((30, 2)),
        words="NaN",
    )


# -- weights ---------------------------------------------------------------------------------------


WEIGHTS = {
    "negative": (changed(W, 17, -0.5), ("at least 0", "-0.5", "row 17")),
    "NaN": (changed(W, 17, np.nan), "NaN"),
    "infinite": (changed(W, 17, np.inf), "inf"),
    "all zero": (np.zeros(30), "zero"),
    "length": (W[:20], ("20", "30")),
    "two columns": (np.ones((30, 2)), "1D"),
}


@over_each(basis=BASES, kind=WEIGHTS)
def test_weights_that_are_none(basis, kind):
    bad, words = WEIGHTS[kind]
    refused(KernelRegressor(missing="error", basis=BASES[basis]), X, Y, bad, words=words)


@pytest.mark.parametrize("shards", [None, 2])
def test_classes_that_differ_only_by_case_or_spaces_are_named(shards):
    y = np.where(X[:, 0] > 0.5, "yes", np.where(X[:, 1] > 0.5, "Yes ", "no"))
    y[:2] = "YES"
    model = KernelClassifier(Gaussian(0.5), Landmarks(sampling=GIVEN), shards=shards)
    with pytest.warns(MercerWarning, match="kept apart: 'YES' and 'Yes ' and 'yes'"):
        model.fit(X, y)
    assert model.classes_.tolist() == ["YES", "Yes ", "no", "yes"]


@pytest.mark.parametrize("label", [np.inf, -np.inf, 1e300])
def test_labels_that_are_no_integers_are_refused_without_a_warning(label):
    """scikit-learn would cast them to integers, and warn of that."""
    y = np.array([0.0, 1.0, label, 1.0, 0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"infinity|must be below 9e"):
            KernelClassifier("gaussian", metric=None, scale=None).fit(np.eye(6), y)


# -- data frames ---------------------------------------------------------------------------------

READERS = {
    "estimator": lambda X: KernelRegressor(Gaussian(1.0)).fit(X, Y),
    "y by name": lambda X: KernelRegressor(Gaussian(1.0)).fit(X, "y"),
    "numbers only": lambda X: KernelRegressor(Gaussian(1.0), columns=None).fit(X, Y),
    "new rows": lambda X: KernelRegressor(Gaussian(1.0)).fit(X_FRAME, Y).predict(X),
    "encoder": lambda X: TableEncoder().fit(X),
}
X_FRAME = pd.DataFrame(X).add_prefix("x")


@pytest.mark.parametrize("reader", READERS)
def test_two_columns_of_one_name_are_named(reader):
    twice = pd.concat([X_FRAME, X_FRAME[["x1"]]], axis=1).assign(y=Y)
    with pytest.raises(ValueError, match="a distinct name for every column, but 'x1' names more"):
        READERS[reader](twice)


@pytest.mark.parametrize("reader", READERS)
def test_a_lazy_frame_has_to_be_collected(reader):
    lazy = pl.from_pandas(X_FRAME.assign(y=Y)).lazy()
    with pytest.raises(TypeError, match=r"in memory, got a LazyFrame.*pass X\.collect\(\)"):
        READERS[reader](lazy)


def test_a_folder_of_other_files_names_the_list(tmp_path):
    X_FRAME.assign(y=Y).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match=r"got a\.csv: .* fit to a list of their paths"):
        KernelRegressor().fit(tmp_path, "y")
