"""The models of the full kernel without some rows are refits, also where alpha was chosen.

Eigenvectors, which choose alpha, drop the directions below rounding. Their share of the
coefficients is nothing in f, but all of what a nearly interpolating fit leaves of y.
"""

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor

ALPHA = 1e-5
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(80, 2))
Y = np.sin(6 * X[:, 0]) + 0.05 * RNG.normal(size=80)


@pytest.mark.parametrize("how", [{"alphas": [ALPHA]}, {"alpha": ALPHA}], ids=["chosen", "given"])
@pytest.mark.parametrize("intervals", ["cv+", "jackknife+"])
def test_left_out_models_are_refits(intervals, how):
    plain = {"basis": "full", "scale": None, "metric": None, "random_state": 0}
    model = KernelRegressor(Gaussian(0.6), intervals=intervals, **plain, **how).fit(X, Y)
    if "alphas" in how:
        assert "directions are below the rounding" in model.fit_.solution.reason
    known = model.fit_.intervals
    K, y = model.kernel_(X), model._targets.encode(Y, 0)[:, 0]
    for number, (c, constant) in enumerate(zip(known.coefficients, known.intercept, strict=True)):
        kept = np.arange(80) != number if intervals == "jackknife+" else c[:, 0] != 0
        G = K[np.ix_(kept, kept)] + ALPHA * 80 * np.eye(kept.sum())
        solved = np.linalg.solve(G, np.column_stack([y[kept], np.ones(kept.sum())]))
        mean = solved[:, 0].sum() / solved[:, 1].sum()
        wanted = K[:, kept] @ (solved[:, 0] - mean * solved[:, 1]) + mean
        np.testing.assert_allclose(K @ c[:, 0] + constant, wanted, atol=1e-4)
