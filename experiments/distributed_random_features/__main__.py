"""Run everything: ``python -m experiments.distributed_random_features``, or a part of it."""

from __future__ import annotations

import argparse
import csv
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from experiments.distributed_random_features import real, simulated
from experiments.distributed_random_features.figures import draw_fits, draw_problem, draw_real
from experiments.distributed_random_features.measured import Measured, as_csv, from_csv
from experiments.distributed_random_features.problems import PROBLEMS
from experiments.distributed_random_features.tables import markdown
from mercer.contracts import Array

HERE = Path(__file__).resolve().parent
#: Every part has a file of its name, so that others need not be run again.
PARTS = (
    "fits",
    *PROBLEMS,
    "constants",
    *(name + kind for name in real.SETS for kind in ("", "_exact")),
)


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


def run(part: str, file: Path, progress: Callable[[str], None]) -> None:
    """Run one part and write its table, or say that its data are not at hand."""

    def keep(found: Sequence[Measured]) -> None:
        file.write_text(as_csv(found), encoding="utf-8")

    if part == "fits":
        file.write_text(_columns_csv(simulated.fits()), encoding="utf-8")
    elif part in PROBLEMS:
        keep(simulated.run(problems=[part], progress=progress))
    elif part == "constants":
        keep(simulated.run_constants(progress=progress))
    else:
        chosen = real.SETS[part.removesuffix("_exact")]
        try:
            X, y = real.load(chosen)
        except (OSError, ValueError) as error:
            progress(f"{part}: skipped, as its data are not at hand: {error}")
            return
        measure = real.run_exact if part.endswith("_exact") else real.run
        measure(chosen, X, y, progress=progress, keep=keep)  # a long one is written as it goes


def write(folder: Path) -> None:
    """Write ``results.md`` and the figures from the files of the parts."""
    parts = {part: from_csv(folder / f"{part}.csv") for part in PARTS if part != "fits"}
    (folder / "results.md").write_text(markdown(parts), encoding="utf-8")
    written = ["results.md"]

    def place(number: int) -> Path:
        written.append(f"figure{number}.png")
        return folder / written[-1]

    if (folder / "fits.csv").is_file():
        draw_fits(_read_columns(folder / "fits.csv"), place(5))
    for problem in PROBLEMS.values():
        if parts[problem.name]:
            draw_problem(parts[problem.name], problem, place(problem.figure))
    for name, chosen in real.SETS.items():
        if parts[name]:
            draw_real([*parts[name], *parts[f"{name}_exact"]], chosen, place(chosen.figure))
    print(f"wrote {', '.join(written)} to {folder}")


def _columns_csv(columns: dict[str, Array]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{v:.6g}" for v in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()


def _read_columns(path: Path) -> dict[str, Array]:
    with path.open(encoding="utf-8", newline="") as lines:
        names, *rows = csv.reader(lines)
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


if __name__ == "__main__":
    main()
