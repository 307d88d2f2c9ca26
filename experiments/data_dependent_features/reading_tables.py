"""Figures 9 to 11 by what the paper's lambda and weights may mean, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.data_dependent_features.measured import Reading
from experiments.data_dependent_features.readings import (
    COMPONENTS,
    PARTITIONS,
    READINGS,
    UNLABELED,
    WAYS,
)
from experiments.scaffold.records import select, values
from experiments.scaffold.tables import Table


def readings(found: Sequence[Reading]) -> list[str]:
    """Return accuracies of all three figures."""
    about = (
        "The paper's equations (6), (7), (10) and (14) as they are printed, without an intercept; "
        f"{len(found[0].accuracies)} splits. Its lambda, 2^-4, may count against the mean of "
        "squares (alpha = 2^-4), against the sum of a shard (2^-4 m / n) or of all rows (2^-4 / "
        "n), where n counts the rows without labels, too; beside them alpha = 2^-10."
    )
    texts = [about, *components(found)]
    for method in WAYS:
        texts += unlabeled(found, method)
    for method in WAYS:
        texts += partitions(found, method)
    return texts


def components(found: Sequence[Reading]) -> list[str]:
    """Return accuracies against M, one table for each reading."""
    texts = []
    for reading in READINGS:
        rows = select(found, figure=COMPONENTS, reading=reading)
        shards = values(rows, "shards")
        table = Table(["M", *(f"{method}, m = {m}" for m in shards for method in WAYS)])
        for M in values(rows, "components"):
            cells = [
                _accuracy(select(rows, components=M, shards=m, method=method)[0])
                for m in shards
                for method in WAYS
            ]
            table.add([str(M), *cells])
        texts += [f"Figure 9, accuracy, lambda against: {reading}.", str(table)]
    return texts


def unlabeled(found: Sequence[Reading], method: str) -> list[str]:
    """Return accuracies against the rows without labels, for features chosen in one way."""
    rows = select(found, figure=UNLABELED, method=method)
    table = Table(["rows without labels", *READINGS, *(f"change, {name}" for name in READINGS)])
    alone = [select(rows, unlabeled=0, reading=name)[0] for name in READINGS]
    for count in values(rows, "unlabeled"):
        cells = [select(rows, unlabeled=count, reading=name)[0] for name in READINGS]
        pairs = zip(cells, alone, strict=True)
        gains = [str(row.over(without)) if count else "-" for row, without in pairs]
        table.add([str(count), *map(_accuracy, cells), *gains])
    first = rows[0]
    text = (
        f"Figure 10, {method}, M = {first.components}, m = {first.shards}: accuracy by what lambda "
        "counts against, and what the rows without labels change: mean ± standard error, and in "
        "how many splits it is a gain."
    )
    return [text, str(table)]


def partitions(found: Sequence[Reading], method: str) -> list[str]:
    """Return accuracies of both methods against m, for features chosen in one way."""
    rows = select(found, figure=PARTITIONS, method=method)
    most = max(values(rows, "unlabeled"))
    table = Table(["m", *(f"{name}: supervised, semi-supervised" for name in READINGS)])
    for m in values(rows, "shards"):
        cells = []
        for name in READINGS:
            here = select(rows, shards=m, reading=name)
            (alone,), (more,) = (select(here, unlabeled=count) for count in (0, most))
            cells.append(f"{alone.accuracy:.3f}, {more.accuracy:.3f} ({more.over(alone)})")
        table.add([str(m), *cells])
    text = f"Figure 11, {method}, M = {rows[0].components}, {most} rows without labels."
    return [text, str(table)]


def _accuracy(row: Reading) -> str:
    return f"{row.accuracy:.3f} ± {row.accuracy_sd:.3f}"
