"""Threads that change one model wait for each other: no batch is lost."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.base import clone

from cases import GIVEN
from mercer import KernelClassifier, KernelRegressor, Landmarks
from mercer.estimators.kernel_estimator import lock_of
from mercer.kernels import Gaussian

PARTS = 8


def data(rows=400):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (rows, 2))
    return X, np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(rows)


def at_once(call, parts):
    """Call from one thread per part, all at the same time."""
    start = Barrier(len(parts))

    def run(part):
        start.wait()
        return call(*part)

    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(run, parts))


@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize("first", [False, True], ids=["fitted", "first"])
def test_no_batch_is_lost(first, remembers):
    X, y = data()
    params = {"kernel": Gaussian(0.5), "basis": Landmarks(sampling=GIVEN), "alpha": 1e-3}
    model = KernelRegressor(**params, remember_rows=remembers)
    if not first:
        model.fit(X[:40], y[:40])
    begin = 0 if first else 40
    parts = list(
        zip(np.array_split(X[begin:], PARTS), np.array_split(y[begin:], PARTS), strict=True)
    )
    at_once(model.partial_fit, parts)
    assert model.fit_.n_rows == len(X)
    whole = KernelRegressor(**params).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-6)
    at_once(model.forget, parts[:4])
    assert model.fit_.n_rows == len(X) - sum(len(part[0]) for part in parts[:4])


def test_no_batch_of_a_classifier_is_lost():
    X, y = data()
    labels = np.where(y > 0.5, "up", "down")
    model = KernelClassifier(Gaussian(0.5), Landmarks(sampling=GIVEN), 1e-3)
    parts = zip(np.array_split(X, PARTS), np.array_split(labels, PARTS), strict=True)
    at_once(lambda X, y: model.partial_fit(X, y, classes=["up", "down"]), list(parts))
    assert model.fit_.n_rows == len(X)


def test_a_refused_batch_does_not_disturb_others():
    X, y = data()
    model = KernelRegressor(Gaussian(0.5), Landmarks(sampling=GIVEN), 1e-3, remember_rows=True).fit(
        X[:200], y[:200]
    )
    refused = []

    def change(X, y):
        try:
            model.forget(X, y)
        except ValueError:
            refused.append(len(X))

    at_once(change, [(X[:50], y[:50])] * 4)  # only one of them is right
    assert refused == [50, 50, 50]
    assert model.fit_.n_rows == 150


def test_copies_have_locks_of_their_own():
    X, y = data()
    model = KernelRegressor(Gaussian(0.5), Landmarks(sampling=GIVEN), 1e-3).fit(X, y)
    with lock_of(model):  # held while copying
        copies = [clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    locks = {id(lock_of(one)) for one in (model, *copies)}
    assert len(locks) == 4
    for one in copies[1:]:
        assert one.partial_fit(X, y).fit_.n_rows == 2 * len(X)
