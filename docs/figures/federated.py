"""Shards by region: what an average makes of them, and what rounds recover."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import ConjugateRounds, Gaussian, KernelRegressor, Landmarks

ROUNDS = (1, 2, 4, 8, 16, 32)


def surface(X: np.ndarray) -> np.ndarray:
    """Hills and valleys on a slope."""
    return np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + X[:, 0]


def main() -> None:
    """Draw the surface, two models of sixteen parties, and errors along the rounds."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (6000, 2))
    y = surface(X) + 0.2 * rng.standard_normal(len(X))
    new = rng.uniform(-2, 2, (2000, 2))
    region = (4 * np.floor(X[:, 0] + 2) + np.floor(X[:, 1] + 2)).astype(int)
    chance = rng.permutation(region)

    def fitted(combine: Any, labels: np.ndarray) -> KernelRegressor:
        return KernelRegressor(
            Gaussian(0.5), Landmarks(200), alpha=2e-5, combine=combine, random_state=0
        ).fit(X, y, shard_labels=labels)

    def error(model: KernelRegressor) -> float:
        return float(np.sqrt(np.mean((model.predict(new) - surface(new)) ** 2)))

    average = {"region": fitted("average", region), "chance": fitted("average", chance)}
    exact = fitted("sum", region)
    rounds = {
        name: [fitted(ConjugateRounds(count), labels) for count in ROUNDS]
        for name, labels in (("region", region), ("chance", chance))
    }

    figure, axes = plt.subplots(
        1, 4, figsize=(11, 3), layout="constrained", width_ratios=(1, 1, 1, 1.5)
    )
    side = np.linspace(-2, 2, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    drawn = {
        "the surface": surface(grid),
        "average of 16 regions": average["region"].predict(grid),
        "8 conjugate rounds": rounds["region"][ROUNDS.index(8)].predict(grid),
    }
    for panel, (title, values) in zip(axes[:3], drawn.items(), strict=True):
        panel.imshow(
            values.reshape(120, 120),
            extent=(-2, 2, -2, 2),
            origin="lower",
            vmin=-3,
            vmax=3,
            cmap="PuOr",
        )
        panel.set_title(title)
        panel.set_xticks([])
        panel.set_yticks([])
        for cut in (-1, 0, 1):
            panel.axhline(cut, color="white", linewidth=0.6)
            panel.axvline(cut, color="white", linewidth=0.6)

    right = axes[3]
    for name, color in (("region", style.ORANGE), ("chance", style.BLUE)):
        errors = [error(average[name]), *map(error, rounds[name])]
        right.loglog((0.5, *ROUNDS), errors, "o-", color=color, markersize=4, label=f"by {name}")
    right.axhline(error(exact), linestyle="--", color=style.GRAY, linewidth=1, label="exact sum")
    right.minorticks_off()
    right.set_xticks((0.5, *ROUNDS), ["average", *map(str, ROUNDS)])
    right.set_yticks((0.03, 0.1, 0.3, 1.0), ["0.03", "0.1", "0.3", "1"])
    right.set(title="Error on new points", xlabel="conjugate rounds")
    right.legend()
    style.save(figure, "federated")


if __name__ == "__main__":
    main()
