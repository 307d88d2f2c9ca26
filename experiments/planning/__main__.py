"""Run everything: ``python -m experiments.planning``."""

from __future__ import annotations

from pathlib import Path

from experiments.planning.figures import draw
from experiments.planning.tables import markdown
from experiments.planning.trials import FULL, SMALL, Fitted, Problem, Size, run
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment


def read(folder: Path, size: Size) -> tuple[list[Fitted], list[Problem]] | None:
    """Return what was kept, to six digits."""
    fits = from_csv(folder / "fits.csv", Fitted)
    return (fits, from_csv(folder / "problems.csv", Problem)) if fits else None


EXPERIMENT = Experiment(
    __file__, {"fits": run}, read, {"results.md": markdown, "planned.png": draw}, FULL, SMALL
)

if __name__ == "__main__":
    EXPERIMENT.main()
