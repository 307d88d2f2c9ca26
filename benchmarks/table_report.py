"""The section of tables made of records: errors, their ratios, times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from experiments.scaffold.records import deviation
from experiments.scaffold.tables import Table

from benchmarks.peers import DEFAULT, METHODS, PEERS, TREES
from benchmarks.table_fit import Record
from benchmarks.table_sets import CLASSIFICATION, RANKING, REGRESSION, TableSet

#: A ratio below counts as this one, so that no single set decides a mean.
LEAST = 0.5
BEST = "best of the trees"
PLAIN = "mercer plain"
NO_METRIC = "mercer, no metric"
MISSING = "-"
#: The geometric mean of the ratio to the best of the trees that is aimed at.
AIMS = {REGRESSION: 0.85, CLASSIFICATION: 0.95}
MEASURES = {REGRESSION: "RMSE", CLASSIFICATION: "share of wrong classes", RANKING: "NDCG@10"}


@dataclass(frozen=True)
class Found:
    """Records by set, method and split."""

    sets: Mapping[str, TableSet]
    records: Mapping[tuple[str, str], Mapping[int, Record]]

    @classmethod
    def of(cls, sets: Mapping[str, TableSet], records: Iterable[Record]) -> Found:
        """Sort records of these sets."""
        by: dict[tuple[str, str], dict[int, Record]] = {}
        for record in records:
            if record.name in sets:
                by.setdefault((record.name, record.method), {})[record.split] = record
        return cls(sets, by)

    def names(self, *kinds: str) -> list[str]:
        """Return the sets of some kinds that have records, in the order of their names."""
        known = {name for name, _ in self.records}
        return sorted(name for name in known if self.sets[name].kind in kinds)

    def methods(self, *kinds: str) -> list[str]:
        """Return the methods that have records for some kinds of sets."""
        known = {method for name, method in self.records if self.sets[name].kind in kinds}
        return [method for method in METHODS if method in known]

    def values(self, name: str, method: str, field: str = "error") -> list[float]:
        """Return a field of all splits."""
        found = self.records.get((name, method), {})
        return [getattr(found[split], field) for split in sorted(found)]

    def ratio(self, name: str, method: str, peer: str, field: str = "error") -> float | None:
        """Return the ratio of the means over the splits that both have; None if there is none."""
        if peer == BEST:
            ratios = [self.ratio(name, method, tree, field) for tree in TREES]
            return max((ratio for ratio in ratios if ratio is not None), default=None)
        one, other = (self.records.get((name, which), {}) for which in (method, peer))
        both = sorted(one.keys() & other.keys())
        if not both:
            return None
        above, below = (sum(getattr(m[split], field) for split in both) for m in (one, other))
        return float(above / below) if below else math.inf


def section(
    records: Sequence[Record], sets: Mapping[str, TableSet], pictures: Iterable[str] = ()
) -> list[object]:
    """Return paragraphs, tables and pictures."""
    found = Found.of(sets, records)
    parts: list[object] = [
        "Raw columns and all defaults, on the same random splits for every method: the mean over "
        "the splits, ± its standard error. Each fit is made in a process of its own, split after "
        "split and method after method, on all cores. `mercer plain` is the default before a "
        "metric was learned (Gaussian kernel, median bandwidth, 2,000 landmarks, generalized "
        "cross-validation, columns as they are); `mercer, no metric` has the kernel that the "
        "default chose, its bandwidth searched, and no metric; `kernel grid` is scikit-learn's "
        "`StandardScaler`, `Nystroem` and `Ridge` (`KernelRidge` up "
        "to 8,000 rows) with gamma and alpha searched on held-out rows "
        "for as long as mercer's default fit takes. bike is without its casual and registered "
        "counts, whose sum is the target; airports of us_flights_2001 are their latitude and "
        "longitude.",
    ]
    for kind in (REGRESSION, CLASSIFICATION, RANKING):
        if found.names(kind):
            parts += [f"**{kind.capitalize()}** ({MEASURES[kind]}).", errors(found, kind)]
    parts += comparison(found)
    parts += times(found)
    parts += [f"![Error against time]({path})" for path in pictures]
    parts.append(f"Measured with {versions(records)}.")
    return parts


def errors(found: Found, kind: str) -> Table:
    """Return a row a set and a column a method, the best of each row in bold."""
    methods = found.methods(kind)
    table = Table(["", "splits", *methods])
    for name in found.names(kind):
        means = {m: np.mean(v) for m in methods if (v := found.values(name, m))}
        best = min(means.values())
        cells = []
        for method in methods:
            if method not in means:
                cells.append(MISSING)
                continue
            values = found.values(name, method)
            shown = error_text([1 - v for v in values] if kind == RANKING else values)
            cells.append(f"**{shown}**" if means[method] == best else shown)
        most = max(len(found.values(name, method)) for method in methods)
        table.add([name, str(most), *cells])
    return table


def error_text(values: Sequence[float]) -> str:
    """Return a mean and its standard error.

    >>> error_text([0.1234567]), error_text([10.0, 14.0])
    ('0.1235', '12.00 ± 2.00')
    """
    mean = float(np.mean(values))
    digits = 2 if mean >= 10 else 4
    spread = deviation(values) / math.sqrt(len(values))
    return f"{mean:.{digits}f}" + (f" ± {spread:.{digits}f}" if len(values) > 1 else "")


def geometric_mean(ratios: Sequence[float], least: float = 0.0) -> float:
    """Return the geometric mean, ratios below the least one counted as that.

    >>> round(geometric_mean([0.1, 2.0], least=0.5), 6)
    1.0
    """
    return float(np.exp(np.mean(np.log(np.maximum(ratios, least)))))


def comparison(found: Found) -> list[object]:
    """Return what mercer's error is of its peers', where both were measured."""
    table = Table(["", "sets", "geometric mean", "aim", "better on", "worst"])
    for kind in (REGRESSION, CLASSIFICATION):
        for peer in (BEST, *PEERS, PLAIN, NO_METRIC):
            ratios = ratios_to(found, kind, peer)
            if not ratios:
                continue
            worst = max(ratios, key=lambda name: ratios[name])
            better = sum(ratio < 1 for ratio in ratios.values())
            aim = f"{AIMS[kind]:.2f}" if peer == BEST else ""
            if peer == PLAIN:
                aim = f"{1 / 1.3:.2f}"
            mean = geometric_mean(list(ratios.values()), LEAST)
            cells = [f"{mean:.3f}", aim, f"{better} of {len(ratios)}"]
            worst_text = f"{ratios[worst]:.2f} ({worst})"
            table.add([f"{kind}, to {peer}", str(len(ratios)), *cells, worst_text])
    if len(table.lines) == 1:
        return []
    return [
        f"**Ratio of mercer's error to that of others**: below 1 mercer is better. A ratio below "
        f"{LEAST} counts as {LEAST} in the mean. To CatBoost, no ratio should be above 1.15, and "
        f"to mercer without a metric none above 1.02.",
        table,
    ]


def ratios_to(found: Found, kind: str, peer: str, field: str = "error") -> dict[str, float]:
    """Return the ratio of mercer to a peer for every set where both were measured."""
    ratios = {name: found.ratio(name, DEFAULT, peer, field) for name in found.names(kind)}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}


def times(found: Found) -> list[object]:
    """Return the seconds of all fits, and how those of mercer compare with CatBoost's."""
    kinds = (REGRESSION, CLASSIFICATION, RANKING)
    methods = found.methods(*kinds)
    table = Table(["", *methods])
    for name in found.names(*kinds):
        cells = [found.values(name, method, "fit") for method in methods]
        table.add([name, *(f"{np.mean(v):.1f}" if v else MISSING for v in cells)])
    told = "**Seconds to fit**, the mean over splits."
    means = {}
    for field in ("fit", "processor"):
        ratios = [
            ratio
            for kind in (REGRESSION, CLASSIFICATION)
            for ratio in ratios_to(found, kind, "CatBoost", field).values()
        ]
        if ratios:
            means[field] = geometric_mean(ratios)
    if means:
        told += (
            f" mercer takes {means['fit']:.2f} times as long as CatBoost (geometric mean over "
            f"regression and classification; aim: at most 3), {means['processor']:.2f} times in "
            f"seconds of the processor, which other work on the machine disturbs least."
        )
    every = [record for splits in found.records.values() for record in splits.values()]
    busy = sum(record.load > record.threads + 1 for record in every)
    if busy:
        told += (
            f" {busy} of {len(every)} fits were made beside other work: their times are too long."
        )
    return [told, table]


def versions(records: Iterable[Record]) -> str:
    """Return what the records were measured with."""
    used = {r.version + (f" ({r.commit})" if r.commit else "") for r in records}
    return ", ".join(sorted(used)) or "nothing yet"
