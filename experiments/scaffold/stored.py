"""Curves that authors have stored beside their code: facts to draw behind what is measured here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from experiments.scaffold.records import select


@dataclass(frozen=True)
class Curve:
    """Mean errors of a method, and their standard deviations over repeats, at each x."""

    figure: str
    name: str  # of the data set
    method: str
    fixed: int  # what is held where x varies: features or shards
    repeats: int
    x: tuple[float, ...]
    error: tuple[float, ...]
    error_sd: tuple[float, ...]

    def at(self, x: float) -> float:
        """Return the error where it was measured, NaN elsewhere.

        >>> Curve("5", "usps", "DKRR", 400, 5, (10, 20), (0.06, 0.07), (0, 0)).at(20)
        0.07
        """
        return dict(zip(self.x, self.error, strict=True)).get(x, float("nan"))


def stored(curves: list[Curve], figure: str, name: str, method: str) -> Curve | None:
    """Return the curve of a method in a figure, if it is stored."""
    found: list[Curve] = select(curves, figure=figure, name=name, method=method)
    return found[0] if found else None


def draw_behind(axes: Axes, curve: Curve | None, color: str, scale: float = 1.0) -> None:
    """Draw a wide pale line behind what was measured here."""
    if curve is not None:
        look: dict[str, Any] = {"color": color, "alpha": 0.28, "linewidth": 6, "zorder": 1.5}
        axes.plot(curve.x, scale * np.array(curve.error), **look)
