"""Error against time: mercer with more and more landmarks, its defaults, and its peers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.scaffold import figures
from experiments.scaffold.figures import BLUE, GRAY, GREEN, INK, ORANGE, PURPLE, SKY
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from benchmarks.peers import DEFAULT, SIZES
from benchmarks.table_fit import Record

NAME = "error_against_time.png"
#: Color and marker of each method that is a point.
POINTS = {
    DEFAULT: (BLUE, "*"),
    "mercer plain": (SKY, "X"),
    "CatBoost": (ORANGE, "o"),
    "XGBoost": (PURPLE, "s"),
    "LightGBM": (GREEN, "D"),
    "HistGradientBoosting": (INK, "^"),
    "kernel grid": (GRAY, "v"),
}


def draw(records: Sequence[Record], folder: Path, names: Sequence[str]) -> list[str]:
    """Draw a panel a set, of those that have records; return the path below the results."""
    shown = [name for name in names if any(r.name == name for r in records)]
    if not shown:
        return []
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    with rc_context(figures.STYLE):
        size = (5.2 * columns, 3.7 * rows)
        figure, axes = figures.panels(size, rows, columns, (0.06, 0.08), squeeze=False)
        for name, ax in zip(shown, axes.flat, strict=False):
            panel(ax, name, [r for r in records if r.name == name])
        for ax in axes.flat[len(shown) :]:
            ax.set_axis_off()
        handles: dict[str, object] = {}
        for ax in axes.flat:
            lines, labels = ax.get_legend_handles_labels()
            handles |= dict(zip(labels, lines, strict=True))
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=4, fontsize=9
        )
        figures.save(figure, folder / NAME)
    return [f"{folder.name}/{NAME}"]


def panel(ax: Axes, name: str, records: Sequence[Record]) -> None:
    """Draw the first split of a set: both axes are logarithmic."""
    first = {r.method: r for r in records if r.split == 0}
    ladder = [(first[m].fit, first[m].error, m) for m in SIZES if m in first]
    if ladder:
        seconds, errors, _ = zip(*ladder, strict=True)
        ax.plot(seconds, errors, "-o", color=BLUE, label="mercer, by landmarks", zorder=2)
        for x, y, method in ladder:
            ax.annotate(
                method.rsplit(" ", 1)[-1], (x, y), (3, 4), textcoords="offset points", fontsize=7
            )
    for method, (color, marker) in POINTS.items():
        if method in first:
            record = first[method]
            large = 13 if marker == "*" else 7
            ax.plot(
                record.fit,
                record.error,
                marker,
                color=color,
                markersize=large,
                label=method,
                zorder=3,
                linestyle="",
            )
    ax.set(xscale="log", yscale="log", title=name, xlabel="seconds to fit", ylabel="test error")
    figures.ticks(ax.xaxis, within(ax.get_xlim(), (1, 3)))
    figures.ticks(ax.yaxis, within(ax.get_ylim(), (1, 1.5, 2, 3, 4, 5, 6, 8)))


def within(limits: tuple[float, float], steps: Sequence[float]) -> list[float]:
    """Return the ticks between two limits of a logarithmic axis: these times powers of ten.

    Where fewer than two of these are within, evenly spaced ones.

    >>> within((0.5, 40), (1, 3)), within((0.44, 0.48), (1, 3))
    ([1.0, 3.0, 10.0, 30.0], [0.44, 0.45, 0.46, 0.47, 0.48])
    """
    low, high = limits
    powers = [step * 10.0**power for power in range(-5, 6) for step in steps]
    ticks = [tick for tick in powers if low <= tick <= high]
    if len(ticks) < 2:
        even = MaxNLocator(4).tick_values(low, high)
        ticks = [round(float(tick), 12) for tick in even if low <= tick <= high]
    return ticks
