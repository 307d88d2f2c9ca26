"""KTR3: a random prefix, a penalty relative to all rows, and clipping."""

import numpy as np
import pytest

from cases import PLAIN, rows, targets
from mercer import FullKernel, Gaussian, KernelRegressor
from mercer.estimators.baselines import TruncatedRidge

X = rows(40)
Y = targets(X) + 2
SETTINGS = {"kernel": Gaussian(0.5), "basis": FullKernel(), **PLAIN}


def truncated(seed, **settings):
    return TruncatedRidge(**{**SETTINGS, "random_state": seed, **settings})


def test_every_length_from_none_to_all_but_one_may_come():
    lengths = [len(truncated(seed, alpha=1e-2).fit(X[:5], Y[:5]).used_) for seed in range(60)]
    assert sorted(set(lengths)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("intercept", [True, False])
def test_no_row_at_all_is_the_zero_function(intercept):
    seed = next(s for s in range(99) if prefix(s, 5) == 0)
    model = truncated(seed, alpha=1e-2, fit_intercept=intercept).fit(X[:5], Y[:5])
    np.testing.assert_array_equal(model.predict(X), np.zeros(40))


def prefix(seed, n):
    """The length that a seed draws."""
    rng = np.random.default_rng(seed)
    rng.permutation(n)
    return int(rng.integers(n))


@pytest.mark.parametrize("outputs", [1, 2])
def test_weights_count_in_the_penalty_and_outputs_are_clipped_apart(outputs):
    weight = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    y = Y if outputs == 1 else np.c_[Y, -3 * Y]
    model = truncated(5, alpha=1e-2).fit(X, y, weight)
    used = model.used_
    assert 5 < len(used) < 35
    alpha = 1e-2 * weight.sum() / weight[used].sum()
    plain = KernelRegressor(**SETTINGS, alpha=alpha).fit(X[used], y[used], weight[used])
    bound = np.abs(y).max(axis=0)
    far = np.concatenate([X, 3 * X])
    np.testing.assert_allclose(model.predict(far), np.clip(plain.predict(far), -bound, bound))
    assert model.alpha_ == pytest.approx(1e-2)


def test_a_path_of_penalties_is_relative_to_all_rows():
    alphas = np.geomspace(1e-4, 1e-1, 5)
    model = truncated(5, alphas=alphas, selection="gcv").fit(X, Y)
    np.testing.assert_allclose(model.cv_results_["alpha"], alphas)
    assert np.any(np.isclose(model.alpha_, alphas))
