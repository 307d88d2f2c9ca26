"""Landmarks beyond the reach of moments: products with kernel blocks (FALKON's system)."""

from __future__ import annotations

import statistics

from experiments.scaffold.tables import Table

from benchmarks.child import run_child
from benchmarks.data import ALPHA, TRAIN

LANDMARKS = 5000

CONTENDERS = {
    "products, values kept": {"method": "products", "keep": True},
    "products, values evaluated anew": {
        "method": "products",
        "keep": False,
        "memory_limit": "1.2GB",
    },
    "moments, float32": {"method": "moments", "dtype": "float32"},
    "moments, float64": {"method": "moments", "dtype": "float64"},
    "scikit-learn": {"method": "scikit-learn"},
}
#: These are slow, and enter ratios less: one repeat.
ONCE = ("products, values evaluated anew", "moments, float64")


def run(repeats: int) -> list[object]:
    found: dict[str, list[dict]] = {name: [] for name in CONTENDERS}
    for repeat in range(repeats):
        for name, settings in CONTENDERS.items():
            if repeat and name in ONCE:
                continue
            found[name].append(
                run_child("covtype_fit", landmarks=LANDMARKS, rows=TRAIN, alpha=ALPHA, **settings)
            )
    seconds = {n: statistics.median(one["seconds"] for one in r) for n, r in found.items()}
    table = Table(
        [
            "",
            "fit",
            "against scikit-learn",
            "against moments in float32",
            "steps",
            "test error",
            "peak",
        ]
    )
    for name, runs in found.items():
        own, peak = seconds[name], max(one["peak"] for one in runs)
        ratios = [f"{seconds[one] / own:.1f}x" for one in ("scikit-learn", "moments, float32")]
        reached = [str(runs[0]["steps"] or ""), f"{runs[0]['error']:.4f}"]
        table.add([name, f"{own:.1f} s", *ratios, *reached, f"{peak / 1e9:.2f} GB"])
    return [
        f"covtype, {TRAIN:,} rows, bandwidth 2, alpha = {ALPHA:g}, {LANDMARKS:,} landmarks, 7 "
        f"outputs; each fit in a fresh process, medians of {repeats} interleaved repeats (float64 "
        f"moments and values evaluated anew: one). Peak is the resident size of the process, data "
        f"included.",
        table,
    ]
