"""What intervals and calibrated probabilities cost, in fits and predictions without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import Timed, interleaved

from benchmarks.data import BANDWIDTH, PLAIN, covtype, kin40k
from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks

WITH, WITHOUT = "with", "without"


@dataclass(frozen=True)
class Sizes:
    """Rows to fit by default and with a fixed kernel, its landmarks, and rows to predict."""

    default: int = 20_000
    fixed: int = 40_000
    landmarks: int = 2000
    predicted: int = 50_000


FULL = Sizes()


def fixed(landmarks: int) -> dict[str, Any]:
    """Return a kernel and landmarks that are not searched: all that is left is the fit itself."""
    return {"kernel": Gaussian(BANDWIDTH), "basis": Landmarks(landmarks), **PLAIN}


def pairs(
    kind: type, off: Mapping[str, None], X: np.ndarray, y: np.ndarray, sizes: Sizes
) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return fits with and without uncertainty, all defaults and with a fixed kernel."""

    def fit(rows: int, settings: Mapping[str, Any]) -> Callable[[], Any]:
        return lambda: kind(random_state=0, **settings).fit(X[:rows], y[:rows])

    both = {
        f"all defaults, {sizes.default:,} rows": (sizes.default, {}),
        f"Gaussian kernel, {sizes.landmarks:,} landmarks, {sizes.fixed:,} rows": (
            sizes.fixed,
            fixed(sizes.landmarks),
        ),
    }
    return {
        name: {WITHOUT: fit(rows, {**settings, **off}), WITH: fit(rows, settings)}
        for name, (rows, settings) in both.items()
    }


def predictions(models: Mapping[str, Any], X: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return predictions against intervals of the same model, at one level and at four."""
    model = models[WITH]
    return {
        f"predict against predict_interval, {len(X):,} rows, {told}": {
            WITHOUT: lambda: model.predict(X),
            WITH: lambda levels=levels: model.predict_interval(X, coverage=levels),
        }
        for told, levels in (("one level", 0.9), ("four levels", [0.5, 0.8, 0.9, 0.95]))
    }


def row(name: str, timed: Mapping[str, Timed]) -> list[str]:
    """Return the medians, and their ratio with the range of ratios within rounds."""
    before, after = timed[WITHOUT], timed[WITH]
    ratios = np.array(after.seconds) / np.array(before.seconds)
    spread = f"{ratios.min():.2f} to {ratios.max():.2f}"
    medians = [f"{one.median:.2f} s" for one in (before, after)]
    return [name, *medians, f"{np.median(ratios):.2f}", spread]


def run(repeats: int, sizes: Sizes = FULL) -> list[object]:
    table = Table(["", WITHOUT, WITH, "ratio", "range"])
    X, y = kin40k()
    for name, both in pairs(KernelRegressor, {"intervals": None}, X, y, sizes).items():
        timed = interleaved(both, repeats)
        table.add(row(f"kin40k, fit with intervals, {name}", timed))
        models = {which: one.value for which, one in timed.items()}
    new = np.random.default_rng(0).choice(X, sizes.predicted)
    for name, both in predictions(models, new).items():
        table.add(row(f"kin40k, {name}", interleaved(both, repeats)))
    data = covtype(sizes.fixed)
    for name, both in pairs(KernelClassifier, {"calibration": None}, data.X, data.y, sizes).items():
        timed = interleaved(both, repeats)
        table.add(row(f"covtype, calibrated fit, {name}", timed))
    model = timed[WITH].value
    probabilities = {
        WITHOUT: lambda: model.decision_function(data.X_test[: sizes.predicted]),
        WITH: lambda: model.predict_proba(data.X_test[: sizes.predicted]),
    }
    text = f"covtype, decision_function against predict_proba, {sizes.predicted:,} rows"
    table.add(row(text, interleaved(probabilities, repeats)))
    return [
        f"Medians of {repeats} interleaved repeats; the ratio is the median of those within "
        "rounds. Without: `KernelRegressor(intervals=None)`, `KernelClassifier(calibration=None)`. "
        "A calibrated fit should take less than 1.3 of one that is not.",
        table,
    ]
