"""The figures of the paper, by their numbers in it, and one of the made-up regression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from experiments.data_dependent_features.eeg import LEVERAGE, LITERAL, NONE, PLAIN, UNBIASED
from experiments.data_dependent_features.made_up import SHARED_ALPHA
from experiments.data_dependent_features.measured import Excess, Measured, select
from experiments.data_dependent_features.parts import PLAIN_SEMI, SEMI, SUPERVISED
from experiments.pictures import STYLE, save
from mercer.cli.picture import COLORS, INK
from mercer.contracts import Array

GRAY, GREEN = "#9aa5b1", "#4b8b3b"
LABEL = {
    PLAIN: "plain",
    NONE: "by labels, no weights",
    UNBIASED: "by labels, $\\sqrt{p/q}$ (unbiased)",
    LITERAL: "by labels, p/q (eq. 14 as printed)",
    LEVERAGE: "by leverage, no weights",
}
COLOR = {
    PLAIN: INK,
    NONE: COLORS["mercer"],
    UNBIASED: COLORS["exact"],
    LITERAL: COLORS["nystroem"],
    LEVERAGE: GREEN,
}
MARKER = {PLAIN: "D", NONE: "o", UNBIASED: "s", LITERAL: "^", LEVERAGE: "v"}
#: Solid for one place, dashed for shards.
LINE = {1: "-", 10: "--"}


def draw_features(found: Sequence[Measured], path: Path) -> None:
    """Draw accuracy and seconds against M (figure 9)."""
    with rc_context(STYLE):
        figure, (left, middle, right) = _panels(3)
        for method, label in LABEL.items():
            look: dict[str, Any] = {"color": COLOR[method], "marker": MARKER[method]}
            for m in sorted({row.shards for row in found}):
                rows = select(found, method=method, shards=m)
                M, mean, sd, fitting = _columns(
                    rows, "components", "accuracy", "accuracy_sd", "fitting"
                )
                line = LINE.get(m, ":")
                name = label if m == 1 else None
                left.errorbar(M, mean, sd, linestyle=line, capsize=2, label=name, **look)
                if method in (PLAIN, NONE):
                    right.plot(M, fitting, linestyle=line, label=f"{label}, m = {m}", **look)
                    if m > 1:
                        few = {**look, "markersize": 3}
                        over = f"{label}, m = {m}, over m"
                        right.plot(M, fitting / m, linestyle=":", label=over, **few)
            rows = select(found, method=method, shards=1)
            M, choosing = _columns(rows, "components", "choosing")
            if method in (PLAIN, NONE, LEVERAGE):
                middle.plot(M, choosing, label=label.removesuffix(", no weights"), **look)
        left.set_title("Test accuracy (solid: m = 1, dashed: m = 10)")
        left.set_ylabel("share of test rows in the right class")
        middle.set_title("Drawing and choosing features")
        right.set_title("Fitting")
        for axes in (left, middle, right):
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(FixedLocator([14, 56, 224, 896]))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
            axes.set_xlabel("random features M")
            axes.legend(loc="upper left")
        _room(left, 0.45)
        for axes in (middle, right):
            axes.set_ylabel("CPU seconds")
            axes.set_yscale("log")
        low, high = right.get_ylim()
        right.set_ylim(low, high * (high / low) ** 0.6)
        save(figure, path, dpi=120)


def draw_unlabeled(found: Sequence[Measured], path: Path) -> None:
    """Draw accuracy and seconds against the number of rows without labels (figure 10)."""
    looks = {
        SEMI: ("features by labels", {"color": COLORS["mercer"], "marker": "o"}),
        PLAIN_SEMI: ("plain features", {"color": INK, "marker": "D"}),
    }
    with rc_context(STYLE):
        figure, (left, right) = _panels(2)
        for method, (label, look) in looks.items():
            rows = select(found, method=method)
            count, mean, sd, fitting = _columns(
                rows, "unlabeled", "accuracy", "accuracy_sd", "fitting"
            )
            line = "-" if method == SEMI else "--"
            left.errorbar(count, mean, sd, linestyle=line, capsize=2, label=label, **look)
            left.axhline(mean[0], color=GRAY, linestyle=":")
            right.plot(count, fitting, linestyle=line, label=f"fitting, {label}", **look)
        first = select(found, method=SEMI)[0]
        left.set_title(f"Test accuracy, M = {first.components}, m = {first.shards}")
        left.set_ylabel("share of test rows in the right class")
        right.axhline(
            first.choosing,
            color=COLORS["nystroem"],
            label="choosing, by labels (labeled rows only)",
        )
        right.set_title("Fitting and choosing")
        right.set_ylabel("CPU seconds")
        right.set_ylim(0)
        for axes in (left, right):
            axes.set_xlabel("rows without labels (dotted: the accuracy without them)")
        right.set_xlabel("rows without labels")
        _room(left, 0.1)
        _room(right, 0.3)
        left.legend(loc="center right")
        right.legend(loc="upper left")
        save(figure, path, dpi=120)


def draw_partitions(found: Sequence[Measured], path: Path) -> None:
    """Draw accuracy and seconds of both methods against m (figure 11)."""
    looks = {
        SUPERVISED: {"color": COLORS["nystroem"], "marker": "s"},
        SEMI: {"color": COLORS["mercer"], "marker": "o"},
    }
    with rc_context(STYLE):
        figure, (left, right) = _panels(2)
        for method, look in looks.items():
            rows = select(found, method=method)
            m, mean, sd, fitting = _columns(rows, "shards", "accuracy", "accuracy_sd", "fitting")
            name = f"{method} ({rows[0].unlabeled:,} rows without labels)"
            left.errorbar(m, mean, sd, capsize=2, label=name, **look)
            right.plot(m, fitting, label=method, **look)
            few = {**look, "markersize": 3}
            right.plot(m, fitting / m, linestyle=":", label=f"{method}, over m", **few)
        left.set_title(f"Test accuracy, M = {rows[0].components}")
        left.set_ylabel("share of test rows in the right class")
        right.set_title("Fitting")
        right.set_ylabel("CPU seconds")
        right.set_yscale("log")
        low, high = right.get_ylim()
        right.set_ylim(low, high * (high / low) ** 0.35)
        left.legend(loc="lower left")
        right.legend(loc="upper left", ncols=2)
        for axes in (left, right):
            axes.set_xlabel("shards m")
        save(figure, path, dpi=120)


def draw_made_up(found: Sequence[Excess], path: Path) -> None:
    """Draw how much larger or smaller rows without labels make the excess risk, by noise."""
    colors = (COLORS["mercer"], COLORS["nystroem"], COLORS["exact"])
    titles = {
        SHARED_ALPHA: f"Made up: $\\alpha$ = {SHARED_ALPHA:g} for both",
        0.0: "Made up: for each method its best $\\alpha$",
    }
    shards = sorted({row.shards for row in found})
    with rc_context(STYLE):
        figure, panels = _panels(2)
        for axes, (alpha, title) in zip(panels, titles.items(), strict=True):
            for m, color, marker in zip(shards, colors, "Dos", strict=False):
                rows = [row for row in select(found, alpha=alpha, shards=m) if row.noise > 0]
                noise, supervised, semi = _columns(rows, "noise", "supervised", "semi")
                axes.plot(noise, semi / supervised, color=color, marker=marker, label=f"m = {m}")
            axes.axhline(1.0, color=INK, linewidth=1.0)
            axes.set_title(title)
            axes.set_xscale("log")
            axes.set_yscale("log")
            ticks = [0.5, 1, 2] if alpha else [0.5, 1, 10, 100]
            axes.yaxis.set_major_locator(FixedLocator(ticks))
            axes.yaxis.set_minor_locator(NullLocator())
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel("standard deviation of the noise (the target's is 0.75)")
            axes.set_ylabel("excess risk, semi-supervised / supervised")
            axes.legend(loc="upper right", title="shards")
        save(figure, path, dpi=120)


def _room(axes: Any, share: float) -> None:
    """Leave room for a legend above."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + share * (high - low))


def _columns(rows: Sequence[Any], *names: str) -> list[Array]:
    return [np.array([getattr(row, name) for row in rows], dtype=float) for name in names]


def _panels(count: int) -> tuple[Figure, Any]:
    figure = Figure(figsize=(5 * count + 0.5, 4.6), facecolor="white")
    figure.set_layout_engine("constrained", wspace=0.06)
    return figure, figure.subplots(1, count)
