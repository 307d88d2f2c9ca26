"""Run everything: ``python -m experiments.learning_to_rank``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from experiments.learning_to_rank.data import load
from experiments.learning_to_rank.figures import draw
from experiments.learning_to_rank.tables import markdown, results_csv
from experiments.learning_to_rank.trials import Results, run

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run all folds, and write tables and the figure beside this file, or elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE, help="where tables and the figure go")
    asked = parser.parse_args()
    start = time.perf_counter()

    def progress(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True)

    write(run(load(), progress=progress), asked.out)


def write(results: Results, folder: Path) -> None:
    """Write ``results.md``, ``results.csv`` and ``ndcg.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.md").write_text(markdown(results), encoding="utf-8")
    (folder / "results.csv").write_text(results_csv(results), encoding="utf-8")
    draw(results, folder / "ndcg.png")
    print(f"wrote results.md, results.csv and ndcg.png to {folder}")


if __name__ == "__main__":
    main()
