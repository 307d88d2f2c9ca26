"""On real rows, deviations converge with the landmarks and cover the targets of new rows."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from cases import regressor
from mercer import Landmarks
from real_data import real


def deviation(model, X, y, new):
    return model.fit(X, y).predict(new, return_std=True)[1]


@pytest.mark.real
@pytest.mark.slow
def test_kin40k():
    data = real("kin40k")
    (X, new), (y, truth) = np.split(data.X[:4000], [3000]), np.split(data.y[:4000], [3000])
    model = regressor("gaussian", alpha=1e-6, random_state=0, fit_intercept=False)
    exact, gaps = deviation(clone(model).set_params(basis="full"), X, y, new), []
    for size in (100, 300, 900, 2700):
        model.set_params(basis=Landmarks(size))
        gaps.append(np.median(np.abs(np.log(deviation(model, X, y, new) / exact))))
    assert all(later < earlier for earlier, later in pairwise(gaps)), gaps
    mean, std = model.predict(new, return_std=True, include_noise=True)
    assert 0.9 < np.mean(np.abs(truth - mean) < 1.96 * std) < 0.99
