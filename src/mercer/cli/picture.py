"""The picture of the demo: accuracy and cost, the choice of alpha, the most confused letters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.drawing import FAINT, INK, save_figure, styled
from mercer.cli.sizes import peak_text
from mercer.contracts import Array

COLORS = {"mercer": "#0b6e99", "nystroem": "#d9822b", "exact": "#8a5aab"}
TICKS = (1, 1.5, 2, 3, 5, 7)


def draw(
    results: dict[str, dict[str, Any]], titles: dict[str, str], components: int, out: Path
) -> None:
    """Draw the results of the demo and write the picture to a file."""
    with styled() as Figure:
        figure = Figure(figsize=(16, 5.4), facecolor="white")
        figure.set_layout_engine("constrained", w_pad=0.15, wspace=0.04)
        cells = figure.add_gridspec(1, 3, width_ratios=[1.2, 1, 1.05])
        _draw_cost(figure, cells[0], results, titles)
        _draw_path(figure.add_subplot(cells[1]), results["mercer"])
        _draw_letters(figure.add_subplot(cells[2]), results["mercer"])
        result = results["mercer"]
        figure.suptitle(
            f"Letter recognition: {100 * result['accuracy']:.2f} % of 4,000 test letters right, "
            f"from {result['rows']:,} rows and {components:,} landmarks in "
            f"{result['fit_seconds']:.1f} s",
            fontsize=14,
            fontweight="bold",
        )
        save_figure(figure, out)


def _draw_cost(
    figure: Any, cell: Any, results: dict[str, dict[str, Any]], titles: dict[str, str]
) -> None:
    """Accuracy, time and memory: a group of bars each, from zero."""
    measures: list[tuple[str, Callable[[dict[str, Any]], float], Callable[[float], str]]] = [
        ("Test accuracy", lambda result: 100 * result["accuracy"], lambda value: f"{value:.2f} %"),
        ("Seconds to fit", lambda result: result["fit_seconds"], lambda value: f"{value:.1f} s"),
        (
            "Peak memory of the process",
            lambda result: float(result["peak_bytes"] or 0),
            lambda value: peak_text(int(value) or None),
        ),
    ]
    names = list(results)[::-1]
    labels = [f"{titles[name]}\n{results[name]['rows']:,} rows" for name in names]
    grid = cell.subgridspec(len(measures), 1)
    for row, (title, measure, write) in enumerate(measures):
        axes = figure.add_subplot(grid[row])
        values = [measure(results[name]) for name in names]
        bars = axes.barh(labels, values, height=0.62, color=[COLORS[name] for name in names])
        axes.bar_label(bars, [write(value) for value in values], padding=4, fontsize=9.5)
        axes.set_xlim(0, 1.25 * max(values) or 1.0)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="y", length=0, labelsize=9)
        axes.set_title(title, loc="left")


def _draw_path(axes: Any, result: dict[str, Any]) -> None:
    """The score of every alpha, with the chosen one marked."""
    alphas, scores = np.array(result["alphas"]), np.array(result["scores"])
    usable = np.isfinite(scores)
    best = scores[alphas == result["alpha"]][0]
    axes.loglog(
        alphas[usable], scores[usable], "-o", color=COLORS["mercer"], markersize=4, linewidth=1.8
    )
    axes.axvline(result["alpha"], color=COLORS["nystroem"], linewidth=1.2, linestyle="--")
    axes.plot([result["alpha"]], [best], "o", markersize=11, color=COLORS["nystroem"], zorder=3)
    right = result["alpha"] < np.sqrt(alphas[0] * alphas[-1])
    axes.annotate(
        f"chosen: {result['alpha']:.2g}",
        (result["alpha"], 0.94),
        xycoords=("data", "axes fraction"),
        xytext=(8 if right else -8, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        color=COLORS["nystroem"],
        fontweight="bold",
    )
    axes.yaxis.set_major_formatter(_tick)
    axes.yaxis.set_minor_formatter(_tick)
    axes.set_xlabel("alpha")
    axes.set_ylabel("mean squared error, all classes together")
    axes.set_title(f"Choosing alpha by {result['criterion']}", loc="left")
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def _tick(value: float, position: int) -> str:
    """Label a few round values of a logarithmic axis."""
    leading = round(value / 10 ** np.floor(np.log10(value)), 6)
    return f"{value:g}" if leading in TICKS else ""


def most_confused(confusion: Array, number: int) -> Array:
    """Return the classes that are confused most often, in either direction, in order.

    >>> most_confused(np.array([[9, 0, 2], [0, 9, 0], [1, 0, 9]]), 2).tolist()
    [0, 2]
    """
    wrong = confusion - np.diag(np.diagonal(confusion))
    involved = wrong.sum(axis=0) + wrong.sum(axis=1)
    return np.sort(np.argsort(-involved, kind="stable")[:number])


def _draw_letters(axes: Any, result: dict[str, Any]) -> None:
    """The mistakes among the letters that are confused most often."""
    confusion = np.array(result["confusion"])
    chosen = most_confused(confusion, 11)
    wrong = (confusion - np.diag(np.diagonal(confusion)))[np.ix_(chosen, chosen)]
    names = [result["classes"][i] for i in chosen]
    axes.imshow(np.ma.masked_equal(wrong, 0), cmap="Oranges", vmin=0, vmax=1.3 * wrong.max())
    for row, column in zip(*np.nonzero(wrong), strict=True):
        count = wrong[row, column]
        strong = count > 0.75 * wrong.max()
        axes.text(
            column,
            row,
            str(count),
            ha="center",
            va="center",
            fontsize=9.5,
            color="white" if strong else INK,
        )
    for i in range(len(names)):
        axes.add_patch(_square(i))
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.set_xticks(np.arange(-0.5, len(names)), minor=True)
    axes.set_yticks(np.arange(-0.5, len(names)), minor=True)
    axes.grid(which="minor", color=FAINT, linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true letter")
    total = int(confusion.sum() - np.trace(confusion))
    axes.set_title(f"The most confused letters ({total} mistakes in all)", loc="left")


def _square(at: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((at - 0.5, at - 0.5), 1, 1, facecolor="#eef1f4", edgecolor="none")
