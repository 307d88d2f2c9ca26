"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.problems import PROBLEMS
from experiments.distributed_random_features.real import (
    FEATURES,
    FIXED_COMPONENTS,
    FIXED_SHARDS,
    SETS,
    SHARDS,
    RealSet,
)
from experiments.distributed_random_features.simulated import CONSTANTS, METHODS, WITH_CONSTANTS
from experiments.distributed_random_features.simulated import group as group_name
from experiments.distributed_random_features.summary import (
    TOLERANCE,
    TOLERANCES,
    fewest_components,
    most_shards,
    slope,
)
from experiments.scaffold.records import select
from experiments.scaffold.tables import Table, page

LABEL = {"KRR": "KRR", "DKRR": "KRR-DC", "KRR-RF": "KRR-RF", "DKRR-RF": "DKRR-RF"}


def markdown(parts: Mapping[str, Sequence[Measured]]) -> str:
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
    if parts.get("constants"):
        texts += ["## Rate of DKRR-RF by the constant C", *constants(parts["constants"])]
    texts += ["## Knees (figures 12 to 14)", *knees(parts)]
    for name, chosen in SETS.items():
        rows = [*parts.get(name, []), *parts.get(f"{name}_exact", [])]
        title = f"## {name} (figure {chosen.figure})"
        texts += [title, *(real(rows) if rows else [f"Not run: {name} was not at hand."])]
    return page("distributed_random_features", about, *texts)


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
        cells = [_error(row) for row in rows]
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
                    cells.append(_error(row))
                table.add(cells)
    return [str(table)]


def knees(parts: Mapping[str, Sequence[Measured]]) -> list[str]:
    """Return where errors leave those of the methods they stand in for."""
    shares = [f"{tolerance:.0%}" for tolerance in TOLERANCES]
    in_m = Table(["set", "rows", *shares, "rows a shard", "paper", "paper's rows a shard"])
    own = [f"{share} of M = largest" for share in shares]
    in_M = Table(["set", *(f"{share} of KRR-DC" for share in shares), *own, "paper"])
    for name, chosen in SETS.items():
        rows = [*parts.get(name, []), *parts.get(f"{name}_exact", [])]
        if not rows:
            missing = ["-"] * len(TOLERANCES)
            in_m.add([f"{name} (not run)", "-", *missing, "-", *_paper(chosen)])
            in_M.add([f"{name} (not run)", *missing, *missing, str(chosen.paper_components)])
            continue
        cut = select(rows, group=SHARDS)
        curve = [row for way in ("KRR-RF", "DKRR-RF") for row in select(cut, method=way)]
        if curve:
            found = [most_shards(curve, tolerance) for tolerance in TOLERANCES]
            local = f"{chosen.train / most_shards(curve, TOLERANCE):.0f}"
            cells = [f"{m}" for m in found]
            in_m.add([name, str(chosen.train), *cells, local, *_paper(chosen)])
        varied = select(rows, group=FEATURES)
        curve, exact = (select(varied, method=name) for name in ("DKRR-RF", "DKRR"))
        if curve:
            cells = []  # beside KRR-DC, then beside its own error at the largest M
            for rows_of in (exact, curve):
                if not rows_of:
                    cells += ["not run"] * len(TOLERANCES)
                    continue
                found_M = [fewest_components(curve, rows_of[-1].error, t) for t in TOLERANCES]
                cells += ["none" if M is None else str(M) for M in found_M]
            in_M.add([name, *cells, str(chosen.paper_components)])
    return [
        f"Knee in m, M = {FIXED_COMPONENTS}: the last m before the mean error of DKRR-RF exceeds "
        f"that of KRR-RF (m = 1) by the share in the head; rows a shard at {TOLERANCE:.0%}.",
        str(in_m),
        f"Knee in M, m = {FIXED_SHARDS}: the first M from which the mean error of DKRR-RF stays "
        "within the share in the head of the error of KRR-DC, or of its own at the largest M.",
        str(in_M),
    ]


def _paper(chosen: RealSet) -> list[str]:
    return [str(chosen.paper_shards), f"{250_000 / chosen.paper_shards:.0f}"]


def real(rows: Sequence[Measured]) -> list[str]:
    """Return the errors of one set against M and against m."""
    texts = []
    for group, column in ((FEATURES, "components"), (SHARDS, "shards")):
        table = Table([{"components": "M", "shards": "m"}[column], "method", "error", "seconds"])
        for row in (row for row in rows if row.group == group):
            key = getattr(row, column)
            cells = [f"{key}" if key else "-", LABEL[row.method]]
            table.add([*cells, _error(row), f"{row.seconds:.2f}"])
        fixed = f"m = {FIXED_SHARDS}" if group == FEATURES else f"M = {FIXED_COMPONENTS}"
        texts += [f"Share of test rows in the wrong class, {fixed}.", str(table)]
    return texts


def _rate(rows: Sequence[Measured]) -> str:
    power, error = slope(rows)
    return "-" if np.isnan(power) else f"{-power:.2f} ± {error:.2f}"


def _error(row: Measured) -> str:
    spread = f" ± {row.error_sd:.2g}" if row.trials > 1 else " (1 trial)"
    return f"{row.error:.4f}{spread}" if row.error > 0.01 else f"{row.error:.3g}{spread}"
