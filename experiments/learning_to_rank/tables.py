"""What was measured, as Markdown for people and as CSV for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.learning_to_rank.measures import RANKS, SAMPLES, Difference, compare
from experiments.learning_to_rank.methods import Settings
from experiments.learning_to_rank.trials import Found, Results
from experiments.scaffold.records import csv_text
from experiments.scaffold.tables import Table, marked, page

#: The method that others are compared with.
OURS = "kernel"
#: Ranks at which NDCG by LETOR's conventions is shown.
LETOR_SHOWN = (1, 5, 10)


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    values = results.by_query(OURS)
    parts = [
        "## Test parts, mean over folds",
        "NDCG leaves out queries without a relevant document. Pairwise error: the share of pairs "
        "of a query in the wrong order. Seconds are of the processor on one thread: the search on "
        "the validation part, and the fit with the settings it chose (median of repeats), a fold.",
        marked("means", means_table(results)),
        f"## {results.methods[OURS].label} less each of the others, NDCG@10 by query",
        f"All test parts together: {len(values)} queries, of which "
        f"{int(np.sum(~np.isnan(values)))} have a relevant document. Intervals: 95 %, bootstrap of "
        f"queries, {SAMPLES:,} samples.",
        marked("differences", differences_table(results)),
        "## NDCG@10 by fold, test part",
        marked("folds", folds_table(results, lambda one: one.test.ndcg[-1])),
        "## NDCG@10 by fold, validation part",
        "By which settings were chosen, so all are too high.",
        marked("validation", folds_table(results, lambda one: one.search.ndcg)),
        "## Pairwise error by fold, test part",
        marked("pairs", folds_table(results, lambda one: one.test.pairwise_error)),
        "## NDCG@k, test part, mean over folds",
        marked("ranks", ranks_table(results, "ndcg", RANKS)),
        "## NDCG@k by the conventions of LETOR's script, test part, mean over folds",
        "Queries without a relevant document, or with fewer than k documents, count 0.",
        marked("letor", ranks_table(results, "letor", LETOR_SHOWN)),
        "## Settings that were chosen",
        marked("settings", settings_table(results)),
    ]
    return page("learning_to_rank", "", *parts)


def means_table(results: Results) -> Table:
    """Return one row a method."""
    names = ["", "NDCG@10", "NDCG@5", "NDCG@1", "pairwise error", "settings tried"]
    table = Table([*names, "search, s", "fit, s"])
    for name, method in results.methods.items():
        found = results.found[name]
        curve = np.mean([one.test.ndcg for one in found], axis=0)
        cells = [f"{curve[RANKS.index(k)]:.4f}" for k in (10, 5, 1)]
        cells.append(f"{np.mean([one.test.pairwise_error for one in found]):.4f}")
        cells.append(str(method.configurations))
        cells.append(f"{np.mean([one.search.seconds for one in found]):.1f}")
        cells.append(f"{np.mean([one.fit_seconds for one in found]):.3f}")
        table.add([method.label, *cells])
    return table


def differences(results: Results) -> dict[str, Difference]:
    """Return the paired differences to every other method."""
    ours = results.by_query(OURS)
    return {name: compare(ours, results.by_query(name)) for name in results.methods if name != OURS}


def differences_table(results: Results) -> Table:
    """Return one row a peer."""
    table = Table(["less", "mean difference", "95 % interval", "better", "worse", "equal"])
    for name, found in differences(results).items():
        equal = found.queries - found.better - found.worse
        counts = [str(count) for count in (found.better, found.worse, equal)]
        interval = f"{found.low:+.4f} to {found.high:+.4f}"
        table.add([results.methods[name].label, f"{found.mean:+.4f}", interval, *counts])
    return table


def folds_table(results: Results, value: Any) -> Table:
    """Return one row a method, one column a fold."""
    folds = [one.fold for one in results.found[OURS]]
    table = Table(["", *(f"fold {number}" for number in folds), "mean"])
    for name, method in results.methods.items():
        values = [value(one) for one in results.found[name]]
        cells = [f"{number:.4f}" for number in [*values, np.mean(values)]]
        table.add([method.label, *cells])
    return table


def ranks_table(results: Results, what: str, ranks: Sequence[int]) -> Table:
    """Return one row a method, one column a rank."""
    table = Table(["", *(f"@{k}" for k in ranks)])
    for name, method in results.methods.items():
        curve = np.mean([getattr(one.test, what) for one in results.found[name]], axis=0)
        table.add([method.label, *(f"{curve[RANKS.index(k)]:.4f}" for k in ranks)])
    return table


def settings_table(results: Results) -> Table:
    """Return one row a method and fold."""
    table = Table(["", "fold", "settings"])
    for name, method in results.methods.items():
        for one in results.found[name]:
            table.add([method.label, str(one.fold), as_text(one.search.settings)])
    return table


def results_csv(results: Results) -> str:
    """Return one row a fold and method."""
    measured = ["validation_ndcg10", *(f"ndcg{k}" for k in RANKS), "pairwise_error"]
    measured += [f"letor_ndcg{k}" for k in RANKS]
    costs = ["configurations", "search_seconds", "fit_seconds", "settings"]
    rows = [
        [one.fold, name, *_cells(one)] for name, found in results.found.items() for one in found
    ]
    ordered = sorted(rows, key=lambda row: row[0])  # stable: methods keep their order
    return csv_text(["fold", "method", *measured, *costs], ordered)


def as_text(settings: Settings) -> str:
    """Return settings as one line.

    >>> as_text({"alpha": 0.00123456, "landmarks": 500, "pair_weighting": "query"})
    'alpha 0.00123, landmarks 500, pair_weighting query'
    """
    values = {k: f"{v:.3g}" if isinstance(v, float) else str(v) for k, v in settings.items()}
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _cells(one: Found) -> list[Any]:
    test, search = one.test, one.search
    values = [search.ndcg, *test.ndcg, test.pairwise_error, *test.letor]
    seconds = [f"{search.seconds:.1f}", f"{one.fit_seconds:.3f}"]
    numbers = [f"{value:.6f}" for value in values]
    return [*numbers, search.configurations, *seconds, as_text(search.settings)]
