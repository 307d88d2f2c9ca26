"""Tables of probabilities: proper scores by set and method, and ratios to the usual wrapper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.scaffold.tables import Table, marked
from experiments.uncertainty.problems import CLASSES
from experiments.uncertainty.results import (
    MERCER,
    Value,
    means,
    methods,
    names,
    ranks,
    relative,
    splits,
)
from experiments.uncertainty.trials import Probabilities

WRAPPED, UNCALIBRATED = "mercer-calibrated-cv", "mercer-uncalibrated"
MISSING = "-"
MEASURES: dict[str, tuple[str, Value, str]] = {
    "log loss": ("Log loss", lambda one: one.log_loss, "{:.4f}"),
    "Brier score": ("Brier score", lambda one: one.brier, "{:.4f}"),
    "calibration error": (
        "Expected calibration error",
        lambda one: one.calibration_error,
        "{:.4f}",
    ),
    "errors": ("Share of wrong classes", lambda one: one.error, "{:.4f}"),
}


def probability_parts(records: Sequence[Probabilities]) -> list[object]:
    """Return the section of probabilities."""
    parts: list[object] = [
        "## Probabilities",
        "By method: log loss and Brier score in units of the best of each set (geometric means "
        "over sets), the mean expected calibration error, and the mean place by log loss.",
        marked("probabilities", summary(records)),
    ]
    compared = against_wrapper(records)
    if compared is not None:
        parts += [
            "mercer against `CalibratedClassifierCV` around itself, and the seconds of the "
            "processor of its fit against those of a fit that is not calibrated.",
            marked("against CalibratedClassifierCV", compared),
        ]
    for mark, (title, value, form) in MEASURES.items():
        parts += [f"{title}, the best in bold.", marked(mark, by_set(records, value, form))]
    parts += [
        "Seconds of the processor to fit.",
        marked("seconds of classes", by_set(records, lambda one: one.processor, "{:.1f}", False)),
    ]
    return parts


def summary(records: Sequence[Probabilities]) -> Table:
    """Return a row a method."""
    table = Table(["method", "sets", "log loss / best", "Brier score / best", "calibration error",
                   "place by log loss", "best or second"])  # fmt: skip
    losses, squares, gaps, _ = (means(records, value) for _, value, _ in MEASURES.values())
    place, to_best = ranks(losses), (relative(losses), relative(squares))
    for method, told in methods(records).items():
        keys = [key for key in losses if key[1] == method]
        cells = [f"{np.exp(np.mean([np.log(ratio[k]) for k in keys])):.3f}" for ratio in to_best]
        cells.append(f"{np.mean([gaps[key] for key in keys]):.4f}")
        cells.append(f"{np.mean([place[key] for key in keys]):.1f}")
        cells.append(str(sum(place[key] <= 2 for key in keys)))
        table.add([told, str(len(keys)), *cells])
    return table


def shared(records: Sequence[Probabilities], one: str, other: str) -> list[Probabilities]:
    """Return the records of two methods for the splits that both have."""
    keys = [{(r.name, r.split) for r in records if r.method == which} for which in (one, other)]
    both = keys[0] & keys[1]
    return [r for r in records if r.method in (one, other) and (r.name, r.split) in both]


def against_wrapper(records: Sequence[Probabilities]) -> Table | None:
    """Return ratios to the wrapper by set; None where mercer itself has no records."""
    columns: list[tuple[str, str, Value]] = [
        ("log loss", WRAPPED, MEASURES["log loss"][1]),
        ("Brier score", WRAPPED, MEASURES["Brier score"][1]),
        ("seconds", WRAPPED, lambda one: one.processor),
        ("log loss, to not calibrated", UNCALIBRATED, MEASURES["log loss"][1]),
        ("seconds, to not calibrated", UNCALIBRATED, lambda one: one.processor),
    ]
    found = []
    for _, other, value in columns:
        mean = means(shared(records, MERCER, other), value)
        found.append({n: mean[n, m] / mean[n, other] for n, m in mean if m == MERCER})
    if not any(found):
        return None
    table = Table(["mercer / CalibratedClassifierCV", *(title for title, *_ in columns)])
    for name in names(records, tuple(CLASSES)):
        if any(name in ratios for ratios in found):
            cells = [f"{ratios[name]:.3f}" if name in ratios else MISSING for ratios in found]
            table.add([name, *cells])
    logs = [np.mean(np.log(list(ratios.values()))) if ratios else np.nan for ratios in found]
    table.add(["geometric mean", *(f"{np.exp(value):.3f}" for value in logs)])
    return table


def by_set(
    records: Sequence[Probabilities], value: Value, form: str, compared: bool = True
) -> Table:
    """Return a row a set and a column a method, the best in bold."""
    told, found = methods(records), means(records, value)
    place = ranks(found)
    table = Table(["", "rows", "splits", *told.values()])
    for name in names(records, tuple(CLASSES)):
        rows = max(one.rows for one in records if one.name == name)
        cells = []
        for method in told:
            text = form.format(found[name, method]) if (name, method) in found else MISSING
            best = compared and place.get((name, method)) == 1
            cells.append(f"**{text}**" if best else text)
        table.add([name, f"{rows:,}", splits(records, name), *cells])
    return table
