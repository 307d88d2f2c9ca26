"""The figure of plans against fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.planning.trials import Fitted, Problem
from experiments.scaffold.figures import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, panels
from experiments.scaffold.records import columns

COLORS = {
    "KRR-Nystroem": BLUE,
    "FALKON": SKY,
    "KRR-RF": ORANGE,
    "DNystroem": PURPLE,
    "DKRR-RF": "#c2527f",
    "DKRR": GREEN,
}


def draw(results: tuple[list[Fitted], list[Problem]]) -> Figure:
    """Draw found against planned errors and seconds, each fit a point."""
    fits, _ = results
    figure, (left, right) = panels((9.6, 4.4))
    for system, color in COLORS.items():
        some = [fit for fit in fits if fit.system == system]
        if not some:
            continue
        planned, error, low, high = columns(some, "planned_error", "error", "low", "high")
        bars = np.maximum([planned - low, high - planned], 0)
        style: dict[str, Any] = {"fmt": "o", "color": color, "markersize": 4, "elinewidth": 0.7}
        left.errorbar(error, planned, yerr=bars, label=system, **style)
        expected, took = columns(some, "planned_seconds", "seconds")
        right.plot(took, expected, "o", color=color, markersize=4)
    for axes, what in ((left, "error"), (right, "seconds")):
        axes.set(xscale="log", yscale="log", xlabel=f"{what} found", ylabel=f"{what} planned")
        ends = np.array([*axes.get_xlim()])
        axes.plot(ends, ends, color=INK, linewidth=0.8)
        axes.fill_between(ends, ends / 2, ends * 2, color=INK, alpha=0.06, linewidth=0)
    left.set_title("Errors on rows that nobody has seen")
    right.set_title("Seconds; the band is a factor of two")
    left.legend(fontsize=8, loc="upper left")
    return figure
