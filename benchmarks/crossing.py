"""Moments or products: time and error against the number of landmarks."""

from __future__ import annotations

from experiments.scaffold.tables import Table

from benchmarks.child import run_child
from benchmarks.data import ALPHA, TRAIN

SIZES = (500, 1000, 2000, 5000, 10_000)
#: Beyond these a method takes too long, or too much memory, for this machine.
LARGEST = {"moments": 5000, "scikit-learn": 2000}
WIDE, MANY = 20_000, 250_000


def run() -> list[object]:
    table: dict[int, dict[str, dict]] = {}
    for size in SIZES:
        table[size] = {}
        for method in ("moments", "products", "scikit-learn"):
            if size <= LARGEST.get(method, size):
                how = {"keep": "auto"} if method == "products" else {}
                table[size][method] = run_child(
                    "covtype_fit", method=method, landmarks=size, rows=TRAIN, alpha=ALPHA, **how
                )
    crossing = next(
        (s for s in SIZES if _seconds(table, s, "products") < _seconds(table, s, "moments")), None
    )
    wide = run_child(
        "covtype_fit",
        method="products",
        landmarks=WIDE,
        rows=MANY,
        alpha=ALPHA,
        keep=False,
        memory_limit="9GB",
    )
    rows = Table(["landmarks", "moments", "products", "steps", "scikit-learn"])
    for size, row in table.items():
        cells = [_cell(row.get(method)) for method in ("moments", "products", "scikit-learn")]
        rows.add([f"{size:,}", *cells[:2], str(row["products"]["steps"]), cells[2]])
    return [
        f"covtype, {TRAIN:,} rows, alpha = {ALPHA:g}: seconds to fit (test error; peak memory of "
        f"the process), one run each. Products are faster from {crossing:,} landmarks on (of those "
        f"tried).",
        rows,
        f"{WIDE:,} landmarks on {MANY:,} rows, values evaluated anew at each step: "
        f"{wide['seconds']:.0f} s, {wide['steps']} steps, test error {wide['error']:.4f}, peak "
        f"{wide['peak'] / 1e9:.1f} GB.",
    ]


def _seconds(table: dict[int, dict[str, dict]], size: int, method: str) -> float:
    return float(table[size].get(method, {}).get("seconds", float("inf")))


def _cell(found: dict | None) -> str:
    if found is None:
        return "not run"
    return f"{found['seconds']:.1f} s ({found['error']:.4f}; {found['peak'] / 1e9:.1f} GB)"
