"""Fit and predict against scikit-learn's Nystroem + Ridge, and the share of the SYRK rate."""

from __future__ import annotations

import time

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.data import ALPHA, BANDWIDTH, FIT_ONLY, LANDMARKS, TRAIN, covtype, nystroem_ridge
from mercer import Gaussian, KernelRegressor, Landmarks


def syrk_rate(seconds: float = 3.0) -> float:
    """Best float32 multiply-adds a second of H'H at the benchmark's block shape, this machine."""
    H = np.random.default_rng(0).random((2048, LANDMARKS), dtype=np.float32)
    out = np.empty((LANDMARKS, LANDMARKS), dtype=np.float32)
    best, until = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        np.matmul(H.T, H, out=out)
        best = min(best, time.perf_counter() - start)
    return len(H) * LANDMARKS**2 / best


def run(repeats: int) -> list[object]:
    data = covtype()
    rate = syrk_rate()

    def mercer(dtype: str) -> KernelRegressor:
        return KernelRegressor(
            Gaussian(BANDWIDTH),
            Landmarks(LANDMARKS),
            ALPHA,
            dtype=dtype,
            random_state=0,
            **FIT_ONLY,
        ).fit(data.X, data.Y)

    fits = interleaved(
        {
            "mercer float32": lambda: mercer("float32"),
            "mercer float64": lambda: mercer("float64"),
            "scikit-learn": lambda: nystroem_ridge(LANDMARKS, ALPHA, TRAIN).fit(data.X, data.Y),
        },
        repeats,
    )
    models = {name: timed.value for name, timed in fits.items()}
    predictions = interleaved(
        {name: (lambda model=model: model.predict(data.X_test)) for name, model in models.items()},
        repeats,
    )
    rate = max(rate, syrk_rate())
    peer_fit, peer_predict = fits["scikit-learn"].median, predictions["scikit-learn"].median
    table = Table(["", "fit", "ratio", "predict", "ratio", "test error"])
    for name, timed in fits.items():
        fit, predict = timed.median, predictions[name].median
        cells = [f"{fit:.2f} s", f"{peer_fit / fit:.1f}x"]
        cells += [f"{predict:.2f} s", f"{peer_predict / predict:.1f}x"]
        table.add([name, *cells, f"{data.error(predictions[name].value):.4f}"])
    work, best = TRAIN * LANDMARKS**2, fits["mercer float32"]
    moments = best.value.fit_.seconds["moments"]
    return [
        f"covtype, {TRAIN:,} training and {len(data.X_test):,} test rows of 54 standardized "
        f"columns, 7 classes, Gaussian kernel of bandwidth {BANDWIDTH:g}, {LANDMARKS:,} landmarks, "
        f"alpha = {ALPHA:g}; medians of {repeats} interleaved repeats. scikit-learn is `Nystroem` "
        f"+ `Ridge` in float64.",
        table,
        f"This machine's float32 SYRK rate is {rate / 1e9:.0f} G multiply-adds a second; the "
        f"moments reach {work / moments / rate:.0%} of it, the whole fit "
        f"{work / best.median / rate:.0%} (with kernel values, orthogonalization and solve).",
    ]
