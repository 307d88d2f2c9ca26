"""The exact kernel beyond memory: products with tiles of K, with and without a preconditioner."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.child import run_child
from benchmarks.data import FIT_ONLY, kernel_ridge, kin40k
from mercer import Gaussian, KernelRegressor, PreconditionedCG

ROWS, SMALL = 40_000, 10_000
#: Rows of covtype whose kernel matrix would take 80 GB, and what their fit may use.
MANY, LIMIT = 100_000, "8GB"
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
    many = run_child(
        "covtype_exact",
        rows=MANY,
        alpha=ALPHA,
        bandwidth=2.0,
        tolerance=1e-3,
        memory_limit=LIMIT,
    )
    X, y = kin40k()
    train, test = slice(0, SMALL), slice(SMALL, 2 * SMALL)

    def by(solver: Any) -> Any:
        return KernelRegressor(
            Gaussian(BANDWIDTH), "full", ALPHA, solver=solver, fit_intercept=False, **FIT_ONLY
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
        f"covtype, {MANY:,} x 54, Gaussian of bandwidth 2, alpha = {ALPHA:g}, one class against "
        f'the others, `memory_limit="{LIMIT}"`, to an error of 1e-3 (K would take '
        f"{8 * MANY**2 / 1e9:.0f} GB): {many['steps']} steps in {many['seconds']:.0f} s to a true "
        f"residual of {many['residual']:.0e}, peak of the process {many['peak'] / 1e9:.2f} GB.",
        f"kin40k again, with {SMALL:,} rows against `KernelRidge`, medians of {repeats}; "
        f"predictions of {SMALL:,} new rows.",
        second,
    ]
