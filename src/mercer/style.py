"""What the displays share: colors, axes and legends. matplotlib is imported when a plot is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import matplotlib.axes
    from matplotlib.figure import Figure

#: matplotlib is imported when a plot is made, so that this is text until then.
Axes: TypeAlias = "matplotlib.axes.Axes"

BLUE, PURPLE, ORANGE, GRAY = "#0b6e99", "#8a5aab", "#d9822b", "#7b8794"
GREEN, PINK = "#2f8f5b", "#c2527f"
INK, FAINT, EDGE = "#22313f", "#e4e8ec", "#9aa5b1"
#: Of the pictures of commands, which are drawn as a whole.
PICTURE_STYLE: Any = {
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": EDGE,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
LEGEND: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.3}
LEGEND |= {"columnspacing": 1.2, "handlelength": 1.8, "frameon": False, "fontsize": "small"}
#: Inches of axes that hold four entries of a legend in one line.
ROOM = 4.5
#: If errors differ by more than this factor, the axis is logarithmic.
WIDE = 30.0
#: Names of columns are shortened to this many characters.
LETTERS = 24


def pyplot() -> ModuleType:
    """Return ``matplotlib.pyplot``; raise ImportError that says what to install."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(
            "plotting requires matplotlib, which is not installed: try "
            "pip install mercer[cli], or pip install matplotlib"
        ) from error
    return matplotlib.pyplot


@contextmanager
def styled() -> Iterator[type[Figure]]:
    """Yield matplotlib's Figure class, with the style of all pictures of commands."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing the picture needs matplotlib: pip install mercer[cli]"
        ) from error
    with rc_context(PICTURE_STYLE):
        yield Figure


def new_axes(width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the axes of a new figure."""
    axes: Axes = pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    return axes


def inches(axes: Any) -> float:
    """Return the width of axes."""
    return float(axes.figure.get_figwidth() * axes.get_position().width)


def dress(*axes: Axes, hidden: Iterable[str] = ("top", "right")) -> None:
    """Draw thin gray spines, without some of them."""
    for one in axes:
        for name, spine in one.spines.items():
            spine.set_edgecolor(EDGE)
            spine.set_visible(name not in hidden)


def grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw faint lines below the data."""
    axes.grid(color=FAINT, linewidth=0.8, axis=axis)
    axes.set_axisbelow(True)


def finish(
    axes: Axes,
    xlabel: str,
    ylabel: str,
    name: str | None = None,
    lines: Literal["both", "x", "y"] = "both",
) -> None:
    """Name the axes and the plot, and draw faint lines and thin spines."""
    axes.set(xlabel=xlabel, ylabel=ylabel)
    grid(axes, axis=lines)
    dress(axes)
    if name is not None:
        axes.set_title(name, loc="left")


def finish_curve(
    axes: Axes, sizes: Iterable[float], xlabel: str, ylabel: str, name: str | None
) -> None:
    """Finish the plot of a falling error against sizes, which a logarithmic axis shows."""
    axes.set_xscale("log")
    at = list(sizes)
    axes.set_xticks(at, [f"{size:,.0f}" for size in at])
    axes.minorticks_off()
    finish(axes, xlabel, ylabel, name)
    axes.legend(loc="upper right", frameon=False, fontsize="small")  # where the curve is not


def is_wide(axes: Axes) -> bool:
    """Return whether positive curves differ so much that their axis should be logarithmic."""
    shown = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    return bool(shown.min(initial=np.inf) > 0 and shown.max() > WIDE * shown.min())


def legend_above(axes: Axes, entries: dict[str, Any], name: str | None, room: float = ROOM) -> None:
    """Put a legend and a title above axes; four entries to a line if these are wider than room."""
    per_line = 4 if inches(axes) > room else 2
    lines = -(-min(len(entries), 8) // per_line)
    if name is not None:
        axes.set_title(name, loc="left", pad=8 + 14 * lines)
    axes.legend(entries.values(), entries.keys(), ncols=per_line, **LEGEND)


def short_name(name: str) -> str:
    """Return a name with an ellipsis in its middle if it is long: names often differ at the end."""
    if len(name) <= LETTERS:
        return name
    half = LETTERS // 2
    return name[: half - 1] + "\u2026" + name[-half:]
