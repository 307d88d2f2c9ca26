"""The parts of the experiment: every method on every table, by name."""

from __future__ import annotations

from functools import partial

from experiments.uncertainty import interval_methods, probability_methods
from experiments.uncertainty.problems import FULL, Size
from experiments.uncertainty.trials import (
    Intervals,
    Part,
    Probabilities,
    measure_intervals,
    measure_probabilities,
    measure_shifted,
    warm_intervals,
    warm_probabilities,
)

INTERVALS, SHIFTED, PROBABILITIES = "intervals", "shifted", "probabilities"


def interval_parts() -> dict[str, Part]:
    """Return the parts of intervals, for rows drawn like those trained on and for far ones."""
    parts = {}
    tables = (
        (INTERVALS, measure_intervals, lambda size: size.repeats),
        (SHIFTED, measure_shifted, lambda size: min(size.repeats, size.shifted_repeats)),
    )
    for table, measure, splits in tables:
        for method, does in interval_methods.methods(FULL.gp_rows).items():
            parts[f"{table}-{method}"] = Part(
                table,
                method,
                Intervals,
                does.needs.missing,
                lambda size: size.regression,
                splits,
                partial(measure, method),
                partial(warm_intervals, method),
            )
    return parts


def probability_parts() -> dict[str, Part]:
    """Return the parts of probabilities."""
    parts = {}
    for method, does in probability_methods.METHODS.items():

        def sets(size: Size, slow: frozenset[str] = does.too_slow) -> tuple[str, ...]:
            return tuple(name for name in size.classification if name not in slow)

        parts[f"{PROBABILITIES}-{method}"] = Part(
            PROBABILITIES,
            method,
            Probabilities,
            does.needs.missing,
            sets,
            lambda size: min(size.repeats, size.classes_repeats),
            partial(measure_probabilities, method),
            partial(warm_probabilities, method),
        )
    return parts


PARTS = interval_parts() | probability_parts()
