"""Run everything: ``python -m experiments.distributed_ranking``, or a part of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.distributed_ranking import parts, simulated
from experiments.distributed_ranking.figures import draw_figure1, draw_figure2, draw_rounds
from experiments.distributed_ranking.measured import Measured, Progress, as_csv, from_csv
from experiments.distributed_ranking.parts import FULL, TABLES, Chosen, Size
from experiments.distributed_ranking.ratings import AbsentError
from experiments.distributed_ranking.simulated import Least
from experiments.distributed_ranking.tables import markdown

HERE = Path(__file__).resolve().parent
#: Every part has a file of its name, so that others need not be run again.
PARTS: dict[str, Callable[[Size, Progress], tuple[list[Measured], list[Chosen]]]] = {
    "figure1": parts.figure1,
    "figure2": parts.figure2,
    "rounds": parts.rounds,
    "movielens": partial(parts.real, TABLES["movielens"]),
    "jester": partial(parts.real, TABLES["jester"]),
    "table4": parts.table4,
    "function_rounds": parts.function_rounds,
}


def main() -> None:
    """Run the parts that are asked for, and write tables and figures of all that have a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="default all")
    parser.add_argument("--repeats", type=int, default=FULL.repeats, help="draws of simulated rows")
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
    """Run one part and write its tables, or say that its data are not at hand."""
    try:
        found, chosen = PARTS[part](size, progress)
    except AbsentError as error:
        progress(f"{part}: skipped, as its data are not at hand: {error}")
        return
    if found:
        (folder / f"{part}.csv").write_text(as_csv(found), encoding="utf-8")
        (folder / f"{part}_chosen.csv").write_text(as_csv(chosen), encoding="utf-8")


def write(folder: Path) -> None:
    """Write ``results.md`` and the figures from the files of the parts."""
    found = {part: from_csv(folder / f"{part}.csv") for part in PARTS}
    chosen = {part: from_csv(folder / f"{part}_chosen.csv", Chosen) for part in PARTS}
    known = least()
    (folder / "results.md").write_text(markdown(found, chosen, known), encoding="utf-8")
    written = ["results.md"]
    if found["figure1"]:
        draw_figure1(found["figure1"], known["q = 7"], folder / "figure1.png")
        written.append("figure1.png")
    if found["figure2"]:
        draw_figure2(found["figure2"], folder / "figure2.png")
        written.append("figure2.png")
    if found["rounds"]:
        draw_rounds(found["rounds"], folder / "rounds.png")
        written.append("rounds.png")
    print(f"wrote {', '.join(written)} to {folder}")


def least() -> dict[str, Least]:
    """Return the least errors that any score can have on the simulated test rows."""
    columns = (simulated.COLUMNS, simulated.FEW_COLUMNS)
    return {f"q = {q}": simulated.least_of_draws(FULL.repeats, q) for q in columns}


if __name__ == "__main__":
    main()
