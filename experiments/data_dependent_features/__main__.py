"""Run everything: ``python -m experiments.data_dependent_features``, or a part of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.data_dependent_features import eeg, made_up, parts
from experiments.data_dependent_features.figures import (
    draw_features,
    draw_made_up,
    draw_partitions,
    draw_unlabeled,
)
from experiments.data_dependent_features.measured import Excess, Measured, as_csv, from_csv
from experiments.data_dependent_features.tables import markdown

HERE = Path(__file__).resolve().parent
#: On EEG eye state. Every part has a file of its name, so that others need not be run again.
ON_EEG: dict[str, Callable[..., list[Measured]]] = {
    "features": parts.run_features,
    "unlabeled": parts.run_unlabeled,
    "partitions": parts.run_partitions,
    "penalties": parts.run_penalties,
}
MADE_UP = "made_up"
PARTS = (*ON_EEG, MADE_UP)
DRAWN: dict[str, tuple[Callable[..., None], str]] = {
    "features": (draw_features, "figure9.png"),
    "unlabeled": (draw_unlabeled, "figure10.png"),
    "partitions": (draw_partitions, "figure11.png"),
    MADE_UP: (draw_made_up, "made_up.png"),
}


def main() -> None:
    """Run the parts that are asked for, and write tables and figures of all that have a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    parser.add_argument("--draw", action="store_true", help="only tables and figures, no runs")
    parser.add_argument("--out", type=Path, default=HERE, help="where tables and figures go")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()

    def progress(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True)

    for part in () if asked.draw else asked.part:
        run(part, asked.out / f"{part}.csv", progress)
    write(asked.out)


def run(part: str, file: Path, progress: eeg.Progress, **settings: Any) -> None:
    """Run one part and write its table, or say that its data are not at hand."""
    found: list[Measured] | list[Excess]
    if part == MADE_UP:
        found = made_up.run(progress=progress, **settings)
    else:
        try:
            X, y = eeg.load()
        except (OSError, ValueError) as error:
            progress(f"{part}: skipped, as EEG eye state is not at hand: {error}")
            return
        found = ON_EEG[part](X, y, progress=progress, **settings)
    file.write_text(as_csv(found), encoding="utf-8")


def write(folder: Path) -> None:
    """Write ``results.md`` and the figures from the files of the parts."""
    found = {
        part: from_csv(folder / f"{part}.csv", Excess if part == MADE_UP else Measured)
        for part in PARTS
    }
    (folder / "results.md").write_text(markdown(found), encoding="utf-8")
    written = ["results.md"]
    for part, (draw, name) in DRAWN.items():
        if found[part]:
            draw(found[part], folder / name)
            written.append(name)
    print(f"wrote {', '.join(written)} to {folder}")


if __name__ == "__main__":
    main()
