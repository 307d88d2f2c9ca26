"""Intervals of 50 and 90 percent: narrow where noise is low, wide where there are no rows."""

from __future__ import annotations

import numpy as np
import style

from mercer import KernelRegressor, Matern


def main() -> None:
    """Fit noisy rows with a gap, and draw the intervals."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 8, 900)
    x = x[(x < 4.6) | (x > 6.2)]
    y = np.sin(2 * x) + (0.08 + 0.1 * x) * rng.standard_normal(len(x))
    model = KernelRegressor(Matern(bandwidth=0.8), random_state=0).fit(x[:, None], y)
    grid = np.linspace(-1.5, 9.5, 500)
    low, high = np.moveaxis(model.predict_interval(grid[:, None], [0.5, 0.9]), 1, 0)
    figure, axes = style.plt.subplots(figsize=(6.6, 3.2), layout="constrained")
    for place, (label, shade) in enumerate((("50 %", 0.45), ("90 %", 0.2))):
        axes.fill_between(
            grid, low[:, place], high[:, place], color=style.SKY, alpha=shade, lw=0, label=label
        )
    axes.plot(x, y, ".", color=style.GRAY, markersize=2.2, label="rows")
    axes.plot(grid, model.predict(grid[:, None]), color=style.BLUE, label="prediction")
    axes.set(xlabel="x", ylabel="y", xlim=(-1.5, 9.5), ylim=(-4.2, 4.2))
    axes.legend(ncols=4, loc="upper left")
    style.save(figure, "intervals")


if __name__ == "__main__":
    main()
