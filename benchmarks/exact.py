"""The exact kernel beyond memory: products with tiles of K, with and without a preconditioner."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.child import run_child
from benchmarks.data import PLAIN, kernel_ridge, kin40k
from mercer import Gaussian, KernelRegressor, PreconditionedCG

ROWS, SMALL = 40_000, 10_000
ALPHA, BANDWIDTH = 1e-6, 3.0


def run(repeats: int) -> list[object]:
    settings = {"alpha": ALPHA, "bandwidth": BANDWIDTH, "tolerance": 1e-6}
    good = run_child("kin40k_fit", rows=ROWS, rank=None, max_steps=200, **settings)
    plain = run_child("kin40k_fit", rows=ROWS, rank=1, max_steps=60, **settings)
    first = Table(["preconditioner", "steps", "residual", "fit", "peak of the process"])
    for name, found in (("randomly pivoted Cholesky", good), ("none", plain)):
        note = "" if found["status"] == "CONVERGED" else " (limit)"
        taken = [f"{found['seconds']:.0f} s", f"{found['peak'] / 1e9:.2f} GB"]
        first.add([name, f"{found['steps']}{note}", f"{found['residual']:.0e}", *taken])
    X, y = kin40k()
    train, test = slice(0, SMALL), slice(SMALL, 2 * SMALL)

    def by(solver: Any) -> Any:
        return KernelRegressor(
            Gaussian(BANDWIDTH), "full", ALPHA, solver=solver, fit_intercept=False, **PLAIN
        ).fit(X[train], y[train])

    timed = interleaved(
        {
            "mercer by products": lambda: by(PreconditionedCG(tolerance=1e-6)),
            "mercer directly": lambda: by("ridge"),
            "scikit-learn": lambda: kernel_ridge(BANDWIDTH, ALPHA, SMALL).fit(X[train], y[train]),
        },
        repeats,
    )
    known = timed["scikit-learn"].value.predict(X[test])
    second = Table(["", "fit", "ratio", "largest difference of predictions"])
    for name, one in timed.items():
        apart = float(np.abs(one.value.predict(X[test]) - known).max())
        ratio = timed["scikit-learn"].median / one.median
        second.add([name, f"{one.median:.2f} s", f"{ratio:.1f}x", f"{apart:.0e}"])
    return [
        f"kin40k, {ROWS:,} x 8, Gaussian of bandwidth {BANDWIDTH:g}, alpha = {ALPHA:g}, no "
        f"intercept; K would take {8 * ROWS**2 / 1e9:.1f} GB. Residuals are "
        f"`||y - (K + alpha n) a|| / ||y||` in float64.",
        first,
        f"The same with {SMALL:,} rows against `KernelRidge`, medians of {repeats}; predictions of "
        f"{SMALL:,} new rows.",
        second,
    ]
