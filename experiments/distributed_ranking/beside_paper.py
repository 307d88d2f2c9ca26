"""Tables 2 to 4, beside the numbers that the paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.distributed_ranking import paper
from experiments.distributed_ranking.cells import error_text, seconds_text, stopped_text
from experiments.distributed_ranking.measured import Measured
from experiments.distributed_ranking.parts import PrintedTable
from experiments.distributed_ranking.systems import ALL, LITERAL, LOCAL
from experiments.scaffold.tables import Table


def real(rows: Sequence[Measured], table: PrintedTable) -> list[str]:
    """Return table 2 or 3 beside the paper's."""
    return beside_paper(rows, paper.TABLES[table.number])


def beside_paper(
    rows: Sequence[Measured], printed: Mapping[paper.Key, tuple[float, float]]
) -> list[str]:
    """Return every setting with the paper's error and seconds where it has them."""
    exact = next(row for row in rows if row.system == "LSRank")
    told = printed["LSRank", 0, 1, 0]
    table = Table(
        [
            "system",
            "p",
            "m",
            "rounds",
            "error",
            "minus LSRank (± standard error)",
            "paper",
            "paper, minus LSRank",
            "seconds",
            "over p",
            "one shard alone",
            "paper, seconds",
        ]
    )
    alone = {
        (row.system.removesuffix(", one shard"), row.components, row.shards): row.seconds
        for row in rows
        if row.system in LOCAL
    }
    order = sorted(
        (row for row in rows if row.system not in LOCAL),
        key=lambda row: (row.shards, row.components),
    )
    for row in order:
        key = (row.system, row.components, row.shards, row.rounds)
        known = printed.get(key) if row.pairs == ALL or row.system == LITERAL else None
        if row.system == LITERAL:
            known = printed.get((paper.RF_C, *key[1:]))
        elif row.system == paper.RF_C:
            known = None  # beside Algorithm 1, which is what the paper runs
        over = "-"
        if not np.isnan(row.over_exact):
            over = f"{row.over_exact:+.4f}"
            over += f" ± {row.over_exact_se:.4f}" if row.trials > 1 else ""
        cells = [
            _name(row),
            str(row.shards) if row.shards > 1 else "",
            str(row.components or ""),
            str(row.rounds or ""),
            error_text(row) + stopped_text(row),
            over,
            f"{known[0]:g}" if known else "",
            f"{known[0] - told[0]:+.4f}" if known and row is not exact else "",
            seconds_text(row.seconds) if row.seconds else "",
            seconds_text(row.local_seconds) if row.shards > 1 else "",
            seconds_text(alone[key[:3]]) if key[:3] in alone else "",
            f"{known[1]:g}" if known else "",
        ]
        table.add(cells)
    about = (
        f"Trials: {exact.trials}, of {exact.rows} training rows on average. In brackets: trials in "
        "which rounds were stopped, and, after a slash, without any round kept, which counts as an "
        "error of 1/2. `Algorithm 1` is the paper's DRank-RF-C as written."
    )
    return [about, str(table)]


def _name(row: Measured) -> str:
    if row.system == paper.RF_C:
        return f"{row.system}, {'all pairs' if row.pairs == ALL else 'pairs within shards'}"
    return row.system
