"""The walk of a fit through the rooms of the library, from a trace of its calls."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import style

import mercer
from mercer import Gaussian, KernelRegressor, Landmarks

ROOT = Path(mercer.__file__).parent
#: What the modules that stand beside the rooms are called.
ALONE = "modules"
#: Rooms in the order in which they may be imported, the door first.
LAYERS = (
    "estimators",
    "opening",
    "targets",
    "columns",
    "rows",
    "search",
    "theory",
    "combine",
    "modules",
    "plan",
    "selection",
    "leaving_out",
    "inference",
    "solvers",
    "systems",
    "metric",
    "moments",
    "bases",
    "sampling",
    "kernels",
    "engines",
    "storage",
)


def walked() -> list[tuple[str, str]]:
    """Return the files that a fit enters, in this order, each with its room."""
    X = np.random.default_rng(0).random((300, 3))
    model = KernelRegressor(Gaussian(1.0), Landmarks(100), 1e-6, intervals=None)
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)):
            entered.setdefault(name)

    sys.setprofile(note)
    try:
        model.fit(X, X[:, 0])
    finally:
        sys.setprofile(None)
    paths = [Path(name).relative_to(ROOT) for name in entered]
    return [(path.parts[0] if len(path.parts) > 1 else ALONE, path.stem) for path in paths]


def main() -> None:
    """Draw a point for each file, in the column of its room, from the first to the last."""
    files = walked()
    order = list(dict.fromkeys(LAYERS))
    rooms = sorted({room for room, _ in files}, key=order.index)
    figure, ax = plt.subplots(figsize=(9.5, 0.135 * len(files) + 0.9), layout="constrained")
    places = [rooms.index(room) for room, _ in files]
    ax.plot(places, range(len(files)), color=style.LIGHT, linewidth=0.8, zorder=1)
    ax.plot(places, range(len(files)), "o", color=style.BLUE, markersize=3.5, zorder=2)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8}
    for number, ((_, name), place) in enumerate(zip(files, places, strict=True)):
        shown = "names" if name == "__init__" else name.replace("_", " ")
        ax.text(place + 0.18, number, shown, fontsize=6.5, va="center", bbox=box)
    ax.set_xticks(range(len(rooms)), rooms, fontsize=7.5, rotation=40, ha="left")
    ax.xaxis.tick_top()
    ax.set(xlim=(-0.4, len(rooms) + 0.6), ylim=(len(files) - 0.3, -0.7), yticks=[])
    for place in range(len(rooms)):
        ax.axvline(place, color=style.LIGHT, linewidth=0.3, zorder=0)
    for side in ("right", "bottom", "left"):
        ax.spines[side].set_visible(False)
    style.save(figure, "architecture")


if __name__ == "__main__":
    main()
