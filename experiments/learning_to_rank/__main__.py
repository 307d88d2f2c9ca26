"""Run everything: ``python -m experiments.learning_to_rank``."""

from __future__ import annotations

from experiments.learning_to_rank.figures import draw
from experiments.learning_to_rank.tables import markdown, results_csv
from experiments.learning_to_rank.trials import FOLDS, FULL, SMALL, read, run
from experiments.scaffold.runner import Experiment

EXPERIMENT = Experiment(
    __file__,
    dict.fromkeys(FOLDS, run),
    read,
    {"results.md": markdown, "results.csv": results_csv, "ndcg.png": draw},
    FULL,
    SMALL,
)

if __name__ == "__main__":
    EXPERIMENT.main()
