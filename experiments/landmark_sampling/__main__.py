"""Run everything: ``python -m experiments.landmark_sampling``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from experiments.landmark_sampling.figures import draw_errors, draw_gains, draw_traces
from experiments.landmark_sampling.tables import fits_csv, markdown, read, uneven_csv
from experiments.landmark_sampling.trials import SEEDS, Results, run

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run all fits, and write tables and figures beside this file, or elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="splits; default: %(default)s")
    parser.add_argument("--out", type=Path, default=HERE, help="where tables and figures go")
    parser.add_argument("--redraw", action="store_true", help="take the fits that are there")
    asked = parser.parse_args()
    start = time.perf_counter()

    def progress(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True)

    if asked.redraw:
        write(read(asked.out), asked.out)
    else:
        write(run(seeds=asked.seeds, progress=progress), asked.out)


def write(results: Results, folder: Path) -> None:
    """Write ``results.md``, four tables as CSV, and three figures."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "fits.csv": fits_csv(results.found),
        "loo.csv": fits_csv(results.loo),
        "many.csv": fits_csv(results.many),
        "uneven.csv": uneven_csv(results.uneven),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    # From what was written, so that drawing again changes nothing.
    kept = read(folder)
    (folder / "results.md").write_text(markdown(kept), encoding="utf-8")
    figures = {"errors.png": draw_errors, "trace.png": draw_traces, "gain.png": draw_gains}
    for name, draw in figures.items():
        draw(kept, folder / name)
    print(f"wrote {', '.join(['results.md', *texts, *figures])} to {folder}")


if __name__ == "__main__":
    main()
