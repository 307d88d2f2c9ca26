"""Tables of the comparison page, made of the records in ``benchmarks/``: they cannot go stale."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
#: What stands in the page for the table.
MARK = "<!-- measured: defaults -->"
PAGE = "comparison"


def defaults() -> str:
    """Return errors and seconds of mercer, the best of the trees and XGBoost on raw tables."""
    sys.path.insert(0, str(ROOT))  # benchmarks are no part of the package
    from benchmarks import tables
    from benchmarks.peers import DEFAULT, TREES
    from benchmarks.table_report import BEST, LEAST, Found, geometric_mean, ratios_to
    from benchmarks.table_sets import CLASSIFICATION, REGRESSION, SETS
    from experiments.scaffold.tables import Table

    found = Found.of(SETS, tables.read(tables.RECORDS).values())
    table = Table(["table", DEFAULT, "best of the trees", "ratio", "fit", "fit, XGBoost"])
    means = {}
    for kind in (REGRESSION, CLASSIFICATION):
        ratios = ratios_to(found, kind, BEST)
        means[kind] = geometric_mean(list(ratios.values()), LEAST)
        for name, ratio in sorted(ratios.items(), key=lambda pair: pair[1]):
            errors = {m: np.mean(v) for m in (DEFAULT, *TREES) if (v := found.values(name, m))}
            best = min(TREES, key=lambda tree: errors.get(tree, np.inf))
            seconds = [np.mean(found.values(name, m, "fit")) for m in (DEFAULT, "XGBoost")]
            table.add(
                [
                    name,
                    f"{errors[DEFAULT]:.3g}",
                    f"{errors[best]:.3g} ({best})",
                    f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}",
                    *(f"{value:.1f} s" for value in seconds),
                ]
            )
    told = (
        "Geometric means of the ratios, where one below a half counts as a half: "
        f"{means[REGRESSION]:.2f} in regression and {means[CLASSIFICATION]:.2f} in classification."
    )
    return f"{table}\n\n{told}"


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the table in its place."""
    if docname == PAGE:
        for path in sorted((ROOT / "benchmarks").glob("*.jsonl")):
            app.env.note_dependency(str(path))
        source[0] = source[0].replace(MARK, defaults())


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the above."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
