"""``mercer demo``: letter recognition, compared with scikit-learn in the metric that is learned.

Its picture shows accuracy and cost, the choice of alpha, and the most confused letters.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from mercer.cli.output import columns, facts, peak_text, stderr, stdout
from mercer.cli.writing import check_output, save_figure
from mercer.contracts import Array
from mercer.style import BLUE, INK, ORANGE, PURPLE, Axes, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Rows and landmarks; and the rows of the exact kernel, whose time grows with their cube.
FULL = {"rows": 16_000, "components": 2000, "exact_rows": 8000}
QUICK = {"rows": 1500, "components": 200, "exact_rows": 1500}
TITLES = {
    "mercer": "mercer",
    "nystroem": "sklearn Nystroem + Ridge",
    "exact": "sklearn KernelRidge",
}


def demo(
    out: Annotated[Path, typer.Option(help="The file to write the picture to.")] = Path(
        "mercer-demo.png"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few rows, for a few seconds.")
    ] = False,
) -> None:
    """Train a letter classifier on the bundled data and compare it with scikit-learn."""
    out = check_output(out, [], [".png", ".pdf", ".svg"])
    size = QUICK if quick else FULL
    console, progress = stdout(), stderr()
    progress.print(
        f"Letter recognition: {size['rows']:,} rows to train on, 4,000 to test on, 26 classes."
    )
    settings: dict[str, Any] = {"rows": size["rows"], "components": size["components"]}
    with tempfile.TemporaryDirectory(prefix="mercer-demo-") as folder:
        settings["model"] = str(Path(folder) / "letters.mercer")
        # Its own progress bar shows in this terminal.
        results = {"mercer": _run("mercer", settings)}
        settings |= {name: results["mercer"][name] for name in ("gamma", "alpha")}
        for name in ("nystroem", "exact"):
            rows = size["exact_rows"] if name == "exact" else size["rows"]
            with _status(progress, f"{TITLES[name]} on {rows:,} rows ..."):
                results[name] = _run(name, settings | {"rows": rows})

    summary = [(name, value) for name, value in results["mercer"]["summary"]]
    console.print(facts("What mercer chose", summary))
    most = ", ".join(f"{name} {share:.0%}" for name, share in results["mercer"]["importances"])
    console.print(f"The most important columns: {most}.")
    console.print(_comparison(results))
    console.print(
        "scikit-learn was given the metric, the bandwidth and the alpha that mercer chose; "
        "choosing them is part of mercer's time. Each method ran in its own process, and its "
        "peak memory is that of the whole process."
    )
    if results["exact"]["rows"] < size["rows"]:
        console.print(
            f"KernelRidge was fitted to the first {results['exact']['rows']:,} rows only: its time "
            f"grows with the cube of the rows, its memory with the square."
        )
    draw(results, size["components"], out)
    console.print(f"Picture written to {out}", soft_wrap=True)


def _run(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Run one method in a fresh process and return its result."""
    command = [sys.executable, "-W", "ignore", "-m", "mercer.cli.demo_method"]
    done = subprocess.run(
        [*command, name, json.dumps(settings)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise OSError(
            f"{TITLES[name]} ended with exit code {done.returncode} (a negative code is a "
            f"signal, often for lack of memory): try mercer demo --quick"
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _status(console: Console, text: str) -> Any:
    """Return a context with a spinner in a terminal, and a plain line elsewhere."""
    if not console.is_terminal:
        console.print(text)
    return console.status(text)


def _comparison(results: dict[str, dict[str, Any]]) -> Any:
    header = ("method", "rows", "accuracy", "fit", "predict", "memory")
    return columns(
        "Test accuracy, and what it took",
        header,
        (
            (
                TITLES[name],
                f"{result['rows']:,}",
                f"{100 * result['accuracy']:.2f} %",
                f"{result['fit_seconds']:.2f} s",
                f"{result['predict_seconds']:.2f} s",
                peak_text(result["peak_bytes"]),
            )
            for name, result in results.items()
        ),
    )


COLORS = {"mercer": BLUE, "nystroem": ORANGE, "exact": PURPLE}
LINES = "#d5dbe1"
TICKS = (1, 1.5, 2, 3, 5, 7)


def draw(results: dict[str, dict[str, Any]], components: int, out: Path) -> None:
    """Draw the results of the demo and write the picture to a file."""
    with styled() as Figure:
        figure = Figure(figsize=(16, 5.4), facecolor="white")
        figure.set_layout_engine("constrained", w_pad=0.15, wspace=0.04)
        cells = figure.add_gridspec(1, 3, width_ratios=[1.2, 1, 1.05])
        _draw_cost(figure, cells[0], results)
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


def _draw_cost(figure: Figure, cell: SubplotSpec, results: dict[str, dict[str, Any]]) -> None:
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
    labels = [f"{TITLES[name]}\n{results[name]['rows']:,} rows" for name in names]
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


def _draw_path(axes: Axes, result: dict[str, Any]) -> None:
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
    axes.grid(color=LINES, linewidth=0.8)
    axes.set_axisbelow(True)


def _tick(value: float, position: float) -> str:
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


def _draw_letters(axes: Axes, result: dict[str, Any]) -> None:
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
    axes.grid(which="minor", color=LINES, linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true letter")
    total = int(confusion.sum() - np.trace(confusion))
    axes.set_title(f"The most confused letters ({total} mistakes in all)", loc="left")


def _square(at: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((at - 0.5, at - 0.5), 1, 1, facecolor="#eef1f4", edgecolor="none")
