"""What was measured, as Markdown for people and as CSV for programs."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from experiments.learning_to_rank.measures import RANKS, SAMPLES, Difference, compare
from experiments.learning_to_rank.methods import Settings
from experiments.learning_to_rank.trials import Found, Results

#: The method that others are compared with.
OURS = "kernel"
#: Ranks at which NDCG by LETOR's conventions is shown.
LETOR_SHOWN = (1, 5, 10)


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    values = results.by_query(OURS)
    parts = [
        "# Results",
        "Written by `python -m experiments.learning_to_rank`; do not edit.",
        "## Test parts, mean over folds",
        "NDCG leaves out queries without a relevant document. Pairwise error: the share of pairs "
        "of a query in the wrong order. Seconds are of the processor on one thread: the search on "
        "the validation part, and the fit with the settings it chose (median of repeats), a fold.",
        _marked("means", means_table(results)),
        f"## {results.methods[OURS].label} less each of the others, NDCG@10 by query",
        f"All test parts together: {len(values)} queries, of which "
        f"{int(np.sum(~np.isnan(values)))} have a relevant document. Intervals: 95 %, bootstrap of "
        f"queries, {SAMPLES:,} samples.",
        _marked("differences", differences_table(results)),
        "## NDCG@10 by fold, test part",
        _marked("folds", folds_table(results, lambda one: one.test.ndcg[-1])),
        "## NDCG@10 by fold, validation part",
        "By which settings were chosen, so all are too high.",
        _marked("validation", folds_table(results, lambda one: one.search.ndcg)),
        "## Pairwise error by fold, test part",
        _marked("pairs", folds_table(results, lambda one: one.test.pairwise_error)),
        "## NDCG@k, test part, mean over folds",
        _marked("ranks", ranks_table(results)),
        "## NDCG@k by the conventions of LETOR's script, test part, mean over folds",
        "Queries without a relevant document, or with fewer than k documents, count 0.",
        _marked("letor", letor_table(results)),
        "## Settings that were chosen",
        _marked("settings", settings_table(results)),
    ]
    return "\n\n".join(parts) + "\n"


def means_table(results: Results) -> list[str]:
    """Return one row a method."""
    names = ["", "NDCG@10", "NDCG@5", "NDCG@1", "pairwise error", "settings tried"]
    lines = _header([*names, "search, s", "fit, s"])
    for name, method in results.methods.items():
        found = results.found[name]
        curve = np.mean([one.test.ndcg for one in found], axis=0)
        cells = [f"{curve[RANKS.index(k)]:.4f}" for k in (10, 5, 1)]
        cells.append(f"{np.mean([one.test.pairwise_error for one in found]):.4f}")
        cells.append(str(method.configurations))
        cells.append(f"{np.mean([one.search.seconds for one in found]):.1f}")
        cells.append(f"{np.mean([one.fit_seconds for one in found]):.3f}")
        lines.append(_row([method.label, *cells]))
    return lines


def differences(results: Results) -> dict[str, Difference]:
    """Return the paired differences to every other method."""
    ours = results.by_query(OURS)
    return {name: compare(ours, results.by_query(name)) for name in results.methods if name != OURS}


def differences_table(results: Results) -> list[str]:
    """Return one row a peer."""
    lines = _header(["less", "mean difference", "95 % interval", "better", "worse", "equal"])
    for name, found in differences(results).items():
        equal = found.queries - found.better - found.worse
        counts = [str(count) for count in (found.better, found.worse, equal)]
        interval = f"{found.low:+.4f} to {found.high:+.4f}"
        lines.append(_row([results.methods[name].label, f"{found.mean:+.4f}", interval, *counts]))
    return lines


def folds_table(results: Results, value: Any) -> list[str]:
    """Return one row a method, one column a fold."""
    folds = [one.fold for one in results.found[OURS]]
    lines = _header(["", *(f"fold {number}" for number in folds), "mean"])
    for name, method in results.methods.items():
        values = [value(one) for one in results.found[name]]
        cells = [f"{number:.4f}" for number in [*values, np.mean(values)]]
        lines.append(_row([method.label, *cells]))
    return lines


def ranks_table(results: Results) -> list[str]:
    """Return one row a method, one column a rank."""
    lines = _header(["", *(f"@{k}" for k in RANKS)])
    for name, method in results.methods.items():
        curve = np.mean([one.test.ndcg for one in results.found[name]], axis=0)
        lines.append(_row([method.label, *(f"{value:.4f}" for value in curve)]))
    return lines


def letor_table(results: Results) -> list[str]:
    """Return one row a method, one column a rank."""
    lines = _header(["", *(f"@{k}" for k in LETOR_SHOWN)])
    for name, method in results.methods.items():
        curve = np.mean([one.test.letor for one in results.found[name]], axis=0)
        cells = [f"{curve[RANKS.index(k)]:.4f}" for k in LETOR_SHOWN]
        lines.append(_row([method.label, *cells]))
    return lines


def settings_table(results: Results) -> list[str]:
    """Return one row a method and fold."""
    lines = _header(["", "fold", "settings"])
    for name, method in results.methods.items():
        for one in results.found[name]:
            lines.append(_row([method.label, str(one.fold), as_text(one.search.settings)]))
    return lines


def results_csv(results: Results) -> str:
    """Return one row a fold and method."""
    measured = ["validation_ndcg10", *(f"ndcg{k}" for k in RANKS), "pairwise_error"]
    measured += [f"letor_ndcg{k}" for k in RANKS]
    costs = ["configurations", "search_seconds", "fit_seconds", "settings"]
    rows = [
        [one.fold, name, *_cells(one)] for name, found in results.found.items() for one in found
    ]
    out = io.StringIO()
    header: list[Any] = ["fold", "method", *measured, *costs]
    ordered = sorted(rows, key=lambda row: row[0])  # stable: methods keep their order
    csv.writer(out, lineterminator="\n").writerows([header, *ordered])
    return out.getvalue()


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


def _header(names: list[str]) -> list[str]:
    return [_row(names), "|" + "---|" * len(names)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(name: str, lines: list[str]) -> str:
    table = "\n".join(lines)
    return f"<!-- {name} -->\n\n{table}\n\n<!-- end of {name} -->"
