"""The picture of the README: a regression, the choice of its alpha, and a classification."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks


def wave(x: np.ndarray) -> np.ndarray:
    """The function behind the noisy points."""
    return np.sin(6 * x) * np.exp(-0.7 * x) + 0.3 * x


def spirals(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of two spirals, one inside the other."""
    turn = 0.6 + 9.5 * np.sqrt(rng.random(rows))
    y = rng.integers(2, size=rows)
    angle = turn + np.pi * y
    X = turn[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) / 10
    return X + 0.08 * rng.standard_normal(X.shape), y


def main() -> None:
    """Draw the three panels."""
    rng = np.random.default_rng(0)
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(10, 3.15), layout="constrained", width_ratios=(1.25, 1, 1)
    )

    x = np.sort(3 * rng.random(150))
    y = wave(x) + 0.25 * rng.standard_normal(len(x))
    model = KernelRegressor(random_state=0).fit(x[:, None], y)
    grid = np.linspace(0, 3, 400)
    left.plot(x, y, "o", color=style.LIGHT, markersize=3.5, label="150 noisy rows")
    left.plot(grid, wave(grid), "--", color=style.GRAY, linewidth=1, label="the truth")
    left.plot(grid, model.predict(grid[:, None]), color=style.BLUE, label="KernelRegressor()")
    left.set(title="A fit with all defaults", xlabel="x", ylim=(-1.35, 2.1))
    left.legend(loc="upper right", ncols=3, columnspacing=1, handlelength=1.4)

    found = model.cv_results_
    middle.loglog(found["alpha"], found["mean_squared_error"], color=style.BLUE)
    best = found["mean_squared_error"].min()
    middle.plot(model.alpha_, best, "o", color=style.ORANGE)
    style.mark(middle, model.alpha_, best, f"alpha_ = {model.alpha_:.0e}", style.ORANGE, -34, 44)
    middle.set(title="Its alpha, by leave-one-out", xlabel="alpha", ylabel="leave-one-out error")
    middle.minorticks_off()
    middle.set_yticks([0.08, 0.12, 0.16], ["0.08", "0.12", "0.16"])
    middle.set_ylim(0.07, 0.19)

    X, label = spirals(3000, rng)
    classifier = KernelClassifier(Gaussian(0.12), Landmarks(300), random_state=0).fit(X, label)
    axis = np.linspace(-1.15, 1.15, 200)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    share = classifier.predict_proba(points)[:, 1].reshape(200, 200)
    right.imshow(share, extent=(-1.15, 1.15, -1.15, 1.15), origin="lower", cmap="RdBu", alpha=0.75)
    shown = rng.choice(len(X), 400, replace=False)
    for code, color in ((0, "#8B1A1A"), (1, "#08306B")):
        at = shown[label[shown] == code]
        right.plot(*X[at].T, ".", color=color, markersize=2.5)
    right.set(title="Probabilities of two classes", xticks=[], yticks=[])
    for spine in right.spines.values():
        spine.set_visible(False)
    style.save(figure, "overview")


if __name__ == "__main__":
    main()
