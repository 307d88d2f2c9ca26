"""Run everything: ``python -m experiments.landmark_sampling``."""

from __future__ import annotations

from pathlib import Path

from experiments.landmark_sampling import figures, over_shards, trials
from experiments.landmark_sampling.over_shards import ScoredSet, ShardedFit
from experiments.landmark_sampling.over_shards_report import draw_shards
from experiments.landmark_sampling.tables import markdown
from experiments.landmark_sampling.trials import FULL, SMALL, Found, Results, Size
from experiments.landmark_sampling.unevenness import Unevenness
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment, whole_part


def read(folder: Path, size: Size) -> Results | None:
    """Return what was kept, to six digits."""
    found, loo, many = (from_csv(folder / f"{name}.csv", Found) for name in ("fits", "loo", "many"))
    uneven = from_csv(folder / "uneven.csv", Unevenness)
    shards = from_csv(folder / "shards.csv", ShardedFit)
    scored = from_csv(folder / "scored.csv", ScoredSet)
    return Results(found, loo, many, uneven, shards, scored) if found else None


EXPERIMENT = Experiment(
    __file__,
    {
        "fits": whole_part(trials.run),
        "many": whole_part(trials.run_many),
        "shards": lambda job: over_shards.run(job.size.shards, job.size.repeats, job.progress),
    },
    read,
    {
        "results.md": markdown,
        "errors.png": figures.draw_errors,
        "trace.png": figures.draw_traces,
        "gain.png": figures.draw_gains,
        "shards.png": lambda results: draw_shards(results.shards),
    },
    FULL,
    SMALL,
)

if __name__ == "__main__":
    EXPERIMENT.main()
