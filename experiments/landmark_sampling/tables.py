"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.landmark_sampling.over_shards_report import sharded_parts
from experiments.landmark_sampling.problems import LONELY, PROBLEMS
from experiments.landmark_sampling.summary import (
    CHOSEN,
    UNIFORM,
    Spread,
    affordable,
    at_median,
    correlation,
    curve,
    keys,
    loo_ratio,
    ratio,
    typical_seconds,
    worth,
)
from experiments.landmark_sampling.trials import MANY_SIZE, SAMPLINGS, TINY, Found, Results
from experiments.landmark_sampling.unevenness import DIMENSION, ROWS
from experiments.scaffold.tables import Table, marked, page

#: Numbers of landmarks whose errors are shown.
SHOWN = (100, 400)
#: Errors on all test rows, and on lonely ones.
WHERE = ("error", "lonely")
#: What a landmark can be good for.
MEASURES = {
    "trace": "approximating K",
    "error": "prediction, alpha by GCV",
    "error_tiny": "prediction, tiny alpha",
    "lonely": "prediction for lonely rows",
}


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    spans = (
        "Median over splits, least and largest in brackets. 1: as good as uniform. Geometric mean "
        "over all M but the least and the largest, each compared on its own split."
    )
    about = (
        "Error: the share of "
        "the variance of test targets that is left unexplained. Bandwidths are in units of the "
        "median distance between rows."
    )
    parts = [
        "## How uneven leverage scores are",
        f"Exact scores of {ROWS} rows, at the alpha where they sum to {DIMENSION:g}. The largest "
        f"cannot be more than {ROWS / DIMENSION:g} times the mean.",
        marked("uneven", uneven_table(results)),
        "## What a landmark is worth, median bandwidth",
        "How many uniform landmarks do the same as one that was chosen: for the trace of K minus "
        f"its approximation, and for the test error with alpha by GCV. {spans}",
        marked("worth", worth_table(results)),
        *(
            part
            for what, label in MEASURES.items()
            for part in (
                f"## Worth of a landmark: {label}",
                _note(what) + spans,
                marked(f"worth of {what}", all_worths_table(results, what)),
            )
        ),
        "## Error in units of that of as many uniform landmarks, median bandwidth, alpha by GCV",
        "Less than 1 is better. Median over splits, least and largest in brackets.",
        marked("ratio", ratio_table(results)),
        "## Does unevenness tell where it pays?",
        "Rank correlation (Spearman) of the spread of scores and the worth of a landmark, over all "
        "real sets and bandwidths.",
        marked("correlation", correlation_table(results)),
        *(
            part
            for size in SHOWN
            for part in (
                f"## Test errors with {size} landmarks, median bandwidth, alpha by GCV",
                "Mean over splits ± standard deviation.",
                marked(f"errors {size}", errors_table(results, size, "error")),
            )
        ),
        f"## Alpha by leave-one-out in the place of GCV, {size_of(results.loo)} landmarks, median "
        "bandwidth",
        "Test errors, mean over splits; in brackets those on lonely rows. The first row of a set "
        "has alpha by GCV, the second by leave-one-out.",
        marked("loo", loo_table(results)),
        f"## Lonely rows, alpha by leave-one-out, {size_of(results.loo)} landmarks, median "
        "bandwidth",
        "Error on lonely rows in units of that of as many uniform landmarks. Less than 1 is "
        "better. Median over splits, least and largest in brackets.",
        marked("loo lonely", loo_ratio_table(results, "lonely")),
        f"## All rows, alpha by leave-one-out, {size_of(results.loo)} landmarks, median bandwidth",
        "The same for all test rows.",
        marked("loo ratio", loo_ratio_table(results, "error")),
        f"## Share of test rows in the wrong class, {SHOWN[-1]} landmarks, median bandwidth",
        marked("wrong", errors_table(results, SHOWN[-1], "wrong")),
        f"## Trace errors with {SHOWN[-1]} landmarks, median bandwidth",
        marked("trace", errors_table(results, SHOWN[-1], "trace")),
        f"## Landmarks that others span, of {SHOWN[-1]}, median bandwidth",
        marked("dropped", errors_table(results, SHOWN[-1], "dropped")),
        "## Seconds, median bandwidth",
        "Choosing, of the whole fit, on one thread: the least of all splits, as other work was on "
        "the machine, and of that the median over sets. In brackets the number of uniform "
        "landmarks with which a fit takes as long.",
        marked("seconds", seconds_table(results)),
        f"## Seconds where there are many rows: covtype, {MANY_SIZE} landmarks",
        "Choosing, of the whole fit; in brackets the test error. One run each.",
        marked("many", many_table(results)),
        *sharded_parts(results.shards, results.scored),
    ]
    return page("landmark_sampling", about, *parts)


def _note(what: str) -> str:
    if what == "error_tiny":
        return f"Alpha is {TINY:g}. "
    if what == "lonely":
        return f"The {LONELY:.0%} of test rows that have the fewest training rows near. "
    return ""


def uneven_table(results: Results) -> Table:
    """Return one row a set and bandwidth."""
    table = Table(["", "bandwidth", "largest / mean", "sd / mean", "top 1 % of rows have"])
    for one in results.uneven:
        cells = [f"{one.factor:g}", f"{one.peak:.1f}", f"{one.spread:.2f}", f"{one.top:.0%}"]
        table.add([PROBLEMS[one.problem].label, *cells])
    return table


