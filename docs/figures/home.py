"""The picture of the first page, to be read on a phone as well: rows, predictions, intervals."""

from __future__ import annotations

import numpy as np
import style

from mercer import KernelRegressor, Matern


def main() -> None:
    """Fit demand over a week with a gap, and draw its intervals."""
    rng = np.random.default_rng(4)
    day = rng.uniform(0, 7, 700)
    day = day[(day < 3.6) | (day > 4.4)]
    level = 50 + 8 * np.sin(2 * np.pi * day) + 10 * (day > 5)
    load = level + (1.5 + 0.5 * day) * rng.standard_normal(len(day))
    model = KernelRegressor(Matern(bandwidth=0.5), random_state=0).fit(day[:, None], load)
    grid = np.linspace(0, 7, 500)
    low, high = model.predict_interval(grid[:, None], coverage=0.9).T
    sizes = {"font.size": 10, "legend.fontsize": 9.5, "figure.dpi": 160}
    with style.plt.rc_context(sizes):
        figure, axes = style.plt.subplots(figsize=(5.2, 3), layout="constrained")
        axes.plot(day, load, ".", color=style.LIGHT, markersize=3.5, label="rows of a table")
        axes.fill_between(
            grid, low, high, color=style.SKY, alpha=0.4, lw=0, label="nine of ten new rows"
        )
        axes.plot(grid, model.predict(grid[:, None]), color=style.BLUE, lw=2, label="prediction")
        axes.annotate(
            "no rows here:\na wider interval",
            (4.0, high[int(4.0 / 7 * 500)]),
            xytext=(2.55, 78),
            color=style.ORANGE,
            arrowprops={"arrowstyle": "-", "color": style.ORANGE},
        )
        axes.set(xlabel="day of the week", ylabel="load", xlim=(0, 7), ylim=(8, 92))
        axes.legend(loc="lower left", ncols=1)
        style.save(figure, "home")


if __name__ == "__main__":
    main()
