"""Test error of the float32 path against float64, along alpha."""

from __future__ import annotations

from copy import copy

import numpy as np

from benchmarks.data import BANDWIDTH, LANDMARKS, TRAIN, Covtype, covtype
from mercer import Gaussian, KernelRegressor, Landmarks, Ridge
from mercer.bases import Whitener
from mercer.moments import MomentSums
from mercer.systems import MomentSystem

ALPHAS = 10.0 ** -np.arange(3, 11)


def run(repeats: int = 1) -> list[str]:
    data = covtype()
    errors: dict[str, list[float]] = {}
    for dtype in ("float64", "float32"):
        model = KernelRegressor(
            Gaussian(BANDWIDTH), Landmarks(LANDMARKS), 1e-6, dtype=dtype, random_state=0
        ).fit(data.X, data.Y)
        errors[dtype] = []
        for alpha in ALPHAS:
            _refit(model, alpha)
            errors[dtype].append(data.error(model.predict(data.X_test)))
    plain = _plain_errors(model, data)
    worst = max(abs(a - b) for a, b in zip(errors["float32"], errors["float64"], strict=True))
    lines = [
        f"covtype as above ({TRAIN:,} rows, {LANDMARKS:,} landmarks): test error along alpha. "
        f"Largest difference of float32 from float64: **{worst:.4f}**. The last row sums the "
        f"kernel values as they are, instead of graded functions, and solves likewise.",
        "",
        "| alpha | " + " | ".join(f"{alpha:.0e}" for alpha in ALPHAS) + " |",
        "|---" * (len(ALPHAS) + 1) + "|",
    ]
    rows = {"float64": errors["float64"], "float32": errors["float32"], "float32, plain": plain}
    for name, values in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.4f}" for value in values) + " |")
    return lines


def _refit(model: KernelRegressor, alpha: float) -> None:
    """Solve the model's moments for another alpha."""
    system = MomentSystem(model.fit_.folds, model.basis_, True, np.ones(7))
    coefficients, intercept = system.coefficients(Ridge().solve(system, alpha).value)
    targets = model._targets
    model.coef_ = coefficients * targets.scale
    model.intercept_ = intercept * targets.scale + targets.origin


class _Ungraded:
    """The same functions, summed as they are."""

    def __init__(self, basis: Landmarks) -> None:
        self.basis = basis
        self.size, self.precision_ = basis.size, basis.precision_

    def graded(self, X: np.ndarray, out: np.ndarray, spare: np.ndarray) -> np.ndarray:
        return self.basis.evaluate(X, out)

    def whitener(self) -> Whitener:
        return Whitener(self.basis.factor_, self.size)

    def coefficients(self, plain: np.ndarray) -> np.ndarray:
        return plain


def _plain_errors(model: KernelRegressor, data: Covtype) -> list[float]:
    """Test errors when kernel values are summed as they are, in float32."""
    basis = _Ungraded(model.basis_)
    sums = MomentSums(basis, data.Y.shape[1])
    for start in range(0, len(data.X), 2048):
        block = slice(start, start + 2048)
        sums.add(data.X[block], model._targets.encode(data.Y[block], start))
    plain = copy(model)
    system = MomentSystem([sums.total()], basis, True, np.ones(7))
    errors = []
    for alpha in ALPHAS:
        coefficients, intercept = system.coefficients(Ridge().solve(system, alpha).value)
        plain.coef_ = coefficients * model._targets.scale
        plain.intercept_ = intercept * model._targets.scale + model._targets.origin
        errors.append(data.error(plain.predict(data.X_test)))
    return errors
