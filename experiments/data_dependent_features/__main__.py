"""Run everything: ``python -m experiments.data_dependent_features``, or a part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.data_dependent_features import (
    figures,
    parts,
    published,
    published_tables,
    readings,
)
from experiments.data_dependent_features.measured import Excess, Measured, Reading
from experiments.data_dependent_features.tables import markdown
from experiments.scaffold.records import from_csv
from experiments.scaffold.runner import Experiment, whole_part

PARTS = {
    "features": parts.features,
    "unlabeled": parts.unlabeled,
    "partitions": parts.partitions,
    "penalties": parts.penalties,
    "made_up": parts.noise,
}


def read(folder: Path, size: Any) -> dict[str, list[Any]]:
    """Return what each part has measured."""
    kinds = {"made_up": Excess, "readings": Reading, "published": Reading}
    return {
        part: from_csv(folder / f"{part}.csv", kinds.get(part, Measured))
        for part in ("published", "readings", *PARTS)
    }


EXPERIMENT = Experiment(
    __file__,
    {"published": published.run, "readings": readings.run}
    | {name: whole_part(part) for name, part in PARTS.items()},
    read,
    {
        "results.md": markdown,
        "figure9.png": figures.features,
        "figure10.png": figures.unlabeled,
        "figure11.png": figures.partitions,
        "published.png": published_tables.draw,
        "made_up.png": figures.made_up,
    },
    parts.FULL,
    parts.SMALL,
)

if __name__ == "__main__":
    EXPERIMENT.main()
