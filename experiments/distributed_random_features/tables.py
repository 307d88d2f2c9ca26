"""What was measured, as Markdown: the simulated problems here, real data next door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import PROBLEMS
from experiments.distributed_random_features.real_tables import LABEL, error, real_data
from experiments.distributed_random_features.simulated import (
    CONSTANTS,
    METHODS,
    VARIANTS,
    WITH_CONSTANTS,
)
from experiments.distributed_random_features.simulated import group as group_name
from experiments.distributed_random_features.summary import slope
from experiments.scaffold.records import select
from experiments.scaffold.stored import Curve
from experiments.scaffold.tables import Table, page


def markdown(parts: Mapping[str, Sequence[Measured]], authors: Sequence[Curve] = ()) -> str:
    """Return all tables of the parts that were run, by the names of their files."""
    about = (
        "Means over "
        "trials ± standard deviations; the CSV files also say how many trials. "
        "[README.md](README.md) says what was run, and what agrees with the paper."
    )
    texts: list[str] = []
    simulated = [row for name in PROBLEMS for row in parts.get(name, [])]
    if simulated:
        texts += ["## Rates (figures 6 to 8)", *rates(simulated)]
        for problem in PROBLEMS.values():
            if select(simulated, group=problem.name, method="DKRR-RF"):
                title = f"## {problem.name.capitalize()} problem (figure {problem.figure})"
                texts += [title, *errors_and_times(simulated, problem.name)]
    if parts.get("series"):
        texts += ["## Rates by harmonics and constants", *series([*parts["series"], *simulated])]
    if parts.get("constants"):
        texts += ["## Rate of DKRR-RF by the constant C", *constants(parts["constants"])]
    return page("distributed_random_features", about, *texts, *real_data(parts, authors))


def rates(found: Sequence[Measured]) -> list[str]:
    """Return the exponents of n beside those of the theory and the paper."""
    table = Table(["problem", "theory", "paper, DKRR-RF", *(LABEL[name] for name in METHODS)])
    for problem in PROBLEMS.values():
        cells = [_rate(select(found, group=problem.name, method=name)) for name in METHODS]
        title = f"{problem.name}: r = {problem.r:g}, gamma = {problem.gamma:g}"
        table.add([title, f"{problem.rate:g}", problem.paper, *cells])
    about = (
        "The error falls as n to minus this power: a line through the logarithms of n and the mean "
        "excess risk, ± the standard error of its slope."
    )
    return [about, str(table)]


def errors_and_times(found: Sequence[Measured], name: str) -> list[str]:
    """Return excess risk, and seconds of the fit, of one problem."""
    curves = {method: select(found, group=name, method=method) for method in METHODS}
    errors = Table(["n", "M", "m", *(LABEL[method] for method in METHODS)])
    times = Table(["n", *(LABEL[method] for method in METHODS), "KRR-DC / m", "DKRR-RF / m"])
    for rows in zip(*curves.values(), strict=True):
        by_method = dict(zip(METHODS, rows, strict=True))
        ours, local = by_method["DKRR-RF"], by_method["DKRR"]
        n = str(ours.rows)
        cells = [error(row) for row in rows]
        errors.add([n, str(ours.components), str(ours.shards), *cells])
        shares = [f"{row.seconds / row.shards:.3f}" for row in (local, ours)]
        times.add([n, *(f"{row.seconds:.3f}" for row in rows), *shares])
    return [
        "Excess risk: the squared L2 distance to the target.",
        str(errors),
        "Seconds of a fit, all shards one after the other or on two threads; divided by m, about "
        "what it takes where every shard has a machine.",
        str(times),
    ]


def series(found: Sequence[Measured]) -> list[str]:
    """Return rates, and the first and last errors of DKRR-RF, by harmonics and constants."""
    head = ["problem", "harmonics", "C", *(f"rate, {LABEL[name]}" for name in METHODS)]
    table = Table([*head, "DKRR-RF, first n", "DKRR-RF, last n"])
    as_drawn = [
        (name, PROBLEMS[name].harmonics, PROBLEMS[name].constant, name)
        for name in ("difficult", "general")
    ]
    others = [(one.name, one.harmonics, one.constant, one.group) for one in VARIANTS]
    for name, harmonics, constant, group in sorted(as_drawn + others, key=_order):
        ours = select(found, group=group, method="DKRR-RF")
        if ours:
            shown = "all" if np.isinf(harmonics) else f"{harmonics:.0f}"
            cells = [name, shown, f"{constant:g}"]
            cells += [_rate(select(found, group=group, method=method)) for method in METHODS]
            table.add([*cells, error(ours[0]), error(ours[-1])])
    about = (
        "With all harmonics the error is the mean over 10000 rows drawn to test on, as in the "
        "paper; its expectation is infinite, so rates of it are rough. Otherwise it is the squared "
        "L2 distance."
    )
    return [about, str(table)]


def constants(found: Sequence[Measured]) -> list[str]:
    """Return rates and errors for every constant."""
    table = Table(["problem", "C", "rate", "first n: M, m", "error", "last n: M, m", "error"])
    for problem in (PROBLEMS[name] for name in WITH_CONSTANTS):
        for constant in CONSTANTS:
            rows = select(found, group=group_name(problem, constant), method="DKRR-RF")
            if rows:
                cells = [problem.name, f"{constant:g}", _rate(rows)]
                for row in (rows[0], rows[-1]):
                    cells.append(f"{row.rows}: {row.components}, {row.shards}")
                    cells.append(error(row))
                table.add(cells)
    return [str(table)]


def _rate(rows: Sequence[Measured]) -> str:
    power, spread = slope(rows)
    return "-" if np.isnan(power) else f"{-power:.2f} ± {spread:.2f}"


def _order(row: tuple[str, float, float, str]) -> tuple[str, float, float]:
    name, harmonics, constant, _ = row
    return name, harmonics, -constant
