"""Predictions of one row and of 50,000, against scikit-learn and boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.against import seconds_text
from benchmarks.data import PLAIN, lettered, twenty_columns

ROWS, NEW, LANDMARKS, BANDWIDTH, ALPHA = 20_000, 50_000, 1000, 4.0, 1e-4
#: Rows of ``KernelRidge``, one function each: as many as there are landmarks.
EXACT_ROWS = LANDMARKS
#: Predictions of one row, of which the mean is taken.
TIMES = 300
OURS = "mercer, Gaussian"


def models() -> dict[str, Any]:
    """Return what is compared, fitted."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.kernel_approximation import Nystroem
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, LaplacianL2, Matern

    X, y, _ = twenty_columns(ROWS, 0)
    settings: dict[str, Any] = {"basis": Landmarks(LANDMARKS), "alpha": ALPHA, "random_state": 0}
    gamma, gaussian = 0.5 / BANDWIDTH**2, Gaussian(BANDWIDTH)
    nystroem = Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0)
    exact = KernelRidge(kernel="rbf", gamma=gamma, alpha=ALPHA * EXACT_ROWS)
    classifier = KernelClassifier(gaussian, **settings, **PLAIN)
    found = {
        OURS: KernelRegressor(gaussian, **settings, **PLAIN).fit(X, y),
        "mercer, Gaussian, float64": KernelRegressor(
            gaussian, dtype="float64", **settings, **PLAIN
        ).fit(X, y),
        "mercer, Matern 3/2": KernelRegressor(Matern(1.5, 6.0), **settings, **PLAIN).fit(X, y),
        "mercer, Laplacian": KernelRegressor(LaplacianL2(8.0), **settings, **PLAIN).fit(X, y),
        "mercer, learned metric": KernelRegressor(gaussian, metric="full", **settings).fit(X, y),
        "mercer, 26 classes": classifier.fit(X, lettered(y)),
        "Nystroem + Ridge": make_pipeline(nystroem, Ridge(ALPHA * ROWS)).fit(X, y),
        f"KernelRidge of {EXACT_ROWS:,} rows": exact.fit(X[:EXACT_ROWS], y[:EXACT_ROWS]),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0).fit(X, y),
    }
    if find_spec("xgboost") is not None:
        from xgboost import XGBRegressor

        found["XGBoost"] = XGBRegressor(random_state=0).fit(X, y)
    return found


def run(repeats: int) -> list[object]:
    fitted = models()
    _, _, new = twenty_columns(ROWS, NEW)

    def one(model: Any) -> Callable[[], None]:
        def times() -> None:
            for _ in range(TIMES):
                model.predict(new[:1])

        return times

    many = interleaved({n: lambda m=m: m.predict(new) for n, m in fitted.items()}, repeats)
    single = interleaved({name: one(model) for name, model in fitted.items()}, repeats)
    table = Table(["", f"{NEW:,} rows", "ratio", "one row", "ratio"])
    ours = many[OURS].median, single[OURS].median
    for name in fitted:
        cells = []
        for median, unit, times in zip((many[name], single[name]), ours, (1, TIMES), strict=True):
            seconds = median.median
            cells += [seconds_text(seconds / times), f"{seconds / unit:.1f}"]
        table.add([name, *cells])
    precisions = {
        name: model.fit_.prediction_precision
        for name, model in fitted.items()
        if hasattr(model, "fit_")
    }
    told = ", ".join(f"{name.removeprefix('mercer, ')} {of}" for name, of in precisions.items())
    missing = "" if "XGBoost" in fitted else " XGBoost is not installed, so it is not measured."
    return [
        f"{LANDMARKS:,} landmarks and 20 columns; medians of {repeats} interleaved repeats (one "
        f"row: of means of {TIMES}), and the ratio to the first line.{missing}",
        table,
        f"Values are in float32 where their rounding changes predictions by at most 3e-5 of the "
        f"scale of y: {told}. With the commit before, in turns: `python -m benchmarks --against "
        f"../old predict`.",
    ]
