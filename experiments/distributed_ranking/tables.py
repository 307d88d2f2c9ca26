"""What was measured, beside the numbers of the paper, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.distributed_ranking import paper
from experiments.distributed_ranking.beside_paper import beside_paper, real
from experiments.distributed_ranking.cells import (
    error_text,
    over_all_text,
    seconds_text,
    stopped_text,
)
from experiments.distributed_ranking.measured import Measured, select
from experiments.distributed_ranking.parts import (
    AT_COMPONENTS,
    AT_SHARDS,
    FUNCTION_ROUNDS,
    MOST_ROUNDS,
    REAL_4,
    ROUNDS,
    SIMULATED_4,
    TABLES,
    Chosen,
)
from experiments.distributed_ranking.simulated import SCALES, Least
from experiments.distributed_ranking.systems import (
    ALL,
    CONJUGATE,
    EXACT_RF,
    LITERAL,
    NEWTON,
    WITHIN,
)
from experiments.scaffold.tables import Table, page

#: How many different choices of a system are listed.
SHOWN = 3


@dataclass(frozen=True)
class Results:
    """What each part has measured, what was chosen for it, and the least errors that can be."""

    found: Mapping[str, Sequence[Measured]]
    chosen: Mapping[str, Sequence[Chosen]]
    least: Mapping[str, Least]


def markdown(results: Results) -> str:
    """Return all tables of the parts that were run."""
    found = results.found
    about = (
        "Errors are shares of "
        "pairs in the wrong order: means over trials, ± standard deviations between them. Seconds "
        "are medians, of one processor, of whole fits with all shards one after the other. "
        "[README.md](README.md) says what was run and what it shows."
    )
    texts = [
        "## The least error on the simulated data",
        *least_table(results.least),
    ]
    makers = {"figure1": figure1, "figure2": figure2, "figure2_tuned": figure2_tuned}
    for part, make in (makers | {"rounds": rounds}).items():
        for scale in SCALES if found.get(part) else ():
            texts += make(found[part], scale)
    if found.get("function_rounds"):
        texts.append("## DRank-C on the simulated data")
        texts += function_rounds(found["function_rounds"])
    for name, table in TABLES.items():
        texts.append(f"## Table {table.number}: {name}")
        rows = found.get(name)
        texts += real(rows, table) if rows else [f"Not run: {name} was not at hand."]
    if found.get("jester_scaled"):
        texts += ["## Table 3: jester, ratings in other units", *scaled(found["jester_scaled"])]
    if found.get("table4"):
        for group, key in ((SIMULATED_4, "simulated"), (REAL_4, "movielens")):
            rows = [row for row in found["table4"] if row.group == group]
            if rows:
                texts += [f"## Table 4: {group}", *beside_paper(rows, paper.TABLE_4[key])]
    texts += ["## Bandwidth and lambda that cross-validation chose", chosen_table(results.chosen)]
    return page("distributed_ranking", about, *texts)


def scaled(rows: Sequence[Measured]) -> list[str]:
    """Return what units change for the exact kernel and for random features."""
    groups = list(dict.fromkeys(row.group for row in rows))
    table = Table(["system", "p", "m", *groups])
    for first in (row for row in rows if row.group == groups[0]):
        same = [select(rows, group, first.system) for group in groups]
        cells = []
        for found in same:
            (row,) = (
                r for r in found if (r.shards, r.components) == (first.shards, first.components)
            )
            plus = f", {row.over_exact:+.4f} ± {row.over_exact_se:.4f}"
            cells.append(f"{row.error:.4f}{plus if row.system != 'LSRank' else ''}")
        sizes = [first.shards if first.shards > 1 else "", first.components or ""]
        table.add([first.system, *map(str, sizes), *cells])
    return [
        f"Ratings of reference reviewers divided by 10 and by 50; {rows[0].trials} test reviewers. "
        "Error, and what it is above that of LSRank in the same trials, ± standard error.",
        str(table),
    ]


def least_table(least: Mapping[str, Least]) -> list[str]:
    """Return the share of pairs that nobody can order, and what it costs."""
    about = (
        "Test rows, means over draws. Pairs on one level differ in y by noise alone. The "
        "regression function [norm of x / 7] ties them, and ties count as wrong; the norm of x "
        "orders them at random."
    )
    table = Table(
        [
            "columns",
            "pairs on one level",
            "least expected error",
            "measured error of the norm of x",
            "of the regression function",
        ]
    )
    for name, row in least.items():
        values = (row.tied, row.least, row.by_norm, row.by_level)
        table.add([name, *(f"{value:.4f}" for value in values)])
    return [about, str(table)]


def chosen_table(chosen: Mapping[str, Sequence[Chosen]]) -> str:
    """Return what was chosen, with counts where trials have choices of their own."""
    head = ["for", "system", "p", "m", "rounds", "rows"]
    table = Table([*head, "bandwidth (times chosen)", "lambda (times chosen)", "error of folds"])
    seen = set()
    for found in chosen.values():
        for key in dict.fromkeys(_chosen_key(row) for row in found):
            if key in seen:
                continue
            seen.add(key)
            rows = [row for row in found if _chosen_key(row) == key]
            first = rows[0]
            sizes = [first.shards if first.shards > 1 else 0, first.components, first.rounds]
            cells = [
                f"{np.mean([row.rows for row in rows]):.0f}",
                _counts([f"{row.bandwidth:.3g}" for row in rows]),
                _counts([f"2^{np.log2(row.alpha):.0f}" for row in rows]),
                f"{np.mean([row.error for row in rows]):.4f}",
            ]
            table.add([first.group, first.system, *(str(one or "") for one in sizes), *cells])
    return str(table)


def _chosen_key(row: Chosen) -> tuple[str, str, int, int, int]:
    return row.group, row.system, row.components, row.shards, row.rounds


def figure1(found: Sequence[Measured], scale: str) -> list[str]:
    """Return errors and seconds against m and against p."""
    (exact,) = select(found, scale, "LSRank")
    texts = [
        f"## Figure 1, {scale} columns",
        f"LSRank: error {error_text(exact)} (pairs on different levels {exact.level_error:.4f}), "
        f"{exact.seconds:.1f} s.",
        f"Against m, p = {AT_SHARDS}:",
    ]
    table = Table(["m", "DRank-RF", "different levels", "seconds", "LSRank takes"])
    rows = sorted(
        select(found, scale, "DRank-RF", shards=AT_SHARDS), key=lambda row: row.components
    )
    for row in rows:
        cells = [
            str(row.components),
            error_text(row),
            f"{row.level_error:.4f}",
            seconds_text(row.seconds),
        ]
        table.add([*cells, f"{exact.seconds / row.seconds:.0f} times as long"])
    texts += [str(table), f"Against p, m = {AT_COMPONENTS}:"]
    names = ("DRank", "DRank-RF")
    table = Table(
        ["p", *names]
        + [f"{name}, seconds: all, over p, one shard alone" for name in names]
        + ["LSRank over DRank-RF: all, one shard"]
    )
    for row in select(found, scale, "DRank"):
        p = row.shards
        (ours,) = select(found, scale, "DRank-RF", components=AT_COMPONENTS, shards=p)
        cells = [str(p), error_text(row), error_text(ours)]
        local = {}
        for one in (row, ours):
            (local[one.system],) = select(found, scale, f"{one.system}, one shard", shards=p)
            alone = seconds_text(local[one.system].seconds)
            cells.append(f"{seconds_text(one.seconds)}, {seconds_text(one.local_seconds)}, {alone}")
        ratios = (exact.seconds / ours.seconds, exact.seconds / local["DRank-RF"].seconds)
        table.add([*cells, ", ".join(f"{ratio:.0f}" for ratio in ratios)])
    return [*texts, str(table)]


def figure2(found: Sequence[Measured], scale: str) -> list[str]:
    """Return errors against p, and what pairs across shards change."""
    (goal,) = select(found, scale, EXACT_RF)
    kinds = (
        ("Algorithm 1 as written: pairs within shards, nothing stops it", LITERAL, WITHIN),
        (
            "DRank-RF-C: pairs within shards, stopped where a round raises the objective",
            "DRank-RF-C",
            WITHIN,
        ),
        ("DRank-RF-C: all pairs, stopped likewise", "DRank-RF-C", ALL),
        ("Conjugate rounds, all pairs", CONJUGATE, ALL),
    )
    texts = [
        f"## Figure 2, {scale} columns, m = {goal.components}",
        f"All rows in one place with these features (LSRank-RF): {error_text(goal)}; draws: "
        f"{goal.trials}. Below is what systems have more than that in the same draws, ± the "
        "standard deviation of these differences. In brackets: in how many trials rounds "
        "were stopped, and, after a slash, without any round kept, which counts as an error of "
        "1/2.",
    ]
    plain = select(found, scale, "DRank-RF")
    for title, system, pairs in kinds:
        table = Table(["p", "DRank-RF", *(f"{rounds} rounds" for rounds in ROUNDS)])
        for row in plain:
            cells = [
                over_all_text(one) + stopped_text(one)
                for rounds in ROUNDS
                for one in select(found, scale, system, pairs, shards=row.shards, rounds=rounds)
            ]
            table.add([str(row.shards), over_all_text(row), *cells])
        texts += [f"{title}:", str(table)]
    return texts


def figure2_tuned(found: Sequence[Measured], scale: str) -> list[str]:
    """Return errors against p where every system has a bandwidth and lambda of its own."""
    (goal,) = select(found, scale, EXACT_RF)
    table = Table(["p", "DRank-RF", *(f"Algorithm 1, {rounds} rounds" for rounds in ROUNDS)])
    for row in select(found, scale, "DRank-RF"):
        ours = [
            select(found, scale, LITERAL, WITHIN, shards=row.shards, rounds=rounds)[0]
            for rounds in ROUNDS
        ]
        table.add([str(row.shards), *(over_all_text(one) for one in (row, *ours))])
    about = (
        f"LSRank-RF: {error_text(goal)}; draws: {goal.trials}. What systems have more than that in "
        "the same draws, ± the standard deviation of these differences."
    )
    title = f"## Figure 2, {scale} columns, every system tuned by itself for every p and rounds"
    return [title, about, str(table)]


def rounds(found: Sequence[Measured], scale: str) -> list[str]:
    """Return distances to the coefficients of all rows, and errors, against p."""
    kinds = (
        ("Algorithm 1 as written", LITERAL, WITHIN),
        ("Newton from zero, within shards", "DRank-RF-C", WITHIN),
        ("Newton from zero, all pairs", "DRank-RF-C", ALL),
        ("Newton from the average, all pairs", NEWTON, ALL),
        ("conjugate, all pairs", CONJUGATE, ALL),
    )
    (goal,) = select(found, scale, EXACT_RF)
    texts = [
        f"## Rounds up to 400 shards, {scale} columns",
        f"Relative distance of the coefficients to those of all rows after {MOST_ROUNDS} rounds, "
        f"m = {goal.components}; in brackets trials that were stopped, and without a round kept.",
    ]
    distances, errors = ["p", "rows a shard"], ["p", "DRank-RF"]
    tables = [Table(first + [title for title, *_ in kinds]) for first in (distances, errors)]
    for plain in select(found, scale, "DRank-RF"):
        p = plain.shards
        rows = [select(found, scale, name, pairs, shards=p)[0] for _, name, pairs in kinds]
        away = [f"{row.distance:.0e}{stopped_text(row)}" for row in rows]
        tables[0].add([str(p), str(plain.rows // p), *away])
        tables[1].add([str(p), error_text(plain), *(error_text(row) for row in rows)])
    told = f"Errors of the same; all rows in one place: {error_text(goal)}."
    return [*texts, str(tables[0]), told, str(tables[1])]


def function_rounds(rows: Sequence[Measured]) -> list[str]:
    """Return errors of rounds with the full kernel, beside those without rounds."""
    head = [f"{count} rounds, minus LSRank" for count in FUNCTION_ROUNDS]
    table = Table(
        ["columns", "p", "LSRank", "DRank, minus LSRank", *head, "seconds", "LSRank, seconds"]
    )
    for scale in SCALES:
        (exact,) = select(rows, scale, "LSRank")
        for plain in select(rows, scale, "DRank"):
            p = plain.shards
            ours = [select(rows, scale, "DRank-C", shards=p, rounds=M)[0] for M in FUNCTION_ROUNDS]
            cells = [f"{row.over_exact:+.5f}{stopped_text(row)}" for row in (plain, *ours)]
            times = [seconds_text(ours[-1].seconds), seconds_text(exact.seconds)]
            table.add([scale, str(p), error_text(exact), *cells, *times])
    about = (
        f"Newton rounds from the average with the full kernel; trials: {rows[0].trials}. Where the "
        "first round is stopped (in brackets), the model is that of DRank."
    )
    return [about, str(table)]


def _counts(values: list[str]) -> str:
    counts = {value: values.count(value) for value in values}
    if len(counts) == 1:
        return values[0]
    ordered = sorted(counts, key=lambda value: -counts[value])
    told = [f"{value} ({counts[value]})" for value in ordered[:SHOWN]]
    rest = sum(counts[value] for value in ordered[SHOWN:])
    return ", ".join([*told, f"others ({rest})"] if rest else told)
