"""Landmarks beyond the reach of moments: products with kernel blocks (FALKON's system)."""

from __future__ import annotations

import statistics

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


def run(repeats: int = 3) -> list[str]:
    found: dict[str, list[dict]] = {name: [] for name in CONTENDERS}
    for repeat in range(repeats):
        for name, settings in CONTENDERS.items():
            if repeat and name in ONCE:
                continue
            found[name].append(
                run_child("covtype_fit", landmarks=LANDMARKS, rows=TRAIN, alpha=ALPHA, **settings)
            )
    seconds = {n: statistics.median(one["seconds"] for one in r) for n, r in found.items()}
    lines = [
        f"covtype, {TRAIN:,} rows, bandwidth 2, alpha = {ALPHA:g}, {LANDMARKS:,} landmarks, 7 "
        f"outputs; each fit in a fresh process, medians of {repeats} interleaved repeats (float64 "
        f"moments and values evaluated anew: one). Peak is the resident size of the process, data "
        f"included.",
        "",
        "| | fit | against scikit-learn | against moments in float32 | steps | test error | peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        own = seconds[name]
        lines.append(
            f"| {name} | {own:.1f} s | {seconds['scikit-learn'] / own:.1f}x | "
            f"{seconds['moments, float32'] / own:.1f}x | {runs[0]['steps'] or ''} | "
            f"{runs[0]['error']:.4f} | {max(one['peak'] for one in runs) / 1e9:.2f} GB |"
        )
    return lines