def worth_table(results: Results) -> Table:
    """Return one row a set: the worth for K and for prediction."""
    ways = ("leverage", "rpcholesky", "kmeans")
    what = [(sampling, measure) for measure in ("trace", "error") for sampling in ways]
    names = [f"{'K' if measure == 'trace' else 'error'}: {way}" for way, measure in what]
    table = Table(["", "sd / mean of scores", *names])
    spread = {one.problem: one.spread for one in results.uneven if one.factor == 1.0}
    for name in at_median(results):
        cells = [_spread(worth(results, name, 1.0, way, measure)) for way, measure in what]
        table.add([PROBLEMS[name].label, f"{spread[name]:.2f}", *cells])
    return table


def all_worths_table(results: Results, what: str) -> Table:
    """Return one row a set and bandwidth, one column a way to choose."""
    table = Table(["", "bandwidth", *CHOSEN])
    for problem, factor in keys(results):
        cells = [_spread(worth(results, problem, factor, way, what)) for way in CHOSEN]
        table.add([PROBLEMS[problem].label, f"{factor:g}", *cells])
    return table


def ratio_table(results: Results) -> Table:
    """Return one row a set, one column a way to choose."""
    table = Table(["", *CHOSEN])
    for name in at_median(results):
        cells = [_spread(ratio(results, name, 1.0, way, "error")) for way in CHOSEN]
        table.add([PROBLEMS[name].label, *cells])
    return table


def correlation_table(results: Results) -> Table:
    """Return one row a measure, one column a way to choose."""
    table = Table(["worth for", *CHOSEN])
    for what, label in MEASURES.items():
        table.add([label, *(f"{correlation(results, way, what):+.2f}" for way in CHOSEN)])
    return table


def errors_table(results: Results, size: int, what: str) -> Table:
    """Return one row a set, one column a way to choose."""
    table = Table(["", *SAMPLINGS])
    for name in at_median(results):
        cells = []
        for sampling in SAMPLINGS:
            sizes, values = curve(results, name, 1.0, sampling, what)
            column = values[:, sizes == size]
            cells.append(_mean(column, what) if column.size else "-")
        if "nan" not in cells:
            table.add([PROBLEMS[name].label, *cells])
    return table


def loo_table(results: Results) -> Table:
    """Return two rows a set, one column a way to choose."""
    table = Table(["", "alpha by", *SAMPLINGS])
    size = size_of(results.loo)
    by_gcv = [one for one in results.found if (one.factor, one.size) == (1.0, size)]
    for name in at_median(results):
        for rule, found in (("GCV", by_gcv), ("leave-one-out", results.loo)):
            cells = []
            for sampling in SAMPLINGS:
                own = [one for one in found if (one.problem, one.sampling) == (name, sampling)]
                error, lonely = (np.mean([getattr(one, w) for one in own]) for w in WHERE)
                cells.append(f"{error:.4f} ({lonely:.3f})")
            table.add([PROBLEMS[name].label, rule, *cells])
    return table


def loo_ratio_table(results: Results, what: str) -> Table:
    """Return one row a set, one column a way to choose."""
    table = Table(["", *CHOSEN])
    for name in at_median(results):
        cells = [_spread(loo_ratio(results, name, way, what)) for way in CHOSEN]
        table.add([PROBLEMS[name].label, *cells])
    return table


def size_of(found: Sequence[Found]) -> int:
    """Return the number of landmarks that all of some fits have."""
    return found[0].size


def seconds_table(results: Results) -> Table:
    """Return one row a number of landmarks, one column a way to choose."""
    table = Table(["M", *SAMPLINGS])
    chosen = (one for one in results.found if (one.factor, one.sampling) == (1.0, CHOSEN[0]))
    for size in sorted({one.size for one in chosen}):
        cells = []
        for sampling in SAMPLINGS:
            choosing, fitting = (
                typical_seconds(results, sampling, what, size) for what in ("choosing", "fitting")
            )
            more = "" if sampling == UNIFORM else f" ({affordable(results, sampling, size):.0f})"
            cells.append(_seconds(choosing, fitting) + more)
        table.add([str(size), *cells])
    return table


def many_table(results: Results) -> Table:
    """Return one row a number of rows, one column a way to choose."""
    table = Table(["rows", *SAMPLINGS])
    for rows in sorted({one.rows for one in results.many}):
        found = {one.sampling: one for one in results.many if one.rows == rows}
        cells = [
            f"{_seconds(one.choosing, one.fitting)} ({one.error:.4f})"
            for one in (found[sampling] for sampling in SAMPLINGS)
        ]
        table.add([f"{rows:,}", *cells])
    return table


def _mean(values: Any, what: str) -> str:
    mean, deviation = float(np.mean(values)), float(np.std(values))
    if what == "dropped":
        return f"{mean:.0f}"
    digits = 5 if what == "trace" else 4
    return "nan" if np.isnan(mean) else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _seconds(choosing: float, fitting: float) -> str:
    return f"{choosing:.2g} of {fitting:.2g}"


def _spread(found: Spread) -> str:
    return f"{found.middle:.2f} ({found.low:.2f}-{found.high:.2f})"
