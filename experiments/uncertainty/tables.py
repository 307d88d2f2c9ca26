"""Tables of intervals, and the page with those of probabilities below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.scaffold.records import select
from experiments.scaffold.tables import Table, marked, page
from experiments.uncertainty.probability_tables import probability_parts
from experiments.uncertainty.problems import REGRESSIONS
from experiments.uncertainty.results import (
    MERCER,
    SHOWN,
    Results,
    Value,
    mean_score,
    means,
    methods,
    names,
    ranks,
    relative,
    score_at,
    splits,
)
from experiments.uncertainty.scores import LEVELS
from experiments.uncertainty.trials import INSIDE, OUTSIDE, Intervals

ABOUT = (
    "Means over random splits, the same for all methods; widths and interval scores are in "
    "standard deviations of y. Seconds are those of the processor, on one thread, beside other "
    "work: read the ratios."
)
MISSING = "-"


def markdown(results: Results) -> str:
    """Return the page of results."""
    parts: list[object] = []
    if results.intervals:
        parts += interval_parts(results.intervals)
    if results.shifted:
        parts += ["## Far rows", shifted_told(results.shifted), shifted(results.shifted)]
    if results.probabilities:
        parts += probability_parts(results.probabilities)
    return page("uncertainty", ABOUT, *parts)


def interval_parts(records: Sequence[Intervals]) -> list[object]:
    """Return the tables of rows drawn like those trained on."""
    level = f"{LEVELS[SHOWN]:.0%}"
    return [
        "## Intervals",
        "By method, over all sets: how far coverage is from its level (mean over sets and "
        "levels), the lowest coverage of a set, the interval score in units of the best of each "
        "set (geometric mean over sets), the mean place, and how often a method is best, or "
        "best or second.",
        marked("summary", summary(records)),
        "Coverage by level.",
        *(
            marked(f"coverage of {method}", coverage(select(records, method=method), told))
            for method, told in methods(records).items()
            if method == MERCER
        ),
        f"Coverage at {level}.",
        marked("coverage", by_set(records, lambda one: one.coverage[SHOWN], "{:.3f}", None)),
        f"Interval score at {level}, the best in bold, and the place in parentheses.",
        marked("scores", by_set(records, score_at(SHOWN), "{:.3f}", min)),
        "Interval score, the mean over all levels.",
        marked("mean scores", by_set(records, mean_score, "{:.3f}", min)),
        f"Mean width at {level}.",
        marked("widths", by_set(records, lambda one: one.width[SHOWN], "{:.3f}", None)),
        "Seconds of the processor to fit all levels.",
        marked("seconds", by_set(records, lambda one: one.processor, "{:.1f}", None)),
        "Seconds to predict all levels.",
        marked("predict", by_set(records, lambda one: one.predict, "{:.2f}", None)),
    ]


def summary(records: Sequence[Intervals]) -> Table:
    """Return a row a method."""
    table = Table(["method", "sets", "distance to the level", f"lowest at {LEVELS[SHOWN]:.0%}",
                   f"score at {LEVELS[SHOWN]:.0%} / best", "place", "best", "best or second",
                   "score, all levels / best", "place", "best or second"])  # fmt: skip
    away = means(records, lambda one: float(np.mean(np.abs(np.array(one.coverage) - LEVELS))))
    covered = means(records, lambda one: one.coverage[SHOWN])
    for method, told in methods(records).items():
        keys = [key for key in away if key[1] == method]
        cells = [told, str(len(keys)), f"{np.mean([away[key] for key in keys]):.3f}"]
        cells.append(f"{min(covered[key] for key in keys):.3f}")
        for value, with_best in ((score_at(SHOWN), True), (mean_score, False)):
            found = means(records, value)
            ratio, place = relative(found), ranks(found)
            cells.append(f"{np.exp(np.mean([np.log(ratio[key]) for key in keys])):.3f}")
            cells.append(f"{np.mean([place[key] for key in keys]):.1f}")
            cells += [str(sum(place[key] == 1 for key in keys))] if with_best else []
            cells.append(str(sum(place[key] <= 2 for key in keys)))
        table.add(cells)
    return table


def coverage(records: Sequence[Intervals], told: str) -> Table:
    """Return the coverage of a method by set and level."""
    table = Table([told, "rows", "splits", *(f"{level:.0%}" for level in LEVELS)])
    for name in names(records, tuple(REGRESSIONS)):
        some = select(records, name=name)
        values = np.mean([one.coverage for one in some], axis=0)
        cells = [f"{value:.3f}" for value in values]
        table.add([name, f"{some[0].rows:,}", str(len(some)), *cells])
    return table


def by_set(records: Sequence[Intervals], value: Value, form: str, best: object) -> Table:
    """Return a row a set and a column a method; places where one is the best."""
    told = methods(records)
    found = means(records, value)
    place = ranks(found)
    table = Table(["", "splits", *told.values()])
    for name in names(records, tuple(REGRESSIONS)):
        cells = []
        for method in told:
            key = name, method
            text = form.format(found[key]) if key in found else MISSING
            if best is not None and key in found:
                text = f"**{text}**" if place[key] == 1 else f"{text} ({place[key]})"
            cells.append(text)
        table.add([name, splits(records, name), *cells])
    return table


def shifted_told(records: Sequence[Intervals]) -> str:
    """Return what the table of far rows shows."""
    counts = {one.split for one in records}
    return (
        "The tenth of all rows whose standardized columns have the largest norm are not trained "
        f"on. Coverage at {LEVELS[SHOWN]:.0%} of other rows (inside) and of far ones (outside), "
        f"and the mean width of the latter over that of the former; means over {len(counts)} "
        "splits."
    )


def shifted(records: Sequence[Intervals]) -> str:
    """Return coverage inside and outside, and how much wider intervals are outside."""
    told = methods(records)
    table = Table(["", *told.values()])
    ratios: dict[str, list[tuple[float, float, float]]] = {method: [] for method in told}
    for name in names(records, tuple(REGRESSIONS)):
        cells = []
        for method in told:
            both = [
                select(records, name=name, method=method, where=where)
                for where in (INSIDE, OUTSIDE)
            ]
            if not all(both):
                cells.append(MISSING)
                continue
            inside, outside = (np.mean([one.coverage[SHOWN] for one in some]) for some in both)
            near, far = (np.mean([one.width[SHOWN] for one in some]) for some in both)
            ratios[method].append((float(inside), float(outside), float(far / near)))
            cells.append(f"{inside:.3f} to {outside:.3f}, x {far / near:.2f}")
        table.add([name, *cells])
    last = []
    for found in ratios.values():
        inside, outside, wider = np.mean(found, axis=0)
        last.append(f"{inside:.3f} to {outside:.3f}, x {wider:.2f}")
    table.add(["mean", *last])
    return marked("shifted", table)
