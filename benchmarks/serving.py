"""Predictions of one row and of 10,000 in a server: ONNX graphs, scikit-learn and boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import interleaved

from benchmarks.against import seconds_text
from benchmarks.data import PLAIN, twenty_columns

ROWS, NEW, LANDMARKS, BANDWIDTH, ALPHA = 20_000, 10_000, 1000, 4.0, 1e-4
#: Rows of peers with one function each: as many as there are landmarks.
EXACT_ROWS = LANDMARKS
#: Predictions of one row, of which the mean is taken.
TIMES = 300
OURS = "mercer, ONNX, float64"
Predict = Callable[[np.ndarray], Any]


def served(graph: Any, dtype: Any) -> Predict:
    """Return what predicts by a graph, with the threads that onnxruntime chooses."""
    import onnxruntime

    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    return lambda rows: session.run(None, {name: rows.astype(dtype, copy=False)})[0]


def contenders() -> tuple[dict[str, Predict], dict[str, str]]:
    """Return what is compared, fitted, and how far graphs are from their models."""
    from skl2onnx import to_onnx as sklearn_to_onnx
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVR
    from xgboost import XGBRegressor

    from mercer import Gaussian, KernelRegressor, Landmarks, LaplacianL1, Matern, to_onnx

    X, y, new = twenty_columns(ROWS, NEW)
    settings: dict[str, Any] = {"basis": Landmarks(LANDMARKS), "alpha": ALPHA, "random_state": 0}
    gamma = 0.5 / BANDWIDTH**2
    plain = {**settings, **PLAIN, "intervals": None}
    gaussian = KernelRegressor(Gaussian(BANDWIDTH), dtype="float64", **plain).fit(X, y)
    matern = KernelRegressor(Matern(1.5, 6.0), **plain).fit(X, y)
    laplacian = KernelRegressor(LaplacianL1(20.0), **plain).fit(X, y)
    metric = KernelRegressor(
        Gaussian(BANDWIDTH), metric="full", scale="quantile", intervals=None, **settings
    ).fit(X, y)
    nystroem = make_pipeline(
        Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0), Ridge(ALPHA * ROWS)
    ).fit(X, y)
    few = X[:EXACT_ROWS], y[:EXACT_ROWS]
    process = GaussianProcessRegressor(RBF(BANDWIDTH), alpha=ALPHA * EXACT_ROWS, optimizer=None)
    process.fit(*few)
    vectors = SVR(gamma=gamma, epsilon=0.0).fit(*few)
    trees = XGBRegressor(random_state=0).fit(X, y)
    booster = trees.get_booster()
    narrow = np.float32
    found: dict[str, Predict] = {
        OURS: served(to_onnx(gaussian), float),
        "mercer, ONNX, float32": served(to_onnx(gaussian, dtype="float32"), narrow),
        "mercer, predict in Python": gaussian.predict,
        "mercer, Matern 3/2, ONNX, float32": served(to_onnx(matern, dtype="float32"), narrow),
        "mercer, Laplacian L1, ONNX, float32": served(to_onnx(laplacian, dtype="float32"), narrow),
        "mercer, learned metric, ONNX, float32": served(to_onnx(metric, dtype="float32"), narrow),
        "GaussianProcessRegressor, skl2onnx, float64": served(
            sklearn_to_onnx(process, X[:1]), float
        ),
        "GaussianProcessRegressor, skl2onnx, float32": served(
            sklearn_to_onnx(process, X[:1].astype(narrow)), narrow
        ),
        f"SVR of {len(vectors.support_):,} vectors, skl2onnx, float32": served(
            sklearn_to_onnx(vectors, X[:1].astype(narrow)), narrow
        ),
        "GaussianProcessRegressor, predict in Python": process.predict,
        "Nystroem + Ridge, predict in Python": nystroem.predict,
        "XGBoost, predict": trees.predict,
        "XGBoost, inplace_predict": booster.inplace_predict,
    }
    known = gaussian.predict(new)
    gaps = {
        name.split(", ")[-1]: f"{np.abs(found[name](new).ravel() - known).max() / y.std():.0e}"
        for name in (OURS, "mercer, ONNX, float32")
    }
    return found, gaps


def run(repeats: int) -> list[object]:
    fitted, gaps = contenders()
    _, _, new = twenty_columns(ROWS, NEW)

    def one(predict: Predict) -> Callable[[], None]:
        def times() -> None:
            for _ in range(TIMES):
                predict(new[:1])

        return times

    single = interleaved({name: one(predict) for name, predict in fitted.items()}, repeats)
    many = interleaved({n: lambda p=p: p(new) for n, p in fitted.items()}, repeats)
    table = Table(["", "one row", "ratio", f"{NEW:,} rows", "ratio"])
    for name in fitted:
        cells = []
        for timed, times in ((single, TIMES), (many, 1)):
            seconds = timed[name].median
            ratio = f"{seconds / timed[OURS].median:.1f}"
            cells += [seconds_text(seconds / times), ratio]
        table.add([name, *cells])
    told = " and ".join(f"{gap} in {name}" for name, gap in gaps.items())
    return [
        f"{LANDMARKS:,} landmarks (Gaussian kernel, unless another is named) and 20 columns; "
        f"medians of {repeats} interleaved repeats (one row: of means of {TIMES}), and the ratio "
        f"to the first line. skl2onnx converts neither Nystroem nor KernelRidge: the peers there "
        f"are GaussianProcessRegressor, whose mean is kernel ridge regression, and SVR, both of "
        f"{EXACT_ROWS:,} rows and so of as many functions. onnxruntime has its own number of "
        f"threads.",
        table,
        f"The largest difference of a graph from `predict` over {NEW:,} rows is {told}, relative "
        f"to the spread of y.",
    ]
