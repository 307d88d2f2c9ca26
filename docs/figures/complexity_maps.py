"""What the maps of complexity share: a grid of exponents, panels, and one scale of colors."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import style
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.image import AxesImage

#: Any number of rows will do: only exponents are drawn.
ROWS = 10.0
STEPS = 120
#: Exponents of n, from linear time to that of the exact fit.
LEVELS = np.arange(0.0, 3.01, 0.25)
#: Light is cheap; dark and light stay apart for every kind of color vision.
COLORS = "viridis_r"

Cost = Callable[[float, float], float]


def exponent_map(cost: Cost) -> np.ndarray:
    """Return the exponent of n at every (gamma, r); NaN where the theorem says nothing."""
    centers = (np.arange(STEPS) + 0.5) / STEPS
    values = np.full((STEPS, STEPS), np.nan)
    for row, gamma in enumerate(centers):
        for column, r in enumerate(centers):
            try:
                found = cost(float(r), float(gamma))
            except ValueError:  # not covered
                continue
            values[row, column] = np.log(found) / np.log(ROWS)
    return values.round(9)  # exponents that are equal have the same color


def panel(axes: Axes, values: np.ndarray, title: str) -> AxesImage:
    """Draw one map, with lines at whole exponents and white where nothing is covered."""
    norm = BoundaryNorm(LEVELS, plt.get_cmap(COLORS).N)
    image = axes.imshow(
        np.minimum(values, LEVELS[-1]),
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap=COLORS,
        norm=norm,
        aspect="auto",
    )
    centers = (np.arange(STEPS) + 0.5) / STEPS
    lines = axes.contour(
        centers, centers, values, levels=[1.0, 2.0], colors="white", linewidths=1.0
    )
    axes.clabel(lines, fmt={1.0: "$n$", 2.0: "$n^2$"}, fontsize=7)
    axes.set_title(title)
    axes.set_xticks([0, 0.5, 1], ["0", "1/2", "1"])
    axes.set_yticks([0, 0.5, 1], ["0", "1/2", "1"])
    axes.set_facecolor("white")
    return image


def draw(name: str, kinds: tuple[str, ...], columns: list[tuple[str, tuple[Cost, ...]]]) -> None:
    """Draw a column for each theorem with a row for each kind of cost, and save the figure."""
    figure, grid = plt.subplots(
        len(kinds),
        len(columns),
        figsize=(2.3 * len(columns) + 1.0, 2.4 * len(kinds) + 0.4),
        sharex=True,
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for row, kind in enumerate(kinds):
        for column, (title, costs) in enumerate(columns):
            head = f"{title}\n{kind}" if row == 0 else kind
            image = panel(grid[row, column], exponent_map(costs[row]), head)
    for axes in grid[-1]:
        axes.set_xlabel("smoothness of the target, r")
    for axes in grid[:, 0]:
        axes.set_ylabel("capacity of the kernel, gamma")
    bar = figure.colorbar(image, ax=grid, shrink=0.8, ticks=[0, 0.5, 1, 1.5, 2, 2.5, 3])
    bar.set_label("exponent of n (3 and more: as the exact fit)")
    style.save(figure, name)
