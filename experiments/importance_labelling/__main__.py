"""Run everything: ``python -m experiments.importance_labelling``, or a part of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.importance_labelling import descent, plane, splits, trials
from experiments.importance_labelling.figures import draw_figure1, draw_figure2, draw_figure3
from experiments.importance_labelling.measured import (
    Descent,
    Estimate,
    Point,
    Progress,
    Split,
    Trial,
    as_csv,
    from_csv,
)
from experiments.importance_labelling.problems import SETS, AbsentError
from experiments.importance_labelling.summary import Results
from experiments.importance_labelling.tables import markdown
from experiments.importance_labelling.trials import FULL, Size

HERE = Path(__file__).resolve().parent
#: Every part has a file of its name, so that others need not be run again.
PARTS: dict[str, Callable[[Size, Progress], list]] = {
    "figure1": lambda size, progress: plane.figure1(),
    "figure2": lambda size, progress: plane.figure2(),
    "mnist": partial(trials.run, "mnist"),
    "fashion_mnist": partial(trials.run, "fashion_mnist"),
    "splits": lambda size, progress: splits.run(progress, size),
    "descent": lambda size, progress: descent.run(progress, size),
}


def main() -> None:
    """Run the parts that are asked for, and write tables and figures of all that have a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="default all")
    parser.add_argument("--repeats", type=int, default=FULL.repeats, help="of figure 3")
    parser.add_argument("--draw", action="store_true", help="only tables and figures, no runs")
    parser.add_argument("--out", type=Path, default=HERE, help="where tables and figures go")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()

    def progress(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True)

    for part in () if asked.draw else asked.part:
        run(part, asked.out, replace(FULL, repeats=asked.repeats), progress)
    write(asked.out)


def run(part: str, folder: Path, size: Size, progress: Progress) -> None:
    """Run one part and write its file, or say that its data are not at hand."""
    try:
        found = PARTS[part](size, progress)
    except AbsentError as error:
        progress(f"{part}: skipped, as its data are not at hand: {error}")
        return
    (folder / f"{part}.csv").write_text(as_csv(found), encoding="utf-8")
    progress(f"{part}: done")


def read(folder: Path) -> Results:
    """Read the files of all parts that have one."""
    return Results(
        from_csv(folder / "figure1.csv", Point),
        from_csv(folder / "figure2.csv", Estimate),
        {name: from_csv(folder / f"{name}.csv", Trial) for name in SETS},
        from_csv(folder / "splits.csv", Split),
        from_csv(folder / "descent.csv", Descent),
    )


def write(folder: Path) -> None:
    """Write ``results.md`` and the figures from the files of the parts."""
    results = read(folder)
    (folder / "results.md").write_text(markdown(results), encoding="utf-8")
    written = ["results.md"]
    if results.points:
        draw_figure1(results, folder / "figure1.png")
        written.append("figure1.png")
    if results.estimates:
        draw_figure2(results, folder / "figure2.png")
        written.append("figure2.png")
    if any(results.trials.values()):
        draw_figure3(results, folder / "figure3.png")
        written.append("figure3.png")
    print(f"wrote {', '.join(written)} to {folder}")


if __name__ == "__main__":
    main()
