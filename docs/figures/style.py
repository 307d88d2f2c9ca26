"""What the figures share: colors, sizes, and where they are written."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for the scaffold of the experiments

import matplotlib.pyplot as plt
from experiments.scaffold import figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent.parent / "_static"

#: Colors that stay apart for every kind of color vision (Okabe and Ito, 2008).
BLUE, ORANGE, GREEN, PINK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
GRAY, LIGHT = "#555555", "#BBBBBB"

plt.rcParams.update(
    figures.BASE
    | {
        "figure.dpi": 130,
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.edgecolor": GRAY,
        "axes.labelcolor": GRAY,
        "xtick.color": GRAY,
        "ytick.color": GRAY,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "lines.linewidth": 1.6,
    }
)


def save(figure: Figure, name: str) -> None:
    """Write ``_static/<name>.png``."""
    path = FOLDER / f"{name}.png"
    figures.save(figure, path)
    plt.close(figure)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def mark(axes: Axes, x: float, y: float, text: str, color: str, dx: float, dy: float) -> None:
    """Point at (x, y) with a few words, (dx, dy) points away."""
    axes.annotate(
        text,
        (x, y),
        xytext=(dx, dy),
        textcoords="offset points",
        color=color,
        fontsize=8,
        arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.8},
    )
