"""Three ways to choose alpha, against the error that they try to estimate."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import Gaussian, KernelRegressor, KFold, LeaveOneOut

NOISE = 0.4


def truth(x: np.ndarray) -> np.ndarray:
    """Slow waves that become faster."""
    return np.sin(2 * np.pi * x**2)


def main() -> None:
    """Draw scores along the path, and the fits at three of its points."""
    rng = np.random.default_rng(8)
    x = 2 * rng.random(120)
    y = truth(x) + NOISE * rng.standard_normal(len(x))
    grid = np.linspace(0, 2, 1000)
    alphas = np.geomspace(1e-8, 1, 33)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")

    def fit(**parameters: object) -> KernelRegressor:
        model = KernelRegressor(Gaussian(0.08), random_state=0, **parameters)
        return model.fit(x[:, None], y)

    ways = {
        "generalized cross-validation": ("gcv", style.BLUE),
        "5-fold": (KFold(5), style.GREEN),
        "leave-one-out": (LeaveOneOut(), style.ORANGE),
    }
    chosen = {}
    for name, (selection, color) in ways.items():
        model = fit(selection=selection, alphas=alphas)
        scores = model.cv_results_["mean_squared_error"]
        left.semilogx(alphas, scores, color=color, label=name)
        left.plot(model.alpha_, scores.min(), "o", color=color, markersize=5)
        chosen[name] = model
    # x is uniform on [0, 2], so the mean over the grid is the error of a new row.
    true = [
        np.mean((fit(alpha=a).predict(grid[:, None]) - truth(grid)) ** 2) + NOISE**2 for a in alphas
    ]
    left.plot(alphas, true, "--", color=style.GRAY, linewidth=1.2, label="error on new rows")
    left.set(
        title="Scores along the path (dots: the alpha chosen)",
        xlabel="alpha",
        ylabel="mean squared error",
        ylim=(0.1, 1.2),
    )
    left.legend(loc="upper center")

    right.plot(x, y, "o", color=style.LIGHT, markersize=3)
    best = chosen["generalized cross-validation"].alpha_
    for alpha, color, name in (
        (1e-8, style.SKY, "too small"),
        (0.1, style.PINK, "too large"),
        (best, style.BLUE, "chosen"),
    ):
        label = f"{name}: {alpha:.1g}"
        right.plot(grid, fit(alpha=alpha).predict(grid[:, None]), color=color, label=label)
    right.plot(grid, truth(grid), "--", color=style.GRAY, linewidth=1, label="the truth")
    right.set(title="Three alphas", xlabel="x", ylim=(-2.2, 3.2))
    right.legend(loc="upper center", ncols=2)
    style.save(figure, "alpha_path")


if __name__ == "__main__":
    main()
