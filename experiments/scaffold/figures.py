"""How figures look, and how they are written: the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from PIL import Image

INK, FAINT, GRAY = "#22313f", "#d5dbe1", "#9aa5b1"
BLUE, ORANGE, PURPLE, GREEN, SKY = "#0b6e99", "#d9822b", "#8a5aab", "#4c8c4a", "#7fb6cd"

#: What figures of the experiments and of the documentation have in common.
BASE: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is there everywhere
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
STYLE: Any = BASE | {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRAY,
    "axes.titlesize": 11,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.framealpha": 1.0,
    "legend.edgecolor": "white",
    "mathtext.default": "regular",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}


def panels(
    size: tuple[float, float],
    rows: int = 1,
    columns: int = 2,
    space: tuple[float, float | None] = (0.06, None),
    dpi: int = 130,
    **settings: Any,
) -> tuple[Figure, Any]:
    """Return a figure and its axes; ``space`` is that between columns and between rows."""
    figure = Figure(figsize=size, facecolor="white", dpi=dpi)
    across, down = space
    figure.set_layout_engine(
        "constrained", wspace=across, **({} if down is None else {"hspace": down})
    )
    return figure, figure.subplots(rows, columns, **settings)


def save(figure: Figure, path: Path) -> None:
    """Write a PNG: 256 colors keep it small, no date keeps it the same."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=figure.dpi, metadata={"Software": None})
    image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(path, optimize=True)


def whole(value: float, _: Any = None) -> str:
    """Return a tick without decimals."""
    return f"{value:.0f}"


def short(value: float, _: Any = None) -> str:
    """Return a tick with as few digits as it has."""
    return f"{value:g}"


def ticks(
    axis: Axis, at: Sequence[float], text: Callable[[float, Any], str] | None = short
) -> None:
    """Show these ticks and no others; None leaves their text to matplotlib."""
    axis.set_major_locator(FixedLocator(at))
    axis.set_minor_locator(NullLocator())
    if text is not None:
        axis.set_major_formatter(text)


def log_x(axes: Axes, at: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with whole numbers at these ticks."""
    axes.set_xscale("log")
    ticks(axes.xaxis, at, whole)


def room(axes: Axes, share: float) -> None:
    """Leave room for a legend above: this share of the height, which may be logarithmic."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        axes.set_ylim(low, high * (high / low) ** share)
    else:
        axes.set_ylim(low, high + share * (high - low))
