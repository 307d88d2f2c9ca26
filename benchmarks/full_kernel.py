"""Exact kernel ridge against scikit-learn's KernelRidge."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.data import BANDWIDTH, covtype
from benchmarks.timing import interleaved
from mercer import Gaussian, KernelRegressor

ROWS, ALPHA = 10_000, 1e-6


def run(repeats: int = 3) -> list[str]:
    data = covtype()
    X, Y, X_test = data.X[:ROWS], data.Y[:ROWS], data.X_test[:10_000]
    fits = interleaved(
        {
            "mercer": lambda: KernelRegressor(
                Gaussian(BANDWIDTH), "full", ALPHA, fit_intercept=False
            ).fit(X, Y),
            "scikit-learn": lambda: KernelRidge(
                kernel="rbf", gamma=0.5 / BANDWIDTH**2, alpha=ALPHA * ROWS
            ).fit(X, Y),
        },
        repeats,
    )
    predictions = interleaved(
        {name: (lambda m=timed.value: m.predict(X_test)) for name, timed in fits.items()}, repeats
    )
    difference = np.abs(predictions["mercer"].value - predictions["scikit-learn"].value).max()
    lines = [
        f"covtype, the full kernel of {ROWS:,} rows, alpha = {ALPHA:g}; predictions for 10,000 "
        f"rows agree to {difference:.0e}. Medians of {repeats}.",
        "",
        "| | fit | ratio | predict | ratio |",
        "|---|---|---|---|---|",
    ]
    for name in fits:
        lines.append(
            f"| {name} | {fits[name].median:.2f} s | "
            f"{fits['scikit-learn'].median / fits[name].median:.1f}x | "
            f"{predictions[name].median:.2f} s | "
            f"{predictions['scikit-learn'].median / predictions[name].median:.1f}x |"
        )
    return lines
