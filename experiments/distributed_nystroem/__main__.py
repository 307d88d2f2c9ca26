"""Run everything: ``python -m experiments.distributed_nystroem``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from experiments.distributed_nystroem import storage
from experiments.distributed_nystroem.figures import draw_centers, draw_partitions, draw_rows
from experiments.distributed_nystroem.problems import PROBLEMS, AbsentError, Problem, load
from experiments.distributed_nystroem.tables import crossings_csv, markdown
from experiments.distributed_nystroem.trials import Results, missing, run

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Make the trials that are not stored yet, and write tables and figures of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sets", nargs="*", metavar="set", help=f"{', '.join(PROBLEMS)}; default: all"
    )
    parser.add_argument("--repeats", type=int, help="default: 4, for larger sets fewer")
    parser.add_argument("--again", action="store_true", help="make stored trials again, too")
    parser.add_argument("--out", type=Path, default=HERE, help="where everything is written")
    asked = parser.parse_args()
    unknown = [name for name in asked.sets if name not in PROBLEMS]
    if unknown:
        parser.error(f"unknown set {unknown[0]!r}: choose from {', '.join(PROBLEMS)}")
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.sets or PROBLEMS:
        problem = PROBLEMS[name]
        repeats = problem.repeats if asked.repeats is None else asked.repeats
        measure(problem, repeats, asked.out / f"{name}.csv", asked.again)
    write({name: storage.read(asked.out / f"{name}.csv") for name in PROBLEMS}, asked.out)


def measure(problem: Problem, repeats: int, path: Path, again: bool = False) -> None:
    """Make the trials of one data set that its file lacks, and store each at once."""
    results = {} if again else storage.read(path)
    trials = missing(problem, repeats, results)
    if not trials:
        print(f"{problem.name}: all trials are in {path.name}")
        return
    try:
        data = load(problem)
    except AbsentError as error:
        print(f"{problem.name}: skipped, there are no data: {error}")
        return
    start, in_terminal = time.perf_counter(), sys.stdout.isatty()

    def progress(results: Results, done: int, total: int) -> None:
        storage.write(path, results)
        if in_terminal or done == total:
            seconds = time.perf_counter() - start
            text = f"{problem.name}: {done} of {total} trials, {seconds:.0f} s"
            end = "\n" if done == total else ""
            print(f"\r{text}" if in_terminal else text, end=end, flush=True)

    run(problem, data, trials, results, progress)


def write(found: dict[str, Results], folder: Path) -> None:
    """Write ``results.md``, the crossings as CSV, and three figures."""
    if not any(found.values()):
        print("there is nothing to write")
        return
    tables = {"results.md": markdown, "crossings.csv": crossings_csv}
    for name, make in tables.items():
        (folder / name).write_text(make(found), encoding="utf-8")
    written = [*tables, "figure5.png", "figure6.png"]
    draw_partitions(found, folder / "figure5.png")
    draw_centers(found, folder / "figure6.png")
    for name, problem in PROBLEMS.items():
        if problem.samples and found.get(name):
            draw_rows(problem, found[name], folder / "figure1.png")
            written.append("figure1.png")
    print(f"wrote {', '.join(written)} to {folder}")


if __name__ == "__main__":
    main()
