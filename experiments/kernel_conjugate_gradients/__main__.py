"""Run everything: ``python -m experiments.kernel_conjugate_gradients``."""

from __future__ import annotations

from experiments.kernel_conjugate_gradients import figures, tables
from experiments.kernel_conjugate_gradients.trials import FULL, SMALL, read, run
from experiments.scaffold.runner import Experiment

EXPERIMENT = Experiment(
    __file__,
    {"trials": run},
    read,
    {
        "results.md": tables.markdown,
        "steps.csv": tables.steps_csv,
        "sizes.csv": tables.sizes_csv,
        "figure1.png": figures.draw_steps,
        "figure2.png": figures.draw_sizes,
    },
    FULL,
    SMALL,
    goes_on=frozenset({"trials"}),
)

if __name__ == "__main__":
    EXPERIMENT.main()
