"""All defaults on raw columns: mercer against boosted trees and a search over kernels.

``python -m benchmarks tables`` measures what has no record yet, so that an interrupted run goes on,
and writes the tables of all records and a picture. ``--again mercer`` measures mercer anew and
keeps its peers (the search over kernels has a time: that of the mercer it was measured with);
``--draw`` only writes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.scaffold.json_lines import append_line, rewrite_lines
from experiments.scaffold.runner import Progress
from experiments.scaffold.timing import ChildError

from benchmarks import table_figures, table_report
from benchmarks.peers import DEFAULT, METHODS
from benchmarks.table_fit import ALL_METHODS, Record, measure, read
from benchmarks.table_sets import SETS, SMALL, TableSet

RECORDS = Path(__file__).with_name("tables.jsonl")
FIGURES = Path(__file__).with_name("figures")
#: Sets of the picture of error against time.
PICTURED = ("california_housing", "kin40k", "letter", "covtype")


@dataclass(frozen=True)
class Asked:
    """What a run measures: sets, methods, the first so many splits; nothing named means all.

    Records of the methods in ``again`` are dropped first, for those sets and splits. ``draw``
    measures nothing.
    """

    only: Sequence[str] = ()
    methods: Sequence[str] = ()
    splits: int | None = None
    again: Sequence[str] = ()
    small: bool = False
    draw: bool = False

    @property
    def sets(self) -> dict[str, TableSet]:
        """Sets by their names, in the order they are measured."""
        return {name: self.known[name] for name in self.known if name in (self.only or self.known)}

    @property
    def known(self) -> dict[str, TableSet]:
        """All sets that could be asked for."""
        return SMALL if self.small else SETS

    @property
    def keys(self) -> Iterator[tuple[str, int, str]]:
        """Sets, splits and methods, split by split, so that times can be compared."""
        for split in range(max(table.splits for table in self.sets.values())):
            for name, table in self.sets.items():
                if split >= min(table.splits, self.splits or table.splits):
                    continue
                for method, does in ALL_METHODS.items():
                    pictured = name in PICTURED and split == 0
                    if (
                        table.kind in does.kinds
                        and (method in METHODS or pictured)
                        and method in (self.methods or ALL_METHODS)
                    ):
                        yield name, split, method


def run(asked: Asked) -> list[object]:
    """Measure what is missing; return the section made of all records."""
    if asked.small:
        with tempfile.TemporaryDirectory() as folder:
            return run_in(Path(folder) / RECORDS.name, Path(folder) / FIGURES.name, asked)
    return run_in(RECORDS, FIGURES, asked)


def run_in(path: Path, figures: Path, asked: Asked) -> list[object]:
    """Measure with records in a file and pictures in a folder."""
    if not asked.draw:
        forget(path, asked)
        measure_missing(path, asked)
    records = list(read(path).values())
    figures.mkdir(exist_ok=True)
    drawn = table_figures.draw(records, figures, tuple(SMALL) if asked.small else PICTURED)
    return table_report.section(records, asked.known, drawn)


def forget(path: Path, asked: Asked) -> None:
    """Drop the records that are asked for again."""
    if not asked.again:
        return
    dropped = {key for key in asked.keys if key[2] in asked.again}
    kept = read(path)
    rewrite_lines(path, (record for key, record in kept.items() if key not in dropped))


def measure_missing(path: Path, asked: Asked, progress: Progress | None = None) -> None:
    """Measure what has no record; say what cannot be measured, and go on."""
    progress = progress or Progress()
    absent = [m for m in METHODS if not METHODS[m].installed]
    for method in absent:
        progress(f"{method}: not installed")
    for name, split, method in asked.keys:
        known = read(path)  # anew: another run may add records
        if (name, split, method) in known or method in absent:
            continue
        default = known.get((name, split, DEFAULT))
        if ALL_METHODS[method].timed and default is None:
            progress(f"{name}, split {split}, {method}: waits for the time of {DEFAULT}")
            continue
        try:
            record = measure(name, split, method, default.fit if default else None)
        except ChildError as error:
            progress(f"{name}, split {split}, {method}: {error}")
            continue
        append_line(path, record)
        progress(told(record))


def told(record: Record) -> str:
    """Return a record as a line."""
    return (
        f"{record.name}, split {record.split}, {record.method}: {record.error:.4g}, "
        f"fit {record.fit:.1f} s, predict {record.predict:.2f} s"
    )
