"""What was measured, as Markdown for people and as CSV for programs."""

from __future__ import annotations

import csv
import io

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

#: Steps that the first table shows.
SHOWN = (1, 2, 3, 4, 5, 6, 8, 11, 16, 32, 102)


def markdown(results: Results) -> str:
    """Return all tables, each between marks by which other pages include it."""
    trials = len(next(iter(results.steps.values())).errors)
    dropped = sum(found.dropped for found in results.steps.values())
    parts = [
        "# Results",
        "Written by `python -m experiments.kernel_conjugate_gradients`; do not edit. Means over "
        f"{trials} trials and standard errors of the means. The library left out {dropped or 'no'} "
        "functions because others span them.",
        f"## Prediction error after each step, n = {results.sizes[-1]}",
        "The squared L2 distance to the true function. `-`: no such step; the path has m of them, "
        "or 32 for the full kernel.",
        _marked("steps", steps_table(results, "errors")),
        f"## Training error after each step, n = {results.sizes[-1]}",
        "Mean squared difference from y on the rows of the fit; the noise has variance 1.",
        _marked("training", steps_table(results, "training")),
        "## n^(2/3) x prediction error",
        "At the best step of the mean curve (in brackets), as in the paper; for KRR at the best "
        "alpha (in brackets, times n^(2/3)). Slope: the exponent of n with which the error falls.",
        _marked("sizes", sizes_table(results)),
        "## n^(2/3) x prediction error, by how the number of steps is chosen",
        "Mean number of steps in brackets (KRR: alpha times n^(2/3)). The first two choices of a "
        "method know the true function, the others do not.",
        _marked("rules", rules_table(results)),
    ]
    return "\n\n".join(parts) + "\n"


def steps_table(results: Results, what: str) -> list[str]:
    """Return one column a method, at the largest n."""
    n = results.sizes[-1]
    columns = {
        name: mean_and_error(getattr(results.steps[name, n], what)) for name in results.methods
    }
    longest = max(len(mean) for mean, _ in columns.values())
    lines = _header(["step", *(LABELS[name] for name in columns)])
    for step in (step for step in SHOWN if step <= longest):
        cells = [
            f"{mean[step - 1]:.4f} ± {error[step - 1]:.4f}" if step <= len(mean) else "-"
            for mean, error in columns.values()
        ]
        lines.append(_row([str(step), *cells]))
    return lines


def sizes_table(results: Results) -> list[str]:
    """Return one row a method, one column an n."""
    lines = _header(["", *(f"n = {n}" for n in results.sizes), "slope"])
    for name in results.all_methods:
        cells = []
        for n in results.sizes:
            found = choices(results, name, n)[ORACLE].scaled(n)
            cells.append(f"{found.mean:.2f} ± {found.error:.2f} ({found.setting:.3g})")
        lines.append(_row([LABELS[name], *cells, f"{slope(results, name, ORACLE):.2f}"]))
    lines.append(_row(["theory", *("constant" for _ in results.sizes), f"{-RATE:.2f}"]))
    return lines


def rules_table(results: Results) -> list[str]:
    """Return one row a method and rule, one column an n."""
    lines = _header(["", "chosen by", *(f"n = {n}" for n in results.sizes), "slope"])
    for name in results.all_methods:
        by_size = [choices(results, name, n) for n in results.sizes]
        for rule in by_size[0]:
            found = [
                by_rule[rule].scaled(n) for n, by_rule in zip(results.sizes, by_size, strict=True)
            ]
            cells = [_brief(choice) for choice in found]
            lines.append(_row([LABELS[name], rule, *cells, f"{slope(results, name, rule):.2f}"]))
    return lines


def steps_csv(results: Results) -> str:
    """Return the mean errors after every step."""
    rows = []
    for (name, n), found in results.steps.items():
        pairs = (mean_and_error(found.errors), mean_and_error(found.training))
        columns = np.column_stack([part for pair in pairs for part in pair])
        for step, values in enumerate(columns, start=1):
            rows.append([name, n, step, *(f"{value:.6g}" for value in values)])
    names = ["prediction", "prediction_se", "training", "training_se"]
    return _csv(["method", "n", "step", *names], rows)


def sizes_csv(results: Results) -> str:
    """Return the mean errors of every way to choose the number of steps, or alpha."""
    rows = []
    for name in results.all_methods:
        for n in results.sizes:
            for rule, found in choices(results, name, n).items():
                setting = "" if found.setting is None else f"{found.setting:.6g}"
                rows.append([name, n, rule, setting, f"{found.mean:.6g}", f"{found.error:.6g}"])
    return _csv(["method", "n", "chosen_by", "setting", "prediction", "prediction_se"], rows)


def _brief(choice: Choice) -> str:
    setting = "" if choice.setting is None else f" ({choice.setting:.3g})"
    return f"{choice.mean:.2f}{setting}"


def _header(names: list[str]) -> list[str]:
    return [_row(names), "|" + "---|" * len(names)]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(name: str, lines: list[str]) -> str:
    table = "\n".join(lines)
    return f"<!-- {name} -->\n\n{table}\n\n<!-- end of {name} -->"


def _csv(header: list[str], rows: list[list[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()
