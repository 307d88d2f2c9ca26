"""Seconds and memory against rows, of the record that ``python -m benchmarks linear`` writes."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import style
from benchmarks.linear import RECORD, slope
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter


def main() -> None:
    """Draw what was measured, beside a line of slope 1."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    fits = record["fits"]
    rows = np.array([one["rows"] for one in fits])
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained")
    for key, name, color in (("seconds", "fit", style.BLUE), ("predict", "predict", style.ORANGE)):
        seconds = np.array([one[key] for one in fits])
        left.loglog(rows, seconds, "o-", color=color, markersize=4)
        say(left, rows[2], seconds[2], f"{name}, slope {slope(rows, seconds):.2f}", color)
        left.loglog(rows, seconds[-1] * rows / rows[-1], ":", color=style.LIGHT, linewidth=1)
    left.set(title="seconds; dotted: proportional to the rows", xlabel="rows")
    peak = np.array([one["own"] for one in fits]) / 1e6
    data = rows * (record["columns"] + 1) * 8 / 1e6
    right.loglog(rows, data, ":", color=style.GRAY)
    say(right, rows[2], data[2], "the rows themselves", style.GRAY)
    right.loglog(rows, peak, "o-", color=style.GREEN, markersize=4)
    say(right, rows[-1], peak[-1] / 2, "peak of the fit", style.GREEN)
    right.set(title="memory of the fit, in MB", xlabel="rows")
    for axes in (left, right):
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.minorticks_off()
    style.save(figure, "linear")


def say(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    """Write a few words to the left of a point, above the line."""
    place = {"xytext": (-6, 7), "textcoords": "offset points", "ha": "right"}
    axes.annotate(text, (x, y), color=color, fontsize=8, **place)
