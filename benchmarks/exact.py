"""The exact kernel beyond memory: products with tiles of K, with and without a preconditioner."""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from benchmarks.child import kin40k, run_child
from benchmarks.timing import interleaved
from mercer import Gaussian, KernelRegressor, PreconditionedCG

ROWS, SMALL = 40_000, 10_000
ALPHA, BANDWIDTH = 1e-6, 3.0


def run(repeats: int = 3) -> list[str]:
    settings = {"alpha": ALPHA, "bandwidth": BANDWIDTH, "tolerance": 1e-6}
    good = run_child("kin40k_fit", rows=ROWS, rank=None, max_steps=200, **settings)
    plain = run_child("kin40k_fit", rows=ROWS, rank=1, max_steps=60, **settings)
    lines = [
        f"kin40k, {ROWS:,} x 8, Gaussian of bandwidth {BANDWIDTH:g}, alpha = {ALPHA:g}, no "
        f"intercept; K would take {8 * ROWS**2 / 1e9:.1f} GB. Residuals are "
        f"`||y - (K + alpha n) a|| / ||y||` in float64.",
        "",
        "| preconditioner | steps | residual | fit | peak of the process |",
        "|---|---|---|---|---|",
    ]
    for name, found in (("randomly pivoted Cholesky", good), ("none", plain)):
        note = "" if found["status"] == "CONVERGED" else " (limit)"
        lines.append(
            f"| {name} | {found['steps']}{note} | {found['residual']:.0e} | "
            f"{found['seconds']:.0f} s | {found['peak'] / 1e9:.2f} GB |"
        )
    X, y = kin40k()
    train, test = slice(0, SMALL), slice(SMALL, 2 * SMALL)
    solver = PreconditionedCG(tolerance=1e-6)
    timed = interleaved(
        {
            "mercer by products": lambda: KernelRegressor(
                Gaussian(BANDWIDTH), "full", ALPHA, solver=solver, fit_intercept=False
            ).fit(X[train], y[train]),
            "mercer directly": lambda: KernelRegressor(
                Gaussian(BANDWIDTH), "full", ALPHA, solver="ridge", fit_intercept=False
            ).fit(X[train], y[train]),
            "scikit-learn": lambda: KernelRidge(
                kernel="rbf", gamma=0.5 / BANDWIDTH**2, alpha=ALPHA * SMALL
            ).fit(X[train], y[train]),
        },
        repeats,
    )
    known = timed["scikit-learn"].value.predict(X[test])
    lines += [
        "",
        f"The same with {SMALL:,} rows against `KernelRidge`, medians of {repeats}; predictions of "
        f"{SMALL:,} new rows.",
        "",
        "| | fit | ratio | largest difference of predictions |",
        "|---|---|---|---|",
    ]
    for name, one in timed.items():
        apart = float(np.abs(one.value.predict(X[test]) - known).max())
        lines.append(
            f"| {name} | {one.median:.2f} s | {timed['scikit-learn'].median / one.median:.1f}x | "
            f"{apart:.0e} |"
        )
    return lines
