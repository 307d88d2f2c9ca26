"""The same fifty rows fitted with eight kernels."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import (
    ArcCosine,
    Gaussian,
    KernelRegressor,
    LaplacianL2,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    Sobolev,
)

KERNELS = {
    "Gaussian": Gaussian(0.15),
    "Matern, nu = 5/2": Matern(2.5, 0.3),
    "Matern, nu = 3/2": Matern(1.5, 0.3),
    "Laplacian (L2)": LaplacianL2(0.5),
    "Sobolev": Sobolev(),
    "Periodic spline": PeriodicSpline(4),
    "Polynomial, degree 5": Polynomial(5, gamma=1.0),
    "Linear + arc-cosine": Linear() + ArcCosine(),
}


def truth(x: np.ndarray) -> np.ndarray:
    """A rising line and two kinks."""
    return x + 1.5 * np.abs(np.mod(2.6 * x, 2.0) - 1.0)


def main() -> None:
    """Draw one panel for each kernel."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(50))
    y = truth(x) + 0.12 * rng.standard_normal(len(x))
    grid = np.linspace(0, 1, 400)
    figure, axes = plt.subplots(
        2, 4, figsize=(10, 4.4), sharex=True, sharey=True, layout="constrained"
    )
    for panel, (name, kernel) in zip(axes.flat, KERNELS.items(), strict=True):
        # Units of the arc-cosine kernel pass through the origin: a column of ones shifts them.
        columns = (lambda t: np.column_stack([t, np.ones_like(t)])) if "arc" in name else None
        rows = columns or (lambda t: t[:, None])
        model = KernelRegressor(kernel, selection="loo", metric=None, scale=None).fit(rows(x), y)
        panel.plot(x, y, "o", color=style.LIGHT, markersize=3)
        panel.plot(grid, truth(grid), "--", color=style.GRAY, linewidth=1)
        panel.plot(grid, model.predict(rows(grid)), color=style.BLUE)
        panel.set_title(name)
        panel.text(
            0.97,
            0.94,
            f"{model.effective_dimension_:.1f} degrees of freedom",
            transform=panel.transAxes,
            ha="right",
            va="top",
            fontsize=7.5,
            color=style.GRAY,
        )
    axes[0, 0].set(xticks=[0, 0.5, 1], ylim=(-0.2, 3.0))
    style.save(figure, "kernels")


if __name__ == "__main__":
    main()
