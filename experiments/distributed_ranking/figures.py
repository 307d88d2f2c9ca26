"""Figures 1 and 2 of the paper, and how far rounds are from the solution of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from experiments.distributed_ranking.measured import Measured, select
from experiments.distributed_ranking.parts import (
    AT_COMPONENTS,
    AT_SHARDS,
    ROUNDS,
    ROUNDS_COMPONENTS,
)
from experiments.distributed_ranking.systems import (
    ALL,
    CONJUGATE,
    LITERAL,
    NEWTON,
    WITHIN,
)
from experiments.distributed_ranking.tables import Results
from experiments.scaffold.figures import BLUE, GRAY, GREEN, INK, ORANGE, PURPLE, log_x, panels
from experiments.scaffold.records import columns, values

COLOR = {"LSRank": PURPLE, "DRank": ORANGE, "DRank-RF": BLUE}
MARKER = {"LSRank": "", "DRank": "s", "DRank-RF": "o"}
#: Between columns and rows of panels.
SPACE = (0.05, 0.06)
SCALE_TITLE = {"raw": "columns in 1..100", "scaled": "columns / 100"}
#: Columns of figure 2: part, system, pairs, title.
KINDS = (
    ("figure2", LITERAL, WITHIN, "Algorithm 1 as written"),
    ("figure2_tuned", LITERAL, WITHIN, "the same, each tuned by itself"),
    ("figure2", "DRank-RF-C", ALL, "Newton rounds, all pairs"),
    ("figure2", CONJUGATE, ALL, "conjugate rounds, all pairs"),
)
ROUND_COLORS = (ORANGE, BLUE, GREEN)
#: Lines of the figure of distances: system, pairs, label, look.
DISTANCES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (LITERAL, WITHIN, "Algorithm 1 as written", {"color": INK, "marker": "D"}),
    (
        "DRank-RF-C",
        WITHIN,
        "Newton from zero, pairs within shards",
        {"color": GRAY, "marker": "v", "linestyle": "--"},
    ),
    ("DRank-RF-C", ALL, "Newton from zero, all pairs", {"color": PURPLE, "marker": "^"}),
    (NEWTON, ALL, "Newton from the average, all pairs", {"color": ORANGE, "marker": "s"}),
    (CONJUGATE, ALL, "conjugate, all pairs", {"color": BLUE, "marker": "o"}),
)


def draw_figure1(results: Results) -> Figure | None:
    """Draw errors and seconds against m, and against p, for raw and scaled columns."""
    found = results.found["figure1"]
    if not found:
        return None
    least = results.least["q = 7"].least
    figure, lines = panels((16, 7.6), 2, 4, SPACE, dpi=110)
    for cells, scale in zip(lines, SCALE_TITLE, strict=True):
        by_m = select(found, scale, "DRank-RF", shards=AT_SHARDS)
        by_m = sorted(by_m, key=lambda row: row.components)
        exact = select(found, scale, "LSRank")
        for axes, name in zip(cells[:2], ("error", "seconds"), strict=True):
            _line(axes, by_m, "components", name, "DRank-RF")
            _level(axes, select(found, scale, "DRank", shards=AT_SHARDS), name, "DRank")
            _level(axes, exact, name, "LSRank")
            log_x(axes, [row.components for row in by_m][::2] or [1])
            axes.set_xlabel("random features m")
        for axes, name in zip(cells[2:], ("error", "seconds"), strict=True):
            _level(axes, exact, name, "LSRank")
            for system, m in (("DRank", 0), ("DRank-RF", AT_COMPONENTS)):
                rows = select(found, scale, system, components=m)
                rows = sorted(rows, key=lambda row: row.shards)
                _line(axes, rows, "shards", name, system)
                if name == "seconds":
                    local = select(found, scale, f"{system}, one shard", components=m)
                    look = {"linestyle": ":", "label": f"{system}, one shard"}
                    _line(axes, local, "shards", name, system, **look)
            axes.set_xlabel("shards p")
        for axes in (cells[0], cells[2]):
            label = "least error of any score"
            axes.axhline(least, color=INK, linestyle=":", linewidth=1.2, label=label)
            axes.set_ylabel("pairwise error")
        for axes in (cells[1], cells[3]):
            axes.set_yscale("log")
            axes.set_ylabel("seconds of a fit")
        fixed = (f"p = {AT_SHARDS}",) * 2 + (f"m = {AT_COMPONENTS}",) * 2
        for axes, what in zip(cells, fixed, strict=True):
            axes.set_title(f"{SCALE_TITLE[scale]}, {what}")
    for axes in lines[0][:3]:
        axes.legend(fontsize=8.5)
    lines[0][3].legend(fontsize=8.5, loc="center right", bbox_to_anchor=(1.0, 0.71))
    return figure


def draw_figure2(results: Results) -> Figure | None:
    """Draw errors against p for several numbers of rounds, by the kind of rounds.

    They are relative to all rows in one place with the same features, for draws of rows differ more
    than systems do.
    """
    kinds = [kind for kind in KINDS if results.found.get(kind[0])]
    if not kinds:
        return None
    width = 4.4 * len(kinds) + 0.6
    figure, lines = panels((width, 7.8), 2, len(kinds), SPACE, dpi=100, sharey=True, squeeze=False)
    for cells, scale in zip(lines, SCALE_TITLE, strict=True):
        for axes, (part, system, pairs, title) in zip(cells, kinds, strict=True):
            found = results.found[part]
            look = {"color": GRAY, "marker": "x"}
            curves = [(select(found, scale, "DRank-RF"), "DRank-RF", look)]
            for rounds, color in zip(ROUNDS, ROUND_COLORS, strict=True):
                rows = select(found, scale, system, pairs, rounds=rounds)
                curves.append((rows, f"{rounds} rounds", {"color": color, "marker": "o"}))
            for rows, label, look in curves:
                p, over, sd = columns(rows, "shards", "over_all", "over_all_sd")
                axes.errorbar(p, over, sd, label=label, elinewidth=0.8, capsize=2, **look)
            axes.axhline(0, color=INK, linestyle="--", linewidth=1.2)
            axes.set_yscale("symlog", linthresh=1e-5)
            axes.set_ylim(-2e-4, 1.5)
            axes.set_title(f"{title}\n{SCALE_TITLE[scale]}, m = {ROUNDS_COMPONENTS}")
            axes.set_xlabel("shards p")
        cells[0].set_ylabel("error minus that of all rows")
    lines[0][-1].legend(loc="upper left")
    return figure


def draw_rounds(results: Results) -> Figure | None:
    """Draw the distance to the coefficients of all rows after eight rounds, against p."""
    found = results.found["rounds"]
    if not found:
        return None
    figure, cells = panels((12.5, 4.8), space=SPACE, dpi=120)
    for axes, scale in zip(cells, SCALE_TITLE, strict=True):
        for system, pairs, label, look in DISTANCES:
            rows = select(found, scale, system, pairs)
            _line(axes, rows, "shards", "distance", None, label=label, **look)
            stopped = [row for row in rows if row.stopped]
            x, y = columns(stopped, "shards", "distance")
            axes.plot(x, y, linestyle="", marker="o", markersize=11, fillstyle="none", color=INK)
        axes.set_yscale("log")
        log_x(axes, [p for p in values(found, "shards") if p > 1])
        axes.set_xlabel("shards p")
        axes.set_title(f"{SCALE_TITLE[scale]}, m = {ROUNDS_COMPONENTS}, 8 rounds")
    cells[0].set_ylabel("relative distance to the coefficients of all rows")
    ring = {"linestyle": "", "marker": "o", "markersize": 11, "fillstyle": "none", "color": INK}
    cells[1].plot([], [], label="stopped in some trial", **ring)
    cells[1].legend(fontsize=8.5)
    return figure


def _line(
    axes: Any, rows: Sequence[Measured], x: str, y: str, system: str | None, **look: Any
) -> None:
    """Draw a curve, with a band of one standard deviation where it is of errors."""
    if not rows:
        return
    if system is not None:
        look = {"color": COLOR[system], "marker": MARKER[system], "label": system, **look}
    at, mean = columns(rows, x, y)
    axes.plot(at, mean, **look)
    if y == "error":
        (sd,) = columns(rows, "error_sd")
        axes.fill_between(at, mean - sd, mean + sd, color=look["color"], alpha=0.15, linewidth=0)


def _level(axes: Any, rows: Sequence[Measured], name: str, system: str | None, **look: Any) -> None:
    """Draw a horizontal line for what does not depend on the axis."""
    if system is not None:
        look = {"color": COLOR[system], "label": system}
    for row in rows[:1]:
        axes.axhline(getattr(row, name), linestyle="--", linewidth=1.4, **look)
