"""Run everything: ``python -m experiments.alpha_choice``."""

from __future__ import annotations

from pathlib import Path

from experiments.alpha_choice import cost, trials
from experiments.alpha_choice.cost import Cost
from experiments.alpha_choice.figures import draw
from experiments.alpha_choice.tables import markdown
from experiments.alpha_choice.trials import FULL, SMALL, Found, Size
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment, whole_part


def read(folder: Path, size: Size) -> tuple[list[Found], list[Cost]] | None:
    """Return what was kept, to six digits."""
    found = from_csv(folder / "fits.csv", Found)
    return (found, from_csv(folder / "cost.csv", Cost)) if found else None


EXPERIMENT = Experiment(
    __file__,
    {"fits": trials.run, "cost": whole_part(cost.run)},
    read,
    {"results.md": markdown, "ratios.png": draw},
    FULL,
    SMALL,
    goes_on=frozenset({"fits"}),
)

if __name__ == "__main__":
    EXPERIMENT.main()
