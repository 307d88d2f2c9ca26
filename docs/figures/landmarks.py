"""Test error on the letter set against the number of functions, for four bases."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import Gaussian, KernelClassifier, Landmarks, RandomFeatures, load_letter

ROWS = 8000
SIZES = (25, 50, 100, 200, 400, 800)
SEEDS = (0, 1)
BASES = {
    "random features": (RandomFeatures(), style.SKY),
    "random features, orthogonal": (RandomFeatures(orthogonal=True), style.BLUE),
    "landmarks, uniform": (Landmarks(), style.ORANGE),
    "landmarks, k-means": (Landmarks(sampling="kmeans"), style.GREEN),
}


def main() -> None:
    """Fit each basis at each size with two seeds; alpha is chosen each time."""
    data = load_letter()
    figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for name, (basis, color) in BASES.items():
        errors = np.empty((len(SIZES), len(SEEDS)))
        for row, size in enumerate(SIZES):
            for column, seed in enumerate(SEEDS):
                model = KernelClassifier(
                    Gaussian(4.0), basis.set_params(n_components=size), random_state=seed
                ).fit(data.X_train[:ROWS], data.y_train[:ROWS])
                errors[row, column] = 1 - model.score(data.X_test, data.y_test)
        axes.loglog(SIZES, errors.mean(axis=1), "o-", color=color, markersize=4, label=name)
        axes.fill_between(
            SIZES, errors.min(axis=1), errors.max(axis=1), color=color, alpha=0.2, linewidth=0
        )
    axes.minorticks_off()
    axes.set_xticks(SIZES, [str(size) for size in SIZES])
    ticks = (0.05, 0.1, 0.2, 0.4, 0.8)
    axes.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.set(
        title="Letter recognition: share of test letters read wrong",
        xlabel="M, the number of functions",
    )
    axes.legend()
    style.save(figure, "landmarks")


if __name__ == "__main__":
    main()
