"""What was measured on real data, as Markdown: knees, and errors against M and m."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.distributed_random_features.as_stored import (
    AUTHORS_ROWS,
    SHARDS,
    SOURCE,
    STORED,
    same_rows,
)
from experiments.distributed_random_features.by_shards import BY_SHARDS, READINGS
from experiments.distributed_random_features.measured import Measured
from experiments.distributed_random_features.real import (
    EXACT,
    FEATURES,
    FIXED_COMPONENTS,
    FIXED_SHARDS,
    SETS,
    RealSet,
)
from experiments.distributed_random_features.summary import (
    TOLERANCE,
    TOLERANCES,
    fewest_components,
    most_shards,
)
from experiments.scaffold.records import select, values
from experiments.scaffold.stored import Curve
from experiments.scaffold.tables import Table

LABEL = {"KRR": "KRR", "DKRR": "KRR-DC", "KRR-RF": "KRR-RF", "DKRR-RF": "DKRR-RF"}
#: Rows to train on in the paper.
PAPER_ROWS = 250_000
Parts = Mapping[str, Sequence[Measured]]


def real_data(parts: Parts, authors: Sequence[Curve] = ()) -> list[str]:
    """Return all sections."""
    texts = ["## Knees (figures 12 to 14)", *knees_in_m(parts), *knees_in_M(parts)]
    for name, chosen in SETS.items():
        texts.append(f"## {name} (figure {chosen.figure})")
        found = against_M([*parts.get(name, []), *parts.get(name + EXACT, [])])
        found += against_m(parts.get(name + BY_SHARDS, []))
        found += as_stored(parts.get(name + STORED, []), select(authors, name=name))
        texts += found or [f"Not run: {name} was not at hand."]
    return texts


def knees_in_m(parts: Parts) -> list[str]:
    """Return where errors leave that of one shard, for each reading of lambda."""
    shares = [f"{tolerance:.0%}" for tolerance in TOLERANCES]
    head = ["set", "lambda against", "rows", *shares, "rows a shard"]
    table = Table([*head, "paper", "paper's rows a shard"])
    for name, chosen in SETS.items():
        found = parts.get(name + BY_SHARDS, [])
        if not found:
            missing = ["-"] * (len(TOLERANCES) + 3)
            table.add([f"{name} (not run)", *missing, *_paper(chosen)])
        for reading in READINGS:
            curve = select(found, group=reading)
            if curve:
                knees = [most_shards(curve, tolerance) for tolerance in TOLERANCES]
                local = f"{curve[0].rows / most_shards(curve, TOLERANCE):.0f}"
                cells = [name, reading, str(curve[0].rows), *map(str, knees), local]
                table.add([*cells, *_paper(chosen)])
    return [
        f"Knee in m, M = {FIXED_COMPONENTS}: the last m before the mean error of DKRR-RF exceeds "
        f"that of KRR-RF (m = 1) by the share in the head; rows a shard at {TOLERANCE:.0%}.",
        str(table),
    ]


def knees_in_M(parts: Parts) -> list[str]:
    """Return where errors come near that of the exact kernel, and near their own limit."""
    shares = [f"{tolerance:.0%}" for tolerance in TOLERANCES]
    own = [f"{share} of M = largest" for share in shares]
    table = Table(["set", *(f"{share} of KRR-DC" for share in shares), *own, "paper"])
    for name, chosen in SETS.items():
        rows = [*parts.get(name, []), *parts.get(name + EXACT, [])]
        curve, exact = (select(rows, group=FEATURES, method=way) for way in ("DKRR-RF", "DKRR"))
        if not curve:
            missing = ["-"] * 2 * len(TOLERANCES)
            table.add([f"{name} (not run)", *missing, str(chosen.paper_components)])
            continue
        cells = []  # beside KRR-DC, then beside its own error at the largest M
        for reference in (exact, curve):
            if not reference:
                cells += ["not run"] * len(TOLERANCES)
                continue
            found = [fewest_components(curve, reference[-1].error, t) for t in TOLERANCES]
            cells += ["none" if M is None else str(M) for M in found]
        table.add([name, *cells, str(chosen.paper_components)])
    return [
        f"Knee in M, m = {FIXED_SHARDS}: the first M from which the mean error of DKRR-RF stays "
        "within the share in the head of the error of KRR-DC, or of its own at the largest M.",
        str(table),
    ]


def against_M(rows: Sequence[Measured]) -> list[str]:
    """Return the errors of one set against M."""
    if not rows:
        return []
    table = Table(["M", "method", "error", "seconds"])
    for row in rows:
        cells = [f"{row.components}" if row.components else "-", LABEL[row.method]]
        table.add([*cells, error(row), f"{row.seconds:.2f}"])
    text = f"Share of test rows in the wrong class, {rows[0].rows} rows, m = {FIXED_SHARDS}."
    return [text, str(table)]


def against_m(rows: Sequence[Measured]) -> list[str]:
    """Return the errors of one set against m, for each reading of lambda."""
    if not rows:
        return []
    table = Table(["m", *(f"lambda against the {reading}" for reading in READINGS)])
    for m in values(rows, "shards"):
        cells = [select(rows, shards=m, group=reading)[0] for reading in READINGS]
        table.add([str(m), *(error(row) for row in cells)])
    text = (
        f"Share of test rows in the wrong class, {rows[0].rows} rows, M = {FIXED_COMPONENTS}, "
        f"{rows[0].trials} trials; m = 1 is KRR-RF."
    )
    return [text, str(table)]


def as_stored(rows: Sequence[Measured], authors: Sequence[Curve]) -> list[str]:
    """Return errors in the setting of the authors' code beside their stored means."""
    if not rows:
        return []
    texts = []
    for group, varied in ((FEATURES, "components"), (SHARDS, "shards")):
        table = Table(["M" if group == FEATURES else "m", "rows a shard", "error", "stored"])
        theirs = {
            round(x if group == FEATURES else same_rows(rows[0].rows, int(x))): value
            for curve in select(authors, method=group)
            for x, value in reversed(list(zip(curve.x, curve.error, strict=True)))
            if group == FEATURES or rows[0].rows / AUTHORS_ROWS * x > 0.5  # else larger shards
        }
        for row in select(rows, group=group):
            x = getattr(row, varied)
            said = f"{theirs[x]:.4f}" if x in theirs else "-"
            table.add([str(x), f"{row.rows / row.shards:.0f}", error(row), said])
        held = f"{rows[0].shards} shards" if group == FEATURES else f"M = {FIXED_COMPONENTS}"
        texts += [
            f"In the setting of the authors' code: {rows[0].rows} rows, {rows[0].trials} repeats, "
            f"{held}; beside the means that they have stored ({SOURCE}) for shards of as many "
            "rows.",
            str(table),
        ]
    return texts


def error(row: Measured) -> str:
    """Return a mean and its deviation over trials."""
    spread = f" ± {row.error_sd:.2g}" if row.trials > 1 else " (1 trial)"
    return f"{row.error:.4f}{spread}" if row.error > 0.01 else f"{row.error:.3g}{spread}"


def _paper(chosen: RealSet) -> list[str]:
    return [str(chosen.paper_shards), f"{PAPER_ROWS / chosen.paper_shards:.0f}"]
