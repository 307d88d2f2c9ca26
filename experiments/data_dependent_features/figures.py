"""The figures of the paper, by their numbers in it, and one of the made-up regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from experiments.data_dependent_features.eeg import LEVERAGE, LITERAL, NONE, PLAIN, UNBIASED
from experiments.data_dependent_features.made_up import SHARED_ALPHA
from experiments.data_dependent_features.parts import PLAIN_SEMI, SEMI, SUPERVISED
from experiments.data_dependent_features.readings import (
    COMPONENTS,
    OF_ALL,
    OF_MEAN,
    OF_SHARD,
    OURS,
    PARTITIONS,
    UNLABELED,
    at,
)
from experiments.scaffold.figures import (
    BLUE,
    GREEN,
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
READING_LABEL = {
    OF_ALL: "$\\lambda$ against the sum of all rows",
    OF_SHARD: "$\\lambda$ against the sum of a shard",
    OURS: "$\\alpha$ = $2^{-10}$",
    OF_MEAN: "$\\lambda$ against the mean",
}
READING_LOOK: dict[str, Any] = {
    OF_ALL: {"color": INK, "marker": "D"},
    OF_SHARD: {"color": BLUE, "marker": "o"},
    OURS: {"color": GREEN, "marker": "v"},
    OF_MEAN: {"color": PURPLE, "marker": "^"},
}
#: What each part has measured.
Parts = Mapping[str, Sequence[Any]]
#: Solid for one place, dashed for shards.
LINE = {1: "-", 10: "--"}


def features(parts: Parts) -> Figure | None:
    """Draw accuracy against M for two readings of lambda, and seconds (figure 9)."""
    found, read = parts["features"], parts["readings"]
    if not found or not read:
        return None
    figure, ((summed, mean_of), (middle, right)) = panels((10.5, 8.8), rows=2, dpi=120)
    for axes, reading in ((summed, OF_ALL), (mean_of, OF_MEAN)):
        for method in (NONE, LITERAL, PLAIN):
            for m in values(select(read, figure=COMPONENTS), "shards"):
                rows = at(read, figure=COMPONENTS, reading=reading, method=method, shards=m)
                M, mean, sd = columns(rows, "components", "accuracy", "accuracy_sd")
                look: dict[str, Any] = {"color": COLOR[method], "marker": MARKER[method]}
                name = LABEL[method] if m == 1 else None
                line = LINE.get(m, ":")
                axes.errorbar(M, mean, sd, linestyle=line, capsize=2, label=name, **look)
        axes.set_title(f"$\\lambda$ against the {reading} (dashed: m = 10)")
        axes.set_ylabel("share of test rows in the right class")
        axes.set_ylim(0.5, 1.05)
    for method, label in LABEL.items():
        look = {"color": COLOR[method], "marker": MARKER[method]}
        rows = select(found, method=method, shards=1)
        M, choosing = columns(rows, "components", "choosing")
        if method in (PLAIN, NONE, LEVERAGE):
            middle.plot(M, choosing, label=label.removesuffix(", no weights"), **look)
        for m in values(found, "shards") if method in (PLAIN, NONE) else ():
            M, fitting = columns(select(found, method=method, shards=m), "components", "fitting")
            right.plot(M, fitting, linestyle=LINE.get(m, ":"), label=f"{label}, m = {m}", **look)
            if m > 1:
                few = {**look, "markersize": 3}
                right.plot(M, fitting / m, linestyle=":", label=f"{label}, m = {m}, over m", **few)
    middle.set_title("Drawing and choosing features")
    right.set_title("Fitting")
    for axes in (summed, mean_of, middle, right):
        log_x(axes, [14, 56, 224, 896])
        axes.set_xlabel("random features M")
        axes.legend(loc="upper left")
    for axes in (middle, right):
        axes.set_ylabel("CPU seconds")
        axes.set_yscale("log")
    room(right, 0.6)
    return figure


def unlabeled(parts: Parts) -> Figure | None:
    """Draw accuracy and seconds against the number of rows without labels (figure 10)."""
    found, read = parts["unlabeled"], parts["readings"]
    if not found or not read:
        return None
    figure, (first, second, right) = _panels(3)
    for axes, method in ((first, LITERAL), (second, NONE)):
        for reading, look in READING_LOOK.items():
            rows = at(read, figure=UNLABELED, method=method, reading=reading)
            count, mean, sd = columns(rows, "unlabeled", "accuracy", "accuracy_sd")
            axes.errorbar(count, mean, sd, capsize=2, label=READING_LABEL[reading], **look)
            axes.axhline(mean[0], color=look["color"], linestyle=":", linewidth=1.0)
        axes.set_title(f"Features {LABEL[method]}")
        axes.set_ylabel("share of test rows in the right class")
        axes.set_xlabel("rows without labels (dotted: without them)")
        axes.set_ylim(0.55, 1.0)
        axes.legend(loc="upper left")
    timed = {SEMI: ("by labels", BLUE, "-"), PLAIN_SEMI: ("plain", INK, "--")}
    for method, (label, color, line) in timed.items():
        count, fitting = columns(select(found, method=method), "unlabeled", "fitting")
        name = f"fitting, features {label}"
        right.plot(count, fitting, color=color, linestyle=line, marker="o", label=name)
    choosing = select(found, method=SEMI)[0].choosing
    right.axhline(choosing, color=ORANGE, label="choosing, by labels (labeled rows only)")
    right.set_title(f"Seconds, M = {found[0].components}, m = {found[0].shards}")
    right.set_ylabel("CPU seconds")
    right.set_xlabel("rows without labels")
    right.set_ylim(0)
    room(right, 0.3)
    right.legend(loc="upper left")
    return figure


def partitions(parts: Parts) -> Figure | None:
    """Draw accuracy and seconds of both methods against m (figure 11)."""
    found, read = parts["partitions"], parts["readings"]
    if not found or not read:
        return None
    looks = {
        SUPERVISED: {"color": ORANGE, "marker": "s"},
        SEMI: {"color": BLUE, "marker": "o"},
    }
    figure, (first, second, right) = _panels(3)
    for axes, method in ((first, LITERAL), (second, NONE)):
        rows = at(read, figure=PARTITIONS, method=method)
        counts = dict(zip(looks, values(rows, "unlabeled"), strict=True))
        for reading, line in ((OF_SHARD, "-"), (OF_MEAN, ":")):
            for name, count in counts.items():
                some = select(rows, reading=reading, unlabeled=count)
                m, mean, sd = columns(some, "shards", "accuracy", "accuracy_sd")
                label = f"{name}, $\\lambda$ against the {reading}"
                axes.errorbar(m, mean, sd, linestyle=line, capsize=2, label=label, **looks[name])
        axes.set_title(f"Features {LABEL[method]}")
        axes.set_ylabel("share of test rows in the right class")
        axes.set_ylim(0.5, 1.0)
        axes.legend(loc="upper left")
    for name, look in looks.items():
        m, fitting = columns(select(found, method=name), "shards", "fitting")
        right.plot(m, fitting, label=name, **look)
        right.plot(m, fitting / m, linestyle=":", label=f"{name}, over m", **look)
    right.set_title(f"Fitting, M = {found[0].components}")
    right.set_ylabel("CPU seconds")
    right.set_yscale("log")
    room(right, 0.35)
    right.legend(loc="upper left", ncols=2)
    for axes in (first, second, right):
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
    figure, both = _panels(2)
    for axes, (alpha, title) in zip(both, titles.items(), strict=True):
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
