"""The tolerance of the discrepancy rule is in units of the root mean square of y."""

import numpy as np
import pytest

from mercer import Gaussian, GradientDescent, KernelRegressor, RandomFeatures, StopAtDiscrepancy

RNG = np.random.default_rng(0)
X = RNG.random((80, 2))
Y = 5 + np.sin(4 * X[:, 0]) + 0.1 * RNG.standard_normal(80)
TAU, ETA = 0.02, 0.5


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_the_rule_stops_where_the_residual_is_tau_times_the_root_mean_square(intercept, factor):
    solver = GradientDescent(StopAtDiscrepancy(TAU), step_size=ETA)
    plain = {"metric": None, "scale": None, "columns": None, "dtype": "float64", "random_state": 0}
    basis = RandomFeatures(30)
    model = KernelRegressor(Gaussian(0.5), basis, solver=solver, fit_intercept=intercept, **plain)
    model.fit(X, factor * Y)
    H = model.basis_.evaluate(X)
    H, y = (H - H.mean(axis=0), Y - Y.mean()) if intercept else (H, Y)
    v, steps, size = np.zeros(30), 0, np.sqrt(np.mean(y**2))
    while np.linalg.norm(H.T @ (H @ v - y)) / 80 > TAU * size:
        v, steps = v - ETA * H.T @ (H @ v - y) / 80, steps + 1
    assert steps > 3
    assert len(model.fit_.path.residuals) == steps
    assert intercept or size > 4 * Y.std()  # of a fit without one it is not the deviation
