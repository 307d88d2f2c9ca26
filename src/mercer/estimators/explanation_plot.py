"""Bars of what each column does to predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.estimators.metric_display import short_name
from mercer.estimators.plotting import BLUE, GRAY, INK, ORANGE, dress, grid, new_axes

#: Inches of a bar, and of what is above and below them.
BAR, AROUND = 0.28, 1.1


def plot_one(names: list[str], effects: Array, unsigned: Array, title: str, ax: Any = None) -> Any:
    """Draw the effects at one row: blue up, orange down, gray on both sides where unsigned."""
    axes = _axes(names, ax)
    places = np.arange(len(names))
    colors = np.where(unsigned, GRAY, np.where(effects < 0, ORANGE, BLUE))
    left = np.where(unsigned, -effects, 0.0)
    width = np.where(unsigned, 2 * effects, effects)
    axes.barh(places, width, left=left, color=colors, height=0.7)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel("change of the prediction over a standard deviation of the column")
    _finish(axes, names, title)
    return axes


def plot_many(
    names: list[str], means: Array, low: Array, high: Array, title: str, ax: Any = None
) -> Any:
    """Draw mean absolute effects over rows, with lines from a low to a high quantile."""
    axes = _axes(names, ax)
    places = np.arange(len(names))
    axes.barh(places, means, color=BLUE, alpha=0.6, height=0.7)
    axes.hlines(places, low, high, color=INK, linewidth=1.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("mean absolute effect (line: 10 % to 90 % of the rows)")
    _finish(axes, names, title)
    return axes


def _axes(names: list[str], ax: Any) -> Any:
    return new_axes(6.4, AROUND + BAR * len(names)) if ax is None else ax


def _finish(axes: Any, names: list[str], title: str) -> None:
    axes.set_yticks(range(len(names)), [short_name(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, loc="left", fontsize="medium")
    grid(axes, axis="x")
    dress(axes)
