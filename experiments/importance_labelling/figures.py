"""The three figures of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from experiments.importance_labelling.plane import SCHEMES, points
from experiments.importance_labelling.problems import TASKS
from experiments.importance_labelling.summary import Results, scatter, select, settings
from experiments.importance_labelling.trials import METHODS, NOISES, UNWEIGHTED
from experiments.scaffold.figures import BLUE, INK, ORANGE, PURPLE, panels, ticks

SCHEME_COLOR = {"uniform": ORANGE, "CRED": BLUE}
COLOR = {
    "KRR": ORANGE,
    "KTR3": PURPLE,
    "SSSR": "#4a8f4a",
    "CRED": BLUE,
    UNWEIGHTED: INK,
}
MARKER = {"KRR": "s", "KTR3": "^", "SSSR": "D", "CRED": "o", UNWEIGHTED: "x"}
TITLE = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
#: Figure 2 leaves out what is further from the true coefficients.
WIDTH, HEIGHT = 1.5, 6.0


def draw_figure1(results: Results) -> Figure | None:
    """Draw the pool, and the points that each scheme labels."""
    if not results.points:
        return None
    pool = points()
    figure, cells = panels((11, 4.4))
    for axes, scheme in zip(cells, SCHEMES, strict=True):
        faint = {"color": "#c5ced8", "s": 1.5, "linewidths": 0}
        axes.scatter(pool[::5, 0], pool[::5, 1], **faint, label="pool (every fifth point)")
        chosen = [one for one in results.points if one.scheme == scheme]
        axes.scatter(
            [one.x1 for one in chosen],
            [one.x2 for one in chosen],
            s=26,
            color=SCHEME_COLOR[scheme],
            edgecolors="white",
            linewidths=0.5,
            label=f"{len(chosen)} labeled points",
        )
        axes.set(xlim=(-4.5, 4.5), ylim=(-0.48, 0.48), xlabel="x1", ylabel="x2")
        axes.set_title(f"Labeled: {scheme}")
        axes.legend(loc="upper right", markerscale=1.5, fontsize=9)
    return figure


def draw_figure2(results: Results) -> Figure | None:
    """Draw the coefficients of all trials."""
    if not results.estimates:
        return None
    figure, cells = panels((11, 4.4))
    for axes, scheme in zip(cells, SCHEMES, strict=True):
        found = [one for one in results.estimates if one.scheme == scheme]
        b1, b2 = (np.array([getattr(one, name) for one in found]) for name in ("beta1", "beta2"))
        inside = (np.abs(b1 - 1) <= WIDTH) & (np.abs(b2 - 1) <= HEIGHT)
        axes.scatter(b1[inside], b2[inside], s=7, alpha=0.6, color=SCHEME_COLOR[scheme])
        axes.plot(1, 1, marker="+", color=INK, markersize=13, markeredgewidth=2)
        axes.set(xlim=(1 - WIDTH, 1 + WIDTH), ylim=(1 - HEIGHT, 1 + HEIGHT))
        axes.set(xlabel="estimate of $\\beta_1$ = 1", ylabel="estimate of $\\beta_2$ = 1")
        axes.set_title(f"Three labels: {scheme}")
        first, second = (scatter(found, scheme, name) for name in ("beta1", "beta2"))
        text = (
            f"interquartile range {first.middle_half:.2f}, {second.middle_half:.2f}\n"
            f"nine of ten within {first.ninth:.2f}, {second.ninth:.2f}\n"
            f"{np.sum(~inside)} of {len(found)} outside"
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        place = {"transform": axes.transAxes, "va": "bottom", "fontsize": 9, "bbox": box}
        axes.text(0.03, 0.03, text, **place)
    return figure


def draw_figure3(results: Results) -> Figure | None:
    """Draw errors against noise: a column for each set and task, a row for each n."""
    columns = [
        (name, task)
        for task in TASKS
        for name, found in results.trials.items()
        if any(one.task == task for one in found)
    ]
    sizes = sorted({n for found in results.trials.values() for _, n in settings(found)})
    if not columns:
        return None
    figure, cells = panels(
        (3.6 * len(columns) + 0.4, 3.0 * len(sizes) + 0.6),
        len(sizes),
        len(columns),
        (0.03, None),
        dpi=100,
        squeeze=False,
        sharex=True,
        sharey="col",
    )
    for place, (name, task) in enumerate(columns):
        for line, n in enumerate(sizes):
            _draw_panel(cells[line, place], results, name, task, n)
        cells[0, place].set_title(f"{TITLE[name]}, {task}")
        cells[-1, place].set_xlabel("variance of the noise")
    for line, n in enumerate(sizes):
        cells[line, 0].set_ylabel(f"test RMSE, {n:,} labels")
    handles, labels = cells[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_panel(axes: Any, results: Results, name: str, task: str, n: int) -> None:
    for method in METHODS:
        values = [
            [one.rmse for one in select(results.trials[name], task, n, noise, method)]
            for noise in NOISES
        ]
        middle, color = [np.median(one) for one in values], COLOR[method]
        style: dict[str, Any] = {"color": color, "marker": MARKER[method], "label": method}
        if method == "KRR":  # often the same as SSSR, which is drawn over it
            style |= {"linewidth": 3.6, "markersize": 8}
        if method == UNWEIGHTED:
            style |= {"linestyle": "none", "zorder": 5}
        else:
            least, most = [min(one) for one in values], [max(one) for one in values]
            axes.fill_between(NOISES, least, most, color=color, alpha=0.13, linewidth=0)
        axes.plot(NOISES, middle, **style)
    axes.set(xscale="log", yscale="log")
    ticks(axes.xaxis, NOISES, None)
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
