"""Run everything: ``python -m experiments.uncertainty``, or parts of it by their names."""

from __future__ import annotations

from experiments.scaffold.runner import Experiment
from experiments.uncertainty.figures import (
    draw_coverage,
    draw_probabilities,
    draw_scores,
    draw_shifted,
)
from experiments.uncertainty.parts import PARTS
from experiments.uncertainty.problems import FULL, SMALL
from experiments.uncertainty.results import read
from experiments.uncertainty.tables import markdown

EXPERIMENT = Experiment(
    __file__,
    PARTS,
    read,
    {
        "results.md": markdown,
        "coverage.png": draw_coverage,
        "scores.png": draw_scores,
        "shifted.png": draw_shifted,
        "probabilities.png": draw_probabilities,
    },
    FULL,
    SMALL,
    goes_on=frozenset(PARTS),
)

if __name__ == "__main__":
    EXPERIMENT.main()
