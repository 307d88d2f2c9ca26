"""The figures of the paper, by their numbers in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import PROBLEMS, Problem
from experiments.distributed_random_features.real import (
    FEATURES,
    FIXED_COMPONENTS,
    FIXED_SHARDS,
    SHARDS,
    RealSet,
)
from experiments.distributed_random_features.simulated import METHODS, SHOWN
from experiments.distributed_random_features.summary import most_shards, slope
from experiments.scaffold import Array
from experiments.scaffold.figures import BLUE, GRAY, INK, ORANGE, PURPLE, log_x, panels, room
from experiments.scaffold.records import columns, select

COLOR = {
    "KRR": PURPLE,
    "DKRR": ORANGE,
    "KRR-RF": INK,
    "DKRR-RF": BLUE,
}
MARKER = {"KRR": "^", "DKRR": "s", "KRR-RF": "D", "DKRR-RF": "o"}
#: The names of the paper.
NAME = {"KRR": "KRR", "DKRR": "KRR-DC", "KRR-RF": "KRR-RF", "DKRR-RF": "DKRR-RF"}


def draw_fits(curves: dict[str, Array]) -> Figure:
    """Draw the targets, and DKRR-RF fitted to few and more rows (figure 5)."""
    x = curves["x"]
    figure, (first, *others) = _panels(4, width=14.5)
    for problem, color in zip(PROBLEMS.values(), (BLUE, ORANGE, PURPLE), strict=True):
        label = f"{problem.name}: r = {problem.r:g}, $\\gamma$ = {problem.gamma:g}"
        first.plot(x, curves[f"{problem.name} target"], color=color, label=label)
    first.set_ylim(-2, 9)
    first.set_title("Targets (cut off at 9)")
    first.set_ylabel("y")
    first.legend(loc="upper center")
    for axes, problem in zip(others, PROBLEMS.values(), strict=True):
        target = curves[f"{problem.name} target"]
        axes.plot(x, target, color=INK, linewidth=1.0, label="target", zorder=3)
        for n, color in zip(SHOWN, (ORANGE, BLUE), strict=True):
            values = curves[f"{problem.name} n={n}"]
            axes.plot(x, values, color=color, linewidth=1.0, label=f"DKRR-RF, n = {n}")
        axes.set_ylim(-2, min(9, 1.35 * target.max()))
        axes.set_title(f"Fits, {problem.name}")
        axes.legend(loc="upper center")
    for axes in (first, *others):
        axes.set_xlabel("x")
    return figure


def draw_problem(found: Sequence[Measured], problem: Problem) -> Figure:
    """Draw the rate of DKRR-RF, the errors of all methods, and their times (figures 6 to 8)."""
    curves = {method: select(found, group=problem.name, method=method) for method in METHODS}
    figure, (rate, errors, times) = _panels(3)
    ours = curves["DKRR-RF"]
    n, mean, sd = columns(ours, "rows", "error", "error_sd")
    power, _ = slope(ours)
    color = COLOR["DKRR-RF"]
    rate.errorbar(n, mean, sd, color=color, marker="o", linestyle="", capsize=2, label="DKRR-RF")
    middle = np.exp(np.log(mean).mean())
    scaled = n / np.exp(np.log(n).mean())
    rate.plot(n, middle * scaled**power, color=color, label=f"fitted: n^{power:.2f}")
    expected = middle * scaled**-problem.rate
    rate.plot(n, expected, color=GRAY, linestyle="--", label=f"theory: n^{-problem.rate:g}")
    rate.set_title(f"Rate, r = {problem.r:g}, $\\gamma$ = {problem.gamma:g} ({problem.name})")
    rate.set_ylabel("excess risk")
    for method, rows in curves.items():
        n, mean, taken, shards = columns(rows, "rows", "error", "seconds", "shards")
        look = {"color": COLOR[method], "marker": MARKER[method]}
        errors.plot(n, mean, label=NAME[method], **look)
        times.plot(n, taken, label=NAME[method], **look)
        if method.startswith("DKRR"):
            look = {**look, "linestyle": ":", "markersize": 3}
            times.plot(n, taken / shards, label=f"{NAME[method]}, over m", **look)
    errors.set_title("Excess risk")
    errors.set_ylabel("excess risk")
    times.set_title("Training time")
    times.set_ylabel("seconds")
    for axes in (rate, errors, times):
        log_x(axes, [1000, 2000, 5000, 10_000])
        axes.set_yscale("log")
        axes.set_xlabel("rows n")
        room(axes, 0.45)
        axes.legend(loc="upper left" if axes is times else "upper right")
    return figure


def draw_real(found: Sequence[Measured], chosen: RealSet) -> Figure:
    """Draw the error against M and against m (figures 12 to 14)."""
    figure, (left, right) = _panels(2)
    rows = select(found, group=FEATURES, method="DKRR-RF")
    M, mean, sd = columns(rows, "components", "error", "error_sd")
    look: dict[str, Any] = {"color": COLOR["DKRR-RF"], "marker": "o", "capsize": 2}
    left.errorbar(M, mean, sd, label="DKRR-RF", **look)
    for row in select(found, group=FEATURES, method="DKRR"):
        left.axhline(row.error, color=COLOR["DKRR"], linestyle="--", label="KRR-DC")
    left.axvline(
        chosen.paper_components,
        color=GRAY,
        linestyle=":",
        label=f"knee in the paper, M = {chosen.paper_components}",
    )
    left.set_title(f"{chosen.name}: {chosen.train:,} rows, m = {FIXED_SHARDS}")
    alone = select(found, group=SHARDS, method="KRR-RF")
    rows = alone + select(found, group=SHARDS, method="DKRR-RF")
    m, mean, sd = columns(rows, "shards", "error", "error_sd")
    right.errorbar(m, mean, sd, label="DKRR-RF", **look)
    for row in alone:
        right.axhline(row.error, color=COLOR["KRR-RF"], linestyle="--", label="KRR-RF (m = 1)")
    knee = most_shards(rows)
    paper = chosen.paper_shards
    right.axvline(knee, color=COLOR["DKRR-RF"], linestyle=":", label=f"knee here, m = {knee}")
    right.axvline(paper, color=GRAY, linestyle=":", label=f"knee in the paper, m = {paper}")
    right.set_xlabel("shards m")
    right.set_title(f"{chosen.name}: M = {FIXED_COMPONENTS}")
    for axes in (left, right):
        axes.set_ylabel("share of test rows in the wrong class")
    left.legend(loc="upper right")
    right.set_ylim(None, right.get_ylim()[1] + 0.35 * np.ptp(mean))  # room for the legend
    right.legend(loc="upper left")
    left.set_xlabel("random features M (bars: one standard deviation over trials)")
    return figure


def _panels(count: int, width: float | None = None) -> tuple[Figure, Any]:
    return panels((width or 5 * count - 0.5, 4.3), columns=count, dpi=120)
