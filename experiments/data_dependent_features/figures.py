"""The figures of the paper, by their numbers in it, and one of the made-up regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from experiments.data_dependent_features.eeg import LEVERAGE, LITERAL, NONE, PLAIN, UNBIASED
from experiments.data_dependent_features.made_up import SHARED_ALPHA
from experiments.data_dependent_features.parts import PLAIN_SEMI, SEMI, SUPERVISED
from experiments.scaffold.figures import (
    BLUE,
    GRAY,
    INK,
    ORANGE,
    PURPLE,
    log_x,
    panels,
    room,
    short,
    ticks,
)
from experiments.scaffold.records import columns, select, values

GREEN = "#4b8b3b"
LABEL = {
    PLAIN: "plain",
    NONE: "by labels, no weights",
    UNBIASED: "by labels, $\\sqrt{p/q}$ (unbiased)",
    LITERAL: "by labels, p/q (eq. 14 as printed)",
    LEVERAGE: "by leverage, no weights",
}
COLOR = {
    PLAIN: INK,
    NONE: BLUE,
    UNBIASED: PURPLE,
    LITERAL: ORANGE,
    LEVERAGE: GREEN,
}
MARKER = {PLAIN: "D", NONE: "o", UNBIASED: "s", LITERAL: "^", LEVERAGE: "v"}
#: What each part has measured.
Parts = Mapping[str, Sequence[Any]]
#: Solid for one place, dashed for shards.
LINE = {1: "-", 10: "--"}


def features(parts: Parts) -> Figure | None:
    """Draw accuracy and seconds against M (figure 9)."""
    found = parts["features"]
    if not found:
        return None
    figure, (left, middle, right) = _panels(3)
    for method, label in LABEL.items():
        look: dict[str, Any] = {"color": COLOR[method], "marker": MARKER[method]}
        for m in values(found, "shards"):
            rows = select(found, method=method, shards=m)
            M, mean, sd, fitting = columns(rows, "components", "accuracy", "accuracy_sd", "fitting")
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
        M, choosing = columns(rows, "components", "choosing")
        if method in (PLAIN, NONE, LEVERAGE):
            middle.plot(M, choosing, label=label.removesuffix(", no weights"), **look)
    left.set_title("Test accuracy (solid: m = 1, dashed: m = 10)")
    left.set_ylabel("share of test rows in the right class")
    middle.set_title("Drawing and choosing features")
    right.set_title("Fitting")
    for axes in (left, middle, right):
        log_x(axes, [14, 56, 224, 896])
        axes.set_xlabel("random features M")
        axes.legend(loc="upper left")
    room(left, 0.45)
    for axes in (middle, right):
        axes.set_ylabel("CPU seconds")
        axes.set_yscale("log")
    room(right, 0.6)
    return figure


def unlabeled(parts: Parts) -> Figure | None:
    """Draw accuracy and seconds against the number of rows without labels (figure 10)."""
    found = parts["unlabeled"]
    if not found:
        return None
    looks = {
        SEMI: ("features by labels", {"color": BLUE, "marker": "o"}),
        PLAIN_SEMI: ("plain features", {"color": INK, "marker": "D"}),
    }
    figure, (left, right) = _panels(2)
    for method, (label, look) in looks.items():
        rows = select(found, method=method)
        count, mean, sd, fitting = columns(rows, "unlabeled", "accuracy", "accuracy_sd", "fitting")
        line = "-" if method == SEMI else "--"
        left.errorbar(count, mean, sd, linestyle=line, capsize=2, label=label, **look)
        left.axhline(mean[0], color=GRAY, linestyle=":")
        right.plot(count, fitting, linestyle=line, label=f"fitting, {label}", **look)
    first = select(found, method=SEMI)[0]
    left.set_title(f"Test accuracy, M = {first.components}, m = {first.shards}")
    left.set_ylabel("share of test rows in the right class")
    right.axhline(
        first.choosing,
        color=ORANGE,
        label="choosing, by labels (labeled rows only)",
    )
    right.set_title("Fitting and choosing")
    right.set_ylabel("CPU seconds")
    right.set_ylim(0)
    for axes in (left, right):
        axes.set_xlabel("rows without labels (dotted: the accuracy without them)")
    right.set_xlabel("rows without labels")
    room(left, 0.1)
    room(right, 0.3)
    left.legend(loc="center right")
    right.legend(loc="upper left")
    return figure


def partitions(parts: Parts) -> Figure | None:
    """Draw accuracy and seconds of both methods against m (figure 11)."""
    found = parts["partitions"]
    if not found:
        return None
    looks = {
        SUPERVISED: {"color": ORANGE, "marker": "s"},
        SEMI: {"color": BLUE, "marker": "o"},
    }
    figure, (left, right) = _panels(2)
    for method, look in looks.items():
        rows = select(found, method=method)
        m, mean, sd, fitting = columns(rows, "shards", "accuracy", "accuracy_sd", "fitting")
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
    room(right, 0.35)
    left.legend(loc="lower left")
    right.legend(loc="upper left", ncols=2)
    for axes in (left, right):
        axes.set_xlabel("shards m")
    return figure


def made_up(parts: Parts) -> Figure | None:
    """Draw how much larger or smaller rows without labels make the excess risk, by noise."""
    found = parts["made_up"]
    if not found:
        return None
    colors = (BLUE, ORANGE, PURPLE)
    titles = {
        SHARED_ALPHA: f"Made up: $\\alpha$ = {SHARED_ALPHA:g} for both",
        0.0: "Made up: for each method its best $\\alpha$",
    }
    shards = values(found, "shards")
    figure, panels = _panels(2)
    for axes, (alpha, title) in zip(panels, titles.items(), strict=True):
        for m, color, marker in zip(shards, colors, "Dos", strict=False):
            rows = [row for row in select(found, alpha=alpha, shards=m) if row.noise > 0]
            noise, supervised, semi = columns(rows, "noise", "supervised", "semi")
            axes.plot(noise, semi / supervised, color=color, marker=marker, label=f"m = {m}")
        axes.axhline(1.0, color=INK, linewidth=1.0)
        axes.set_title(title)
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks(axes.yaxis, [0.5, 1, 2] if alpha else [0.5, 1, 10, 100])
        axes.xaxis.set_major_formatter(short)
        axes.set_xlabel("standard deviation of the noise (the target's is 0.75)")
        axes.set_ylabel("excess risk, semi-supervised / supervised")
        axes.legend(loc="upper right", title="shards")
    return figure


def _panels(count: int) -> tuple[Figure, Any]:
    return panels((5 * count + 0.5, 4.6), columns=count, dpi=120)
