"""Exact kernel ridge against scikit-learn's KernelRidge."""

from __future__ import annotations

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.data import BANDWIDTH, FIT_ONLY, covtype, kernel_ridge
from mercer import Gaussian, KernelRegressor

ROWS, ALPHA = 10_000, 1e-6


def run(repeats: int) -> list[object]:
    data = covtype()
    X, Y, X_test = data.X[:ROWS], data.Y[:ROWS], data.X_test[:10_000]
    fits = interleaved(
        {
            "mercer": lambda: KernelRegressor(
                Gaussian(BANDWIDTH), "full", ALPHA, fit_intercept=False, **FIT_ONLY
            ).fit(X, Y),
            "scikit-learn": lambda: kernel_ridge(BANDWIDTH, ALPHA, ROWS).fit(X, Y),
        },
        repeats,
    )
    predictions = interleaved(
        {name: (lambda m=timed.value: m.predict(X_test)) for name, timed in fits.items()}, repeats
    )
    difference = np.abs(predictions["mercer"].value - predictions["scikit-learn"].value).max()
    table = Table(["", "fit", "ratio", "predict", "ratio"])
    for name in fits:
        cells = []
        for timed in (fits, predictions):
            ratio = timed["scikit-learn"].median / timed[name].median
            cells += [f"{timed[name].median:.2f} s", f"{ratio:.1f}x"]
        table.add([name, *cells])
    return [
        f"covtype, the full kernel of {ROWS:,} rows, alpha = {ALPHA:g}; predictions for 10,000 "
        f"rows agree to {difference:.0e}. Medians of {repeats}.",
        table,
    ]
