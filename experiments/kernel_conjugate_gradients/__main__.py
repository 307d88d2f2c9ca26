"""Run everything: ``python -m experiments.kernel_conjugate_gradients``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from experiments.kernel_conjugate_gradients.figures import draw_sizes, draw_steps
from experiments.kernel_conjugate_gradients.tables import markdown, sizes_csv, steps_csv
from experiments.kernel_conjugate_gradients.trials import TRIALS, Results, run

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run all trials, and write tables and figures beside this file, or elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=HERE, help="where tables and figures go")
    asked = parser.parse_args()
    start = time.perf_counter()
    in_terminal = sys.stdout.isatty()

    def progress(n: int, done: int) -> None:
        last = done == asked.trials
        if in_terminal or last:
            seconds = time.perf_counter() - start
            text = f"n = {n:4}: {done} of {asked.trials} trials, {seconds:.0f} s"
            print(f"\r{text}" if in_terminal else text, end="\n" if last else "", flush=True)

    write(run(trials=asked.trials, progress=progress), asked.out)


def write(results: Results, folder: Path) -> None:
    """Write ``results.md``, two tables as CSV, and two figures."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"results.md": markdown, "steps.csv": steps_csv, "sizes.csv": sizes_csv}
    for name, make in tables.items():
        (folder / name).write_text(make(results), encoding="utf-8")
    draw_steps(results, folder / "figure1.png")
    draw_sizes(results, folder / "figure2.png")
    print(f"wrote {', '.join([*tables, 'figure1.png', 'figure2.png'])} to {folder}")


if __name__ == "__main__":
    main()
