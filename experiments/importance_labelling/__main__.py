"""Run everything: ``python -m experiments.importance_labelling``, or a part of it."""

from __future__ import annotations

from pathlib import Path

from experiments.importance_labelling import budget_figure, budgets, descent, figures, plane, trials
from experiments.importance_labelling.measured import Budgeted, Descent, Estimate, Point, Trial
from experiments.importance_labelling.problems import SETS
from experiments.importance_labelling.summary import Results
from experiments.importance_labelling.tables import markdown
from experiments.importance_labelling.trials import FULL, SMALL, Size
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment, whole_part


def read(folder: Path, size: Size) -> Results:
    """Return what each part has kept."""
    return Results(
        from_csv(folder / "figure1.csv", Point),
        from_csv(folder / "figure2.csv", Estimate),
        {name: from_csv(folder / f"{name}.csv", Trial) for name in SETS},
        from_csv(folder / "descent.csv", Descent),
        from_csv(folder / "budgets.csv", Budgeted),
    )


EXPERIMENT = Experiment(
    __file__,
    {
        "figure1": lambda job: plane.figure1(job.size),
        "figure2": lambda job: plane.figure2(job.size),
        **dict.fromkeys(SETS, trials.run),
        "descent": whole_part(descent.run),
        "budgets": budgets.run,
    },
    read,
    {
        "results.md": markdown,
        "figure1.png": figures.draw_figure1,
        "figure2.png": figures.draw_figure2,
        "figure3.png": figures.draw_figure3,
        "figure4.png": budget_figure.draw_figure4,
    },
    FULL,
    SMALL,
    goes_on=frozenset({*SETS, "budgets"}),
)

if __name__ == "__main__":
    EXPERIMENT.main()
