"""How the figures of all experiments look, and how they are written."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

from mercer.cli.picture import FAINT, INK

STYLE: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is there everywhere
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9aa5b1",
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
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


def save(figure: Figure, path: Path, dpi: int = 130) -> None:
    """Write a PNG: 256 colors keep it small, no date keeps it the same."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=dpi, metadata={"Software": None})
    image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
