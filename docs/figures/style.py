"""What the figures share: colors, sizes, and files that come out the same every time."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

FOLDER = Path(__file__).resolve().parent.parent / "_static"

#: Colors that stay apart for every kind of color vision (Okabe and Ito, 2008).
BLUE, ORANGE, GREEN, PINK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
GRAY, LIGHT = "#555555", "#BBBBBB"

plt.rcParams.update(
    {
        "figure.dpi": 100,
        "savefig.dpi": 130,
        "font.family": "DejaVu Sans",  # comes with matplotlib, so it is there everywhere
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
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
    """Write ``_static/<name>.png``: 256 colors keep it small, no date keeps it the same."""
    path = FOLDER / f"{name}.png"
    drawn = BytesIO()
    figure.savefig(drawn, metadata={"Software": None})
    plt.close(figure)
    image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
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
