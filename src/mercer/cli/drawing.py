"""What pictures share: matplotlib, if it is installed, and a style."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.storage import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Extensions of picture files.
PICTURES = (".png", ".svg", ".pdf")
INK, FAINT = "#22313f", "#d5dbe1"
STYLE: Any = {
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9aa5b1",
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def styled() -> Iterator[Any]:
    """Yield matplotlib's Figure class, with the style of all pictures here."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing the picture needs matplotlib: pip install mercer[cli]"
        ) from error
    with rc_context(STYLE):
        yield Figure


def save_figure(figure: Figure, out: Path) -> None:
    """Write a figure by the extension of its file, whole or not at all."""
    with atomic_path(out) as partial:
        figure.savefig(partial, format=out.suffix[1:].lower(), dpi=140)
