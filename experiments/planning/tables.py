"""Tables of plans against fits."""

from __future__ import annotations

import numpy as np

from experiments.planning.trials import Fitted, Problem
from experiments.scaffold.records import columns, values
from experiments.scaffold.tables import Table, marked, page

ABOUT = (
    "Plans are made from a sample of 8,000 rows, fits use all rows. Errors are root mean squares, "
    "or error rates of classes, on rows that neither has seen; seconds are wall time."
)


def markdown(results: tuple[list[Fitted], list[Problem]]) -> str:
    """Return the page of results."""
    fits, problems = results
    return page("planning", ABOUT, summary(fits), exponents(problems), every(fits))


def summary(fits: list[Fitted]) -> str:
    """Return how far plans are from fits, by system."""
    table = Table(["system", "fits", "error: planned / found", "within its interval",
                   "seconds: planned / found"])  # fmt: skip
    for system in [*values(fits, "system"), "all"]:
        some = [fit for fit in fits if system in (fit.system, "all")]
        planned, error, low, high = columns(some, "planned_error", "error", "low", "high")
        expected, took = columns(some, "planned_seconds", "seconds")
        # A plan of an error that nobody had seen is right within a few percent at best.
        inside = (error >= low * 0.98) & (error <= high * 1.02)
        table.add(
            [
                system,
                f"{len(some)}",
                _ratios(planned / error),
                f"{inside.sum()} of {len(some)}",
                _ratios(expected / took),
            ]
        )
    return marked("summary", table)


def exponents(problems: list[Problem]) -> str:
    """Return the exponents of every set, and what the theorems make of them."""
    table = Table(["set", "rows", "gamma", "alpha", "r", "is N(lambda) a power law?",
                   "landmarks, theorem 11", "features, theorem 2", "shards, theorem 11",
                   "recommended by the plan", "seconds of the study"])  # fmt: skip
    for one in problems:
        sizes = [one.landmarks, one.features, one.shards]
        table.add(
            [
                one.set,
                f"{one.rows:,}",
                one.gamma,
                one.alpha,
                one.r,
                one.law,
                *("not covered" if np.isnan(size) else f"{size:,.0f}" for size in sizes),
                one.recommended,
                f"{one.study_seconds:.1f}",
            ]
        )
    return marked("exponents", table)


def every(fits: list[Fitted]) -> str:
    """Return every fit."""
    table = Table(["set", "system", "M", "shards", "error planned", "interval", "error found",
                   "seconds planned", "seconds found"])  # fmt: skip
    for fit in fits:
        table.add(
            [
                fit.set,
                fit.system,
                f"{fit.functions:,}",
                f"{fit.shards}",
                f"{fit.planned_error:.4g}",
                f"{fit.low:.3g} to {fit.high:.3g}",
                f"{fit.error:.4g}",
                f"{fit.planned_seconds:.2g}",
                f"{fit.seconds:.2g}",
            ]
        )
    return marked("every", table)


def _ratios(values: np.ndarray) -> str:
    middle = float(np.exp(np.mean(np.log(values))))
    return f"{middle:.2f} ({values.min():.2f} to {values.max():.2f})"
