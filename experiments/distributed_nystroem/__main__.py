"""Run everything: ``python -m experiments.distributed_nystroem``."""

from __future__ import annotations

from pathlib import Path

from experiments.distributed_nystroem import figures
from experiments.distributed_nystroem.problems import FULL, PROBLEMS, SMALL, Size
from experiments.distributed_nystroem.summary import Study
from experiments.distributed_nystroem.tables import crossings_csv, markdown
from experiments.distributed_nystroem.trials import Trial, as_results, run
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment
from experiments.scaffold.stored import Curve

#: What the authors have stored: facts, whose source the tables name.
AUTHORS = Path(__file__).with_name("authors.csv")


def read(folder: Path, size: Size) -> Study | None:
    """Return the sets that have a file."""
    kept = {name: from_csv(folder / f"{name}.csv", Trial) for name in size.problems}
    results = {name: as_results(trials) for name, trials in kept.items() if trials}
    problems = {name: size.problems[name] for name in results}
    return Study(problems, results, from_csv(AUTHORS, Curve)) if results else None


EXPERIMENT = Experiment(
    __file__,
    dict.fromkeys(PROBLEMS, run),
    read,
    {
        "results.md": markdown,
        "crossings.csv": crossings_csv,
        "figure1.png": figures.draw_rows,
        "figure5.png": figures.draw_partitions,
        "figure6.png": figures.draw_centers,
    },
    FULL,
    SMALL,
    goes_on=frozenset(PROBLEMS),
)

if __name__ == "__main__":
    EXPERIMENT.main()
