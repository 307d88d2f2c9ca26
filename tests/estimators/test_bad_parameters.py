"""Bad parameters are refused in words that name them, before any work."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

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
from refusals import NEW, X, Y, refused

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "gausian"}, ("unknown kernel 'gausian'", "did you mean 'gaussian'")),
        ({"basis": "landmark"}, ("unknown basis 'landmark'", "did you mean 'landmarks'")),
        ({"solver": "rigde"}, ("unknown solver 'rigde'", "did you mean 'ridge'")),
        ({"selection": "kfolds"}, ("unknown selection 'kfolds'", "did you mean 'kfold'")),
        ({"dtype": "float23"}, ("unknown dtype 'float23'", "did you mean 'float32'")),
        ({"dtype": np.float32}, ("dtype", "float32")),
        ({"kernel": Gaussian(0)}, ("bandwidth", "greater than 0", "got 0", "'median'")),
        ({"kernel": Gaussian(-1.0)}, ("bandwidth", "-1.0")),
        ({"kernel": Gaussian([1.0, 2.0, 3.0])}, ("X has 2 columns", "(3,)")),
        ({"kernel": Matern(nu=0.7)}, ("nu of Matern", "0.7")),
        ({"alpha": -1.0}, ("alpha", "at least 0", "-1.0")),
        ({"alpha": np.nan}, ("alpha", "nan")),
        ({"alpha": np.inf}, ("alpha", "inf")),
        ({"alpha": 10**400}, ("alpha must be a finite number", "an integer that is too large")),
        ({"alphas": [1, 10**400]}, ("alphas must be finite", "too large")),
        ({"kernel": Gaussian(10**400)}, ("bandwidth must be a finite number", "too large")),
        ({"random_state": np.random}, ("the module numpy.random", "use None")),
        ({"alpha": "otto"}, ("alpha must be a number of at least 0, or 'auto'", "'otto'")),
        ({"alphas": []}, "alphas must be a list of numbers"),
        ({"alphas": [-1.0, 1.0]}, "alphas must be finite and at least 0"),
        ({"alphas": "many"}, "alphas must be"),
        ({"memory_limit": "much"}, ("memory_limit must be", "'2GB'", "'much'")),
        ({"memory_limit": -5}, ("memory_limit must be", "-5")),
        ({"basis": FullKernel(kernel="gaussian")}, ("its own kernel", "'gaussian'")),
        ({"basis": Landmarks(kernel=Gaussian())}, ("its own kernel", "KernelRegressor(kernel=")),
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
        ({"memory_limit": None}, ("memory_limit must be a number", "None")),
        ({"basis": Landmarks(2.5)}, ("n_components of Landmarks", "integer", "2.5")),
        ({"basis": Sketch(2.5)}, ("n_components of Sketch", "integer", "2.5")),
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
        model = KernelRegressor(Gaussian("median"), Landmarks(50), 1e-3).fit(X, Y)
    assert model.basis_.size <= 30
    np.testing.assert_allclose(
        model.predict(NEW),
        KernelRegressor(Gaussian("median"), "full", 1e-3).fit(X, Y).predict(NEW),
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
