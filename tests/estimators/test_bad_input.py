"""Bad input is refused in words that name it, and a model that was fitted before still works."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from cases import GIVEN, rows, targets, weights
from mercer import (
    FullKernel,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    KFold,
    Landmarks,
    Matern,
    MemoryLimitError,
    MercerWarning,
    RandomFeatures,
    Ridge,
    Sketch,
    Sum,
)
from mercer.kernels import KERNELS
from pairs import over_each

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

X, Y, W = rows(), targets(rows()), weights()
NEW = rows(12, seed=9)
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


def refused(model, *arguments, words, error=ValueError, y=Y):
    """A fit is refused with these words, and the fit before it goes on to predict."""
    good = type(model)(alpha=1e-3, random_state=0).fit(X, y)
    before = good.predict(NEW)
    good.set_params(**model.get_params(deep=False))
    with pytest.raises(error) as caught:
        good.fit(*arguments)
    message = str(caught.value)
    for word in (words,) if isinstance(words, str) else words:
        assert word in message
    good.set_params(**type(model)().get_params(deep=False))
    np.testing.assert_array_equal(good.predict(NEW), before)


# -- rows ------------------------------------------------------------------------------------------


@over_each(basis=BASES, wrong=[(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "inf")])
def test_values_that_are_not_finite_are_named_by_row_and_column(basis, wrong):
    model, (value, word) = KernelRegressor(basis=BASES[basis]), wrong
    refused(model, changed(X, (17, 1), value), Y, words=(word, "row 17", "column 1"))


@over_bases
def test_values_that_are_not_finite_are_named_by_the_name_of_their_column(basis):
    frame = pd.DataFrame(changed(X, (17, 1), np.nan), columns=["height", "width"])
    refused(KernelRegressor(basis=basis), frame, Y, words=("NaN", "row 17", "'width'"))


@over_each(
    basis=["landmarks", Landmarks(50), Landmarks(50, "kmeans"), RandomFeatures(20), Sketch(20)],
    dtype=["float32", "float64"],
)
def test_among_many_rows_the_right_one_is_named(basis, dtype):
    """Samples of rows are looked at first: the row in the message is that of X all the same."""
    many = np.random.default_rng(0).random((3000, 2))
    many[[1500, 2000]] = np.nan
    many[2990:] = np.nan
    model = KernelRegressor(basis=basis, dtype=dtype, random_state=0)
    with pytest.raises(ValueError, match="NaN at row 1500, column 0"):
        model.fit(many, np.arange(3000.0))


def test_rows_of_weight_zero_do_not_shift_the_row_that_is_named():
    w = W.copy()
    w[:5] = 0.0
    with pytest.raises(ValueError, match="NaN at row 17, column 1"):
        KernelRegressor().fit(changed(X, (17, 1), np.nan), Y, w)


@over_bases
def test_predicting_values_that_are_not_finite(basis):
    model = KernelRegressor(basis=basis, alpha=1e-3).fit(X, Y)
    with pytest.raises(ValueError, match="NaN at row 5, column 0"):
        model.predict(changed(NEW, (5, 0), np.nan))
    assert np.isfinite(model.predict(NEW)).all()


def test_the_row_is_named_in_late_blocks_too():
    many = np.random.default_rng(0).random((20_000, 2))
    model = KernelRegressor(basis=Landmarks(sampling=GIVEN), alpha=1e-3).fit(X, Y)
    with pytest.raises(ValueError, match="infinity at row 15000, column 1"):
        model.predict(changed(many, (15_000, 1), np.inf))


@over_bases
def test_another_number_of_columns_at_prediction(basis):
    model = KernelRegressor(basis=basis, alpha=1e-3).fit(X, Y)
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
    refused(KernelRegressor(), frame, Y, words=("'color'",))


# -- targets ---------------------------------------------------------------------------------------


@over_bases
def test_targets_that_are_not_finite(basis):
    refused(
        KernelRegressor(basis=basis), X, changed(Y, 17, np.inf), words=("y contains", "infinity")
    )


@over_bases
def test_targets_that_are_missing_are_told(basis):
    with pytest.warns(MercerWarning, match="1 of 30 rows have no label"):
        KernelRegressor(basis=basis).fit(X, changed(Y, 17, np.nan))
    refused(KernelRegressor(basis=basis), X, np.full(30, np.nan), words="no row has a label")


@over_bases
def test_targets_of_another_length(basis):
    refused(KernelRegressor(basis=basis), X, Y[:20], words=("X has 30 rows", "y has 20"))


def test_no_targets():
    refused(KernelRegressor(), X, words="requires y to be passed")


def test_targets_of_text_for_a_regressor():
    refused(KernelRegressor(), X, np.array(["a"] * 30), words="")


@over_bases
def test_one_class_only(basis):
    refused(
        KernelClassifier(basis=basis),
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
    labels = np.array(["a", 1, None] * 10, dtype=object)
    with pytest.raises((ValueError, TypeError), match=r"label|str"):
        KernelClassifier().fit(X, labels)


@over_bases
def test_a_classifier_keeps_its_classes_when_a_fit_is_refused(basis):
    refused(
        KernelClassifier(basis=basis),
        changed(X, (17, 1), np.nan),
        np.arange(30) % 2 + 10,
        words="NaN",
        y=np.arange(30) % 3,
    )


def test_a_model_keeps_its_columns_when_a_fit_is_refused():
    model = KernelRegressor(alpha=1e-3).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    three = pd.DataFrame(np.full((30, 3), np.nan), columns=["c", "d", "e"])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(three, Y)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.isfinite(model.predict(pd.DataFrame(NEW, columns=["a", "b"]))).all()


@over_bases
def test_a_model_keeps_its_outputs_when_a_fit_is_refused(basis):
    refused(
        KernelRegressor(basis=basis), changed(X, (17, 1), np.nan), np.ones((30, 2)), words="NaN"
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
    refused(KernelRegressor(basis=BASES[basis]), X, Y, bad, words=words)


# -- parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "gausian"}, ("unknown kernel 'gausian'", "did you mean 'gaussian'")),
        ({"kernel": "laplacian"}, ("'laplacian_l1'", "'laplacian_l2'")),
        ({"basis": "landmark"}, ("unknown basis 'landmark'", "did you mean 'landmarks'")),
        ({"solver": "rigde"}, ("unknown solver 'rigde'", "did you mean 'ridge'")),
        ({"selection": "kfolds"}, ("unknown selection 'kfolds'", "did you mean 'kfold'")),
        ({"dtype": "float23"}, ("unknown dtype 'float23'", "did you mean 'float32'")),
        ({"dtype": np.float32}, ("dtype", "float32")),
        ({"kernel": Gaussian(0)}, ("bandwidth", "over 0", "got 0", "'median'")),
        ({"kernel": Gaussian(-1.0)}, ("bandwidth", "-1.0")),
        ({"kernel": Gaussian([1.0, 2.0, 3.0])}, ("X has 2 columns", "(3,)")),
        ({"kernel": Matern(nu=0.7)}, ("nu of Matern", "0.7")),
        ({"alpha": -1.0}, ("alpha", "at least 0", "-1.0")),
        ({"alpha": np.nan}, ("alpha", "nan")),
        ({"alpha": np.inf}, ("alpha", "inf")),
        ({"alpha": "otto"}, ("alpha must be a number of at least 0, or 'auto'", "'otto'")),
        ({"alphas": []}, "alphas must be a list of numbers"),
        ({"alphas": [-1.0, 1.0]}, "alphas must be finite and at least 0"),
        ({"alphas": "many"}, "alphas must be"),
        ({"memory_limit": "much"}, ("memory_limit must be", "'2GB'", "'much'")),
        ({"memory_limit": -5}, ("memory_limit must be", "-5")),
        ({"basis": FullKernel(kernel="gaussian")}, ("kernel of its own", "'gaussian'")),
        ({"basis": Landmarks(kernel=Gaussian())}, ("kernel of its own", "KernelRegressor(kernel=")),
        ({"basis": Landmarks(0)}, ("n_components of Landmarks", "at least 1", "0")),
        ({"basis": Landmarks(5, sampling="random")}, ("unknown sampling 'random'", "'uniform'")),
        ({"basis": Landmarks(sampling=np.ones((3, 5)))}, ("(M, 2)", "(3, 5)")),
        ({"selection": KFold(1)}, ("n_splits of KFold", "at least 2", "1")),
        ({"solver": Ridge("choleski"), "basis": "landmarks"}, ("method of Ridge", "'cholesky'")),
        ({"solver": Ridge("choleski"), "basis": "full"}, ("method of Ridge", "'cholesky'")),
        ({"random_state": "seed", "basis": "landmarks"}, "'seed' cannot be used to seed"),
        ({"random_state": -1, "basis": "landmarks"}, "Seed must be between 0"),
    ],
    ids=lambda value: str(value)[:50].replace("\n", " ") if isinstance(value, dict) else "",
)
def test_parameters_of_wrong_value(settings, words):
    refused(KernelRegressor(**settings), X, Y, words=words)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": Gaussian}, ("got the class Gaussian", "write Gaussian()")),
        ({"kernel": 3}, ("kernel must be a name", "got int")),
        ({"kernel": None}, ("kernel must be a name", "got NoneType")),
        ({"fit_intercept": "no"}, ("fit_intercept must be True or False", "'no'")),
        ({"verbose": "loud"}, ("verbose must be a number", "'loud'")),
        ({"basis": RandomFeatures(5, orthogonal="no")}, ("orthogonal must be True", "'no'")),
        ({"kernel": Sum(Gaussian(), 3)}, ("right of Sum must be a kernel object", "3")),
        ({"basis": Landmarks}, ("got the class Landmarks", "write Landmarks()")),
        ({"basis": 100}, ("basis must be a name", "got int")),
        ({"solver": Ridge}, ("got the class Ridge", "write Ridge()")),
        ({"selection": 5}, ("selection must be a name", "got int")),
        ({"alpha": None}, ("alpha must be a number", "None")),
        ({"alpha": True}, ("alpha must be a number", "True")),
        ({"alpha": [1.0]}, ("alpha must be a number", "[1.0]")),
        ({"memory_limit": None}, ("memory_limit must be a number", "None")),
        ({"basis": Landmarks(2.5)}, ("n_components of Landmarks", "whole number", "2.5")),
        ({"basis": Sketch(2.5)}, ("n_components of Sketch", "whole number", "2.5")),
    ],
    ids=lambda value: str(value)[:50] if isinstance(value, dict) else "",
)
def test_parameters_of_wrong_type(settings, words):
    refused(KernelRegressor(**settings), X, Y, words=words, error=TypeError)


def test_a_memory_limit_that_is_too_low():
    refused(
        KernelRegressor(basis="full", memory_limit=100),
        X,
        Y,
        words=("full kernel of 30 rows", "memory_limit of 100 B", "basis='landmarks'"),
        error=MemoryLimitError,
    )


def test_more_landmarks_than_rows_are_reduced_with_a_warning():
    with pytest.warns(MercerWarning, match="n_components=50 is more than the 30 rows: reduced"):
        model = KernelRegressor(basis=Landmarks(50), alpha=1e-3).fit(X, Y)
    assert model.basis_.size <= 30
    np.testing.assert_allclose(
        model.predict(NEW),
        KernelRegressor(basis="full", alpha=1e-3).fit(X, Y).predict(NEW),
        atol=1e-6,
    )


def test_sensible_settings_give_no_warning(recwarn):
    for basis in ("auto", "full", "landmarks", Landmarks(10), RandomFeatures(10)):
        KernelRegressor(basis=basis, random_state=0).fit(X, Y).predict(NEW)
    assert not recwarn.list


def test_parameters_are_checked_before_any_row_is_read():
    class Unread:
        """A source that must not be read."""

        n_rows, n_features, feature_names, has_target = 10, 2, None, True
        resident_bytes = 0

        def blocks(self, rows):
            raise AssertionError("read")

        take = targets = split = blocks

    for settings in ({"alpha": -1}, {"kernel": "x"}, {"solver": "x"}, {"selection": "x"}):
        with pytest.raises(ValueError, match=r"alpha|unknown"):
            KernelRegressor(**settings).fit(Unread())
    for settings in ({"basis": "x"}, {"dtype": "x"}, {"memory_limit": "x"}):
        with pytest.raises(ValueError, match=r"unknown|memory_limit"):
            KernelRegressor(**settings).fit(Unread())


@pytest.mark.parametrize("cls", [KernelRegressor, KernelClassifier])
def test_predicting_before_fitting(cls):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        cls().predict(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = cls().effective_dimension_


@pytest.mark.parametrize("name", KERNELS)
def test_every_name_of_a_kernel_is_suggested_for_itself_with_a_typing_error(name):
    with pytest.raises(ValueError, match=name):
        KernelRegressor(kernel=name[:-1] + "q").fit(X, Y)
