"""Figure 4 and its table: errors against the number of labels, by the way they are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from experiments.importance_labelling.budgets import CRED, PLAIN, RANDOM, UNIFORM, VARIANCE, WAYS
from experiments.importance_labelling.measured import Budgeted
from experiments.importance_labelling.summary import Results
from experiments.scaffold import Array, records
from experiments.scaffold.figures import BLUE, INK, ORANGE, PURPLE, SKY, log_x, panels, short
from experiments.scaffold.tables import Table

COLOR = {UNIFORM: ORANGE, CRED: BLUE, PLAIN: SKY, VARIANCE: PURPLE, RANDOM: INK}
MARKER = {UNIFORM: "s", CRED: "o", PLAIN: "x", VARIANCE: "^", RANDOM: "D"}
COLUMNS = 3


def errors_of(found: Sequence[Budgeted], target: str, labels: int, way: str) -> Array:
    """Return the errors of all repeats, in their order."""
    chosen = records.select(found, target=target, labels=labels, way=way)
    return np.array([one.error for one in sorted(chosen, key=lambda one: one.repeat)])


def settings(found: Sequence[Budgeted]) -> dict[str, list[int]]:
    """Return the numbers of labels of each target."""
    sizes: dict[str, list[int]] = {}
    for one in found:
        if one.labels not in sizes.setdefault(one.target, []):
            sizes[one.target].append(one.labels)
    return sizes


def by_labels(found: Sequence[Budgeted]) -> Table:
    """Return medians over repeats, and ratios to the error of uniform rows.

    The ratio is the geometric mean of those of each repeat, with its standard error.
    """
    table = Table(["set", "labels", *WAYS])
    for target, sizes in settings(found).items():
        for labels in sizes:
            even = errors_of(found, target, labels, UNIFORM)
            cells = [f"{np.median(even):.3g}"]
            for way in WAYS[1:]:
                errors = errors_of(found, target, labels, way)
                logs = np.log(errors / even)
                spread = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
                ratio = np.exp(logs.mean())
                digits = 2 if ratio >= 0.1 else 3
                text = f"{ratio:.{digits}f} ± {ratio * spread:.{digits}f}"
                cells.append(f"{np.median(errors):.3g} ({text})")
            table.add([target, str(labels), *cells])
    return table


def draw_figure4(results: Results) -> Figure | None:
    """Draw a panel for each set: medians over repeats, and the middle half of them as a band."""
    if not results.budgets:
        return None
    sizes = settings(results.budgets)
    lines = -(-len(sizes) // COLUMNS)
    figure, cells = panels(
        (3.7 * COLUMNS, 2.9 * lines + 0.5), lines, COLUMNS, (0.04, 0.06), dpi=100, squeeze=False
    )
    for axes, (target, labels) in zip(cells.flat, sizes.items(), strict=False):
        for way in WAYS:
            errors = np.array([errors_of(results.budgets, target, n, way) for n in labels])
            low, middle, high = np.percentile(errors, [25, 50, 75], axis=1)
            style = {"color": COLOR[way], "marker": MARKER[way], "label": way}
            axes.plot(labels, middle, **style, linestyle="--" if way == PLAIN else "-")
            axes.fill_between(labels, low, high, color=COLOR[way], alpha=0.13, linewidth=0)
        axes.set_title(target.replace("_", " "))
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        near = (1, 2, 3, 4, 5, 6, 8) if high < 8 * low else (1, 3)
        axes.yaxis.set_major_locator(LogLocator(subs=near, numticks=12))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(short)
        log_x(axes, labels)
    for axes in cells[:, 0]:
        axes.set_ylabel("test error")
    for axes in cells.flat[len(sizes) - COLUMNS : len(sizes)]:
        axes.set_xlabel("labels")
    for axes in cells.flat[len(sizes) :]:
        axes.set_axis_off()
    handles, names = cells.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure
