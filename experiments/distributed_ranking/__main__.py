"""Run everything: ``python -m experiments.distributed_ranking``, or a part of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from experiments.distributed_ranking import figures, parts, simulated
from experiments.distributed_ranking.measured import Measured
from experiments.distributed_ranking.parts import FULL, SMALL, Chosen, Size
from experiments.distributed_ranking.tables import Results, markdown
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment

PARTS = {
    "figure1": parts.figure1,
    "figure2": parts.figure2,
    "figure2_tuned": parts.figure2_tuned,
    "rounds": parts.rounds,
    "movielens": partial(parts.real, "movielens"),
    "jester": partial(parts.real, "jester"),
    "table4": parts.table4,
    "function_rounds": parts.function_rounds,
}


def read(folder: Path, size: Size) -> Results:
    """Return what each part has kept, and the least errors on the simulated test rows."""
    return Results(
        {part: from_csv(folder / f"{part}.csv", Measured) for part in (*PARTS, "jester_scaled")},
        {part: from_csv(folder / f"{part}_chosen.csv", Chosen) for part in PARTS},
        {
            f"q = {q}": simulated.least_of_draws(size.repeats, q, size.rows)
            for q in (simulated.COLUMNS, simulated.FEW_COLUMNS)
        },
    )


EXPERIMENT = Experiment(
    __file__,
    {name: parts.kept(run) for name, run in PARTS.items()} | {"jester_scaled": parts.jester_scaled},
    read,
    {
        "results.md": markdown,
        "figure1.png": figures.draw_figure1,
        "figure2.png": figures.draw_figure2,
        "rounds.png": figures.draw_rounds,
    },
    FULL,
    SMALL,
)

if __name__ == "__main__":
    EXPERIMENT.main()
