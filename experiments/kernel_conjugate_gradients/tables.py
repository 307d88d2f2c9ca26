"""What was measured, as Markdown for people and as CSV for programs."""

from __future__ import annotations

import numpy as np

from experiments.kernel_conjugate_gradients.problem import RATE
from experiments.kernel_conjugate_gradients.summary import (
    LABELS,
    ORACLE,
    Choice,
    choices,
    mean_and_error,
    slope,
)
from experiments.kernel_conjugate_gradients.trials import Results
from experiments.scaffold.records import csv_text
from experiments.scaffold.tables import Table, marked, page

#: Steps that the first table shows.
SHOWN = (1, 2, 3, 4, 5, 6, 8, 11, 16, 32, 102)


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    trials = len(next(iter(results.steps.values())).errors)
    dropped = sum(found.dropped for found in results.steps.values())
    about = (
        "Means over "
        f"{trials} trials and standard errors of the means. The library left out {dropped or 'no'} "
        "functions because others span them."
    )
    parts = [
        f"## Prediction error after each step, n = {results.sizes[-1]}",
        "The squared L2 distance to the true function. `-`: no such step; the path has m of them, "
        "or 32 for the full kernel.",
        marked("steps", steps_table(results, "errors")),
        f"## Training error after each step, n = {results.sizes[-1]}",
        "Mean squared difference from y on the rows of the fit; the noise has variance 1.",
        marked("training", steps_table(results, "training")),
        "## n^(2/3) x prediction error",
        "At the best step of the mean curve (in brackets), as in the paper; for KRR at the best "
        "alpha (in brackets, times n^(2/3)). Slope: the exponent of n with which the error falls.",
        marked("sizes", sizes_table(results)),
        "## n^(2/3) x prediction error, by how the number of steps is chosen",
        "Mean number of steps in brackets (KRR: alpha times n^(2/3)). The first two choices of a "
        "method know the true function, the others do not.",
        marked("rules", rules_table(results)),
    ]
    return page("kernel_conjugate_gradients", about, *parts)


def steps_table(results: Results, what: str) -> Table:
    """Return one column a method, at the largest n."""
    n = results.sizes[-1]
    columns = {
        name: mean_and_error(getattr(results.steps[name, n], what)) for name in results.methods
    }
    longest = max(len(mean) for mean, _ in columns.values())
    table = Table(["step", *(LABELS[name] for name in columns)])
    for step in (step for step in SHOWN if step <= longest):
        cells = [
            f"{mean[step - 1]:.4f} ± {error[step - 1]:.4f}" if step <= len(mean) else "-"
            for mean, error in columns.values()
        ]
        table.add([str(step), *cells])
    return table


def sizes_table(results: Results) -> Table:
    """Return one row a method, one column an n."""
    table = Table(["", *(f"n = {n}" for n in results.sizes), "slope"])
    for name in results.all_methods:
        cells = []
        for n in results.sizes:
            found = choices(results, name, n)[ORACLE].scaled(n)
            cells.append(f"{found.mean:.2f} ± {found.error:.2f} ({found.setting:.3g})")
        table.add([LABELS[name], *cells, f"{slope(results, name, ORACLE):.2f}"])
    table.add(["theory", *("constant" for _ in results.sizes), f"{-RATE:.2f}"])
    return table


def rules_table(results: Results) -> Table:
    """Return one row a method and rule, one column an n."""
    table = Table(["", "chosen by", *(f"n = {n}" for n in results.sizes), "slope"])
    for name in results.all_methods:
        by_size = [choices(results, name, n) for n in results.sizes]
        for rule in by_size[0]:
            found = [
                by_rule[rule].scaled(n) for n, by_rule in zip(results.sizes, by_size, strict=True)
            ]
            cells = [_brief(choice) for choice in found]
            table.add([LABELS[name], rule, *cells, f"{slope(results, name, rule):.2f}"])
    return table


def steps_csv(results: Results) -> str:
    """Return the mean errors after every step."""
    rows = []
    for (name, n), found in results.steps.items():
        pairs = (mean_and_error(found.errors), mean_and_error(found.training))
        columns = np.column_stack([part for pair in pairs for part in pair])
        for step, values in enumerate(columns, start=1):
            rows.append([name, n, step, *values])
    names = ["prediction", "prediction_se", "training", "training_se"]
    return csv_text(["method", "n", "step", *names], rows)


def sizes_csv(results: Results) -> str:
    """Return the mean errors of every way to choose the number of steps, or alpha."""
    rows = []
    for name in results.all_methods:
        for n in results.sizes:
            for rule, found in choices(results, name, n).items():
                rows.append([name, n, rule, found.setting, found.mean, found.error])
    return csv_text(["method", "n", "chosen_by", "setting", "prediction", "prediction_se"], rows)


def _brief(choice: Choice) -> str:
    setting = "" if choice.setting is None else f" ({choice.setting:.3g})"
    return f"{choice.mean:.2f}{setting}"
