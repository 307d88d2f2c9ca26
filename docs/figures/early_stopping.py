"""The path of kernel conjugate gradients: its curves, and the fits of a few of its steps."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import KCGM, KernelRegressor, Matern, SolverPathDisplay, StopAfter, StopByFolds


def truth(x: np.ndarray) -> np.ndarray:
    """Slow waves that become faster."""
    return np.sin(2 * np.pi * x**2)


def main() -> None:
    """Draw the display of a fit, and three numbers of steps."""
    rng = np.random.default_rng(8)
    x = 2 * rng.random(200)
    y = truth(x) + 0.5 * rng.standard_normal(len(x))
    grid = np.linspace(0, 2, 1000)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")

    def fit(stop: StopAfter | StopByFolds) -> KernelRegressor:
        return KernelRegressor(Matern(1.5, 0.15), solver=KCGM(stop), random_state=0).fit(
            x[:, None], y
        )

    model = fit(StopByFolds(5, patience=12))
    SolverPathDisplay.from_estimator(model, ax=left)
    left.set_xlabel("steps of kernel conjugate gradients")

    right.plot(x, y, "o", color=style.LIGHT, markersize=3)
    best = model.best_step_
    many = len(model.validation_curve_)
    staged = list(fit(StopAfter(many)).staged_predict(grid[:, None]))
    for steps, color in ((1, style.PINK), (many, style.SKY), (best, style.BLUE)):
        label = f"{steps} step{'s' * (steps > 1)}" + ", chosen" * (steps == best)
        right.plot(grid, staged[steps - 1], color=color, label=label)
    right.plot(grid, truth(grid), "--", color=style.GRAY, linewidth=1, label="the truth")
    right.set(xlabel="x", ylim=(-2.4, 2.4))
    right.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.3)
    style.save(figure, "early_stopping")


if __name__ == "__main__":
    main()
