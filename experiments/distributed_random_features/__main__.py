"""Run everything: ``python -m experiments.distributed_random_features``, or a part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.distributed_random_features import as_stored, by_shards, figures, real, simulated
from experiments.distributed_random_features.as_stored import STORED
from experiments.distributed_random_features.by_shards import BY_SHARDS
from experiments.distributed_random_features.kernel import HARMONICS
from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import PROBLEMS, Problem
from experiments.distributed_random_features.real import EXACT, SETS, RealSet
from experiments.distributed_random_features.tables import markdown
from experiments.scaffold import Array
from experiments.scaffold.records import columns_csv, columns_from_csv, from_csv, select
from experiments.scaffold.runner import Experiment, Job, Kept, Maker, whole_part
from experiments.scaffold.stored import Curve

PARTS: dict[str, Callable[[Job], Kept]] = {
    "fits": lambda job: {"fits.csv": columns_csv(simulated.fits())},
    **dict.fromkeys(PROBLEMS, simulated.run),
    "series": simulated.run_series,
    "constants": whole_part(simulated.run_constants),
}
for _name in SETS:
    PARTS |= {
        _name: real.run,
        _name + EXACT: real.run_exact,
        _name + BY_SHARDS: by_shards.run,
        _name + STORED: as_stored.run,
    }
#: What the authors have stored: facts, whose source the tables name.
AUTHORS = Path(__file__).with_name("authors.csv")


@dataclass(frozen=True)
class Results:
    """What is kept: the curves of figure 5, what other parts have measured, the authors' curves."""

    fits: dict[str, Array]
    parts: dict[str, list[Measured]]
    authors: list[Curve]


def read(folder: Path, size: Any) -> Results:
    """Return what each part has measured."""
    parts = {part: from_csv(folder / f"{part}.csv", Measured) for part in PARTS if part != "fits"}
    return Results(columns_from_csv(folder / "fits.csv"), parts, from_csv(AUTHORS, Curve))


def of_problem(problem: Problem) -> Maker:
    """Return what draws a simulated problem."""

    def draw(results: Results) -> Figure | None:
        found, series = results.parts[problem.name], results.parts["series"]
        others = series if problem.harmonics != HARMONICS else []
        return figures.draw_problem(found, problem, others) if found else None

    return draw


def of_set(chosen: RealSet) -> Maker:
    """Return what draws a real set."""

    def draw(results: Results) -> Figure | None:
        kinds = ("", EXACT, BY_SHARDS, STORED)
        found, exact, by_m, stored = (results.parts[chosen.name + kind] for kind in kinds)
        if not (found or by_m or stored):
            return None
        curves = select(results.authors, name=chosen.name)
        return figures.draw_real([*found, *exact], by_m, stored, curves, chosen)

    return draw


EXPERIMENT = Experiment(
    __file__,
    PARTS,
    read,
    {
        "results.md": lambda results: markdown(results.parts, results.authors),
        "figure5.png": lambda found: figures.draw_fits(found.fits) if found.fits else None,
        **{f"figure{one.figure}.png": of_problem(one) for one in PROBLEMS.values()},
        **{f"figure{one.figure}.png": of_set(one) for one in SETS.values()},
    },
    real.FULL,
    real.SMALL,
)

if __name__ == "__main__":
    EXPERIMENT.main()
