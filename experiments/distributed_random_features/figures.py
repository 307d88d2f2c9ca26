"""The figures of the paper, by their numbers in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.distributed_random_features.as_stored import AUTHORS_ROWS, SHARDS
from experiments.distributed_random_features.by_shards import OF_ALL, OF_MEAN, OF_SHARD
from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import PROBLEMS, Problem
from experiments.distributed_random_features.real import (
    FEATURES,
    FIXED_COMPONENTS,
    FIXED_SHARDS,
    RealSet,
)
from experiments.distributed_random_features.simulated import METHODS, SHOWN, VARIANTS
from experiments.distributed_random_features.summary import slope
from experiments.scaffold import Array
from experiments.scaffold.figures import BLUE, GRAY, INK, ORANGE, PURPLE, log_x, panels, room
from experiments.scaffold.records import columns, select
from experiments.scaffold.stored import Curve

COLOR = {
    "KRR": PURPLE,
    "DKRR": ORANGE,
    "KRR-RF": INK,
    "DKRR-RF": BLUE,
}
MARKER = {"KRR": "^", "DKRR": "s", "KRR-RF": "D", "DKRR-RF": "o"}
#: The names of the paper.
NAME = {"KRR": "KRR", "DKRR": "KRR-DC", "KRR-RF": "KRR-RF", "DKRR-RF": "DKRR-RF"}
#: What lambda may count against.
READING_LOOK: dict[str, Any] = {
    OF_SHARD: {"color": BLUE, "marker": "o"},
    OF_ALL: {"color": ORANGE, "marker": "s"},
    OF_MEAN: {"color": PURPLE, "marker": "^"},
}


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


def draw_problem(
    found: Sequence[Measured], problem: Problem, series: Sequence[Measured] = ()
) -> Figure:
    """Draw the rate of DKRR-RF, the errors of all methods, and their times (figures 6 to 8).

    ``series`` has the same problem with other harmonics, which get a panel of their own.
    """
    curves = {method: select(found, group=problem.name, method=method) for method in METHODS}
    if series:
        figure, grid = panels((9.5, 8.4), rows=2, columns=2, dpi=120)
        (rate, *middle), (errors, times) = grid
    else:
        figure, (rate, *middle, errors, times) = _panels(3)
    ours = curves["DKRR-RF"]
    n, mean, sd = columns(ours, "rows", "error", "error_sd")
    power, _ = slope(ours)
    color = COLOR["DKRR-RF"]
    rate.errorbar(n, mean, sd, color=color, marker="o", linestyle="", capsize=2, label="DKRR-RF")
    center = np.exp(np.log(mean).mean())
    scaled = n / np.exp(np.log(n).mean())
    rate.plot(n, center * scaled**power, color=color, label=f"fitted: n^{power:.2f}")
    expected = center * scaled**-problem.rate
    rate.plot(n, expected, color=GRAY, linestyle="--", label=f"theory: n^{0 - problem.rate:g}")
    rate.set_title(f"Rate, r = {problem.r:g}, $\\gamma$ = {problem.gamma:g} ({problem.name})")
    for method, rows in curves.items():
        n, mean, taken, shards = columns(rows, "rows", "error", "seconds", "shards")
        look = {"color": COLOR[method], "marker": MARKER[method]}
        errors.plot(n, mean, label=NAME[method], **look)
        times.plot(n, taken, label=NAME[method], **look)
        if method.startswith("DKRR"):
            look = {**look, "linestyle": ":", "markersize": 3}
            times.plot(n, taken / shards, label=f"{NAME[method]}, over m", **look)
    for axes in middle:
        _draw_series(axes, ours, series, problem)
    errors.set_title("Excess risk")
    times.set_title("Training time")
    times.set_ylabel("seconds")
    for axes in (rate, *middle, errors):
        axes.set_ylabel("excess risk")
    for axes in (rate, *middle, errors, times):
        log_x(axes, [1000, 2000, 5000, 10_000])
        axes.set_yscale("log")
        axes.set_xlabel("rows n")
        room(axes, 0.45)
        axes.legend(loc="upper left" if axes is times else "upper right")
    return figure


def _draw_series(
    axes: Any, ours: Sequence[Measured], series: Sequence[Measured], problem: Problem
) -> None:
    """Draw DKRR-RF for several numbers of harmonics at the constant of the figure."""
    same = [one for one in VARIANTS if (one.name, one.constant) == (problem.name, problem.constant)]
    curves = {one.harmonics: select(series, group=one.group, method="DKRR-RF") for one in same}
    curves[problem.harmonics] = list(ours)
    colors = (ORANGE, PURPLE, BLUE, INK)
    for (harmonics, rows), color, marker in zip(
        sorted(curves.items()), colors, "s^oD", strict=False
    ):
        if rows:
            n, mean = columns(rows, "rows", "error")
            name = f"{harmonics:,.0f}: n^{slope(rows)[0]:.2f}"
            if np.isinf(harmonics):
                name = "all, over 10,000 test rows"
            axes.plot(n, mean, color=color, marker=marker, label=name)
    axes.set_title("DKRR-RF by the number of harmonics")


def draw_real(
    found: Sequence[Measured],
    by_shards: Sequence[Measured],
    as_stored: Sequence[Measured],
    authors: Sequence[Curve],
    chosen: RealSet,
) -> Figure:
    """Draw the error against M, against rows of a shard, and its rise with m (figures 12 to 14)."""
    figure, (left, middle, right) = _panels(3)
    behind = {curve.method: curve for curve in authors}
    pale: dict[str, Any] = {"color": COLOR["DKRR-RF"], "linewidth": 6, "alpha": 0.28}
    look: dict[str, Any] = {"color": COLOR["DKRR-RF"], "marker": "o", "capsize": 2}
    rows = select(as_stored, group=FEATURES)
    if rows:
        local = rows[0].rows / rows[0].shards
        M, mean, sd = columns(rows, "components", "error", "error_sd")
        left.errorbar(M, mean, sd, label=f"shards of {local:.0f} rows, as authors", **look)
    named = {**pale, "label": "the authors' stored means, 500 shards"}
    _behind(left, behind.get(FEATURES), lambda x: x, (50, 1500), named)
    rows = select(found, group=FEATURES, method="DKRR-RF")
    if rows:
        M, mean, sd = columns(rows, "components", "error", "error_sd")
        text = {**look, "color": PURPLE, "marker": "s"}
        left.errorbar(M, mean, sd, label=f"m = {FIXED_SHARDS}, as the text", **text)
    for row in select(found, group=FEATURES, method="DKRR"):
        name = f"KRR-DC, m = {FIXED_SHARDS}"
        left.axhline(row.error, color=COLOR["DKRR"], linestyle="--", label=name)
    left.set_title(chosen.name)
    left.set_xlabel("random features M")
    rows = select(as_stored, group=SHARDS) or select(by_shards, group=OF_SHARD)
    if rows:
        n, m, mean, sd = columns(rows, "rows", "shards", "error", "error_sd")
        middle.errorbar(n / m, mean, sd, label=f"{rows[0].rows:,} rows", **look)
        _behind(middle, behind.get(SHARDS), lambda x: AUTHORS_ROWS / x, (0, np.inf), pale)
        middle.set_xscale("log")
        middle.invert_xaxis()
        middle.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    middle.set_title(f"M = {FIXED_COMPONENTS}")
    middle.set_xlabel("rows of a shard (more shards to the right)")
    for axes in (left, middle):
        axes.set_ylabel("share of test rows in the wrong class")
        low, high = axes.get_ylim()
        axes.set_ylim(low - 0.05 * (high - low), high)  # no line on the frame
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper right" if axes is left else "upper left")
    for reading, style in READING_LOOK.items():
        rows = select(by_shards, group=reading)
        if rows:
            m, mean = columns(rows, "shards", "error")
            name = f"$\\lambda$ against the {reading}"
            right.plot(m, 100 * (mean / mean[0] - 1), label=name, **style)
    right.set_title("Rise over one shard")
    right.set_ylabel("% of the error at m = 1")
    paper = chosen.paper_shards
    right.axvline(paper, color=GRAY, linestyle=":", label=f"knee in the text, m = {paper}")
    log_x(right, [1, 5, 10, 50, 100, 500])
    right.set_xlabel("shards m")
    room(right, 0.35)
    right.legend(loc="upper left")
    return figure


def _behind(
    axes: Any,
    curve: Curve | None,
    at: Callable[[Array], Array],
    limits: tuple[float, float],
    look: dict[str, Any],
) -> None:
    """Draw what the authors have stored, within the limits of what was measured here."""
    if curve is None:
        return
    x, y = at(np.array(curve.x)), np.array(curve.error)
    shown = (limits[0] <= x) & (x <= limits[1])
    axes.plot(x[shown], y[shown], zorder=1.5, **{"label": "the authors' stored means", **look})


def _panels(count: int, width: float | None = None) -> tuple[Figure, Any]:
    return panels((width or 5 * count - 0.5, 4.3), columns=count, dpi=120)
