"""An exported model predicts in onnxruntime what it predicts here."""

from functools import cache

import numpy as np
import pytest
from onnx_sessions import CLOSE, run, session

from cases import PLAIN
from mercer import (
    ArcCosine,
    Average,
    FullKernel,
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    Polynomial,
    RandomFeatures,
    Sketch,
)
from mercer.models import basis_graphs
from pairs import over_pairs

pytest.importorskip("onnx", reason="graphs are built by onnx, which is not installed")

rng = np.random.default_rng(0)
X, NEW = rng.random((90, 3)), rng.random((1000, 3))
y = np.sin(5 * X[:, 0]) + X[:, 1]
Y = np.column_stack([y, 1e6 + 3e4 * X[:, 2]])

KERNELS = {
    "gaussian": Gaussian(0.5),
    "gaussian by column": Gaussian(np.array([0.5, 1.0, 2.0])),
    "laplacian l1": LaplacianL1(0.8),
    "laplacian l2": LaplacianL2(np.array([0.5, 1.0, 2.0])),
    "matern 1/2": Matern(0.5, 0.7),
    "matern 3/2": Matern(1.5, 0.7),
    "matern 5/2": Matern(2.5, 0.7),
    "linear": Linear(),
    "polynomial": Polynomial(3),
    "polynomial of degree 6": Polynomial(6, 0.7, 0.3),
    "threshold units": ArcCosine(0),
    "rectified units": ArcCosine(1),
    "sum": Gaussian(0.5) + Linear(),
    "product": Gaussian(0.5) * Matern(1.5, 0.7),
    "product of both kinds": Gaussian(0.5) * ArcCosine(1),
    "sum in a product": (Gaussian(0.5) + Linear()) * Polynomial(2),
}
BASES = {
    "full": FullKernel(),
    "landmarks": Landmarks(20),
    "features": RandomFeatures(32),
    "orthogonal features by labels": RandomFeatures(
        32, True, sampling="labels", weighting="unbiased"
    ),
    "sketch": Sketch(20),
}
TASKS = ("regression", "two outputs", "two classes", "classes", "ranking")
WITHOUT_FEATURES = ("polynomial", "polynomial of degree 6", "sum in a product")


def allowed(kernel, basis, task, dtype):
    if "by labels" in basis:
        return kernel in ("gaussian", "matern 3/2", "rectified units", "product")
    return basis != "features" or kernel not in WITHOUT_FEATURES


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(basis_graphs, "VALUES", 2**11)  # 1,000 rows take several


@cache
def fitted(kernel, basis, task):
    parts = (KERNELS[kernel], BASES[basis], 1e-3)
    settings = {"random_state": 0, "dtype": "float64", **PLAIN}
    if task == "ranking":
        return KernelRanker(*parts, **settings).fit(X, y, np.arange(len(X)) % 9)
    if task.endswith("classes"):
        labels = np.array(["no", "yes"]) if task == "two classes" else np.array([3, -1, 7])
        edges = np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1])
        return KernelClassifier(*parts, **settings).fit(X, labels[np.digitize(y, edges)])
    target = Y if task == "two outputs" else y
    return KernelRegressor(*parts, intervals=None, **settings).fit(X, target)


def assert_equal(model, rows, dtype):
    found, rows = run(model, rows, dtype), rows.astype(dtype)
    if isinstance(model, KernelClassifier):
        labels, probabilities = found
        known = model.predict_proba(rows)
        assert probabilities.shape == known.shape
        assert np.abs(probabilities - known).max(initial=0.0) < CLOSE[dtype]
        clear = np.sort(known, axis=1)[:, -1] - np.sort(known, axis=1)[:, -2] > CLOSE[dtype]
        assert clear.sum() >= 0.9 * len(rows)
        np.testing.assert_array_equal(labels[clear], model.predict(rows)[clear])
        return
    known = model.predict(rows)
    assert found[0].shape == known.shape
    assert found[0].dtype == np.dtype(dtype)
    error = np.abs(found[0] - known).max(axis=0, initial=0.0)
    spread = (Y if known.ndim == 2 else y).std(axis=0)
    assert np.all(error < CLOSE[dtype] * spread)


@over_pairs(kernel=KERNELS, basis=BASES, task=TASKS, dtype=CLOSE, allowed=allowed)
def test_a_graph_predicts_what_the_model_does(kernel, basis, task, dtype):
    assert_equal(fitted(kernel, basis, task), NEW, dtype)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("count", [0, 1, 7, 205])
def test_batches_of_any_size(task, count):
    model = fitted("gaussian", "landmarks", task)
    whole = run(model, NEW)
    for part, known in zip(run(model, NEW[:count]), whole, strict=True):
        assert part.shape == known[:count].shape
        if part.dtype.kind == "f":
            np.testing.assert_allclose(part, known[:count], rtol=1e-12)


@pytest.mark.parametrize("basis", ["landmarks", "features"])
@pytest.mark.parametrize("scale", ["standard", "quantile"])
@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_a_learned_metric(metric, scale, basis):
    settings = {"metric": metric, "scale": scale, "dtype": "float64", "intervals": None}
    model = KernelRegressor("gaussian", BASES[basis], 1e-3, random_state=0, **settings)
    model.fit(1e3 + 50 * X, y)
    assert model.kernel_.metric.diagonal == (metric == "diagonal")
    for dtype in CLOSE:  # also far outside of the fit
        rows = 1e3 + 50 * np.vstack([NEW, 1e3 * NEW[:5] - 500]).astype(np.float32)
        assert_equal(model, rows, dtype)


@over_pairs(
    kernel=["gaussian", "linear", "polynomial", "rectified units"],
    basis=["landmarks", "features"],
    metric=[None, np.array([[0.3, 0.7]]), np.array([0.7])],
    allowed=lambda kernel, basis, metric: (
        (metric is None or kernel == "gaussian")
        and (basis != "features" or kernel not in WITHOUT_FEATURES)
    ),
)
def test_one_column_keeps_all_digits(kernel, basis, metric):
    """A runtime must not fuse a factor into a product, in float32."""
    settings = {"metric": metric, "scale": "standard", "intervals": None, "dtype": "float64"}
    model = KernelRegressor(KERNELS[kernel], BASES[basis], 1e-3, random_state=0, **settings)
    assert_equal(model.fit(X[:, :1] / 3, y), NEW[:, :1] / 3, "float64")


@pytest.mark.parametrize("calibration", ["power", "sigmoid", "temperature", None])
@pytest.mark.parametrize("classes", [2, 4])
def test_every_map_of_probabilities(calibration, classes):
    labels = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    model = KernelClassifier(Gaussian(0.5), Landmarks(20), 1e-3, calibration=calibration)
    model.set_params(dtype="float64", random_state=0).fit(X, labels)
    assert_equal(model, np.vstack([NEW, 3 * NEW[:50]]), "float64")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(["red", "dark blue", "grün"], dtype=object), "tensor(string)"),
        (np.array([3, 1, 7], dtype=np.uint8), "tensor(int64)"),
        (np.array([True, False]), "tensor(bool)"),
        (np.array([5.0, 1.0, -2.0], dtype=np.float32), "tensor(double)"),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_class_labels(labels, kind):
    model = KernelClassifier(Gaussian(0.5), Landmarks(20), 1e-3, random_state=0)
    model.fit(X, labels[np.arange(len(X)) % len(labels)])
    made = session(model)
    found = made.run(["label"], {"X": NEW})[0]
    assert next(value.type for value in made.get_outputs() if value.name == "label") == kind
    np.testing.assert_array_equal(found, model.predict(NEW))


@pytest.mark.parametrize("basis", ["full", "landmarks", "sketch"])
def test_an_average_over_shards_with_functions_of_each(basis):
    model = KernelRegressor(Gaussian(0.5), BASES[basis], 1e-3, shards=3, combine=Average(True))
    model.set_params(dtype="float64", random_state=0, intervals=None).fit(X, y)
    assert_equal(model, NEW, "float64")


def test_float32_is_float64_inside_where_rounding_would_show():
    """Coefficients that cancel: noise of float32 values would be far above the tolerance."""
    model = KernelRegressor(Gaussian(2.0), "full", 1e-13, intervals=None).fit(X, y)
    assert basis_graphs.rounding(model.basis_, model.fit_.coefficients) > 1e-3
    assert_equal(model, NEW, "float32")


def test_points_that_are_far_from_each_other():
    """Squares that would cancel are taken of differences."""
    rows = X + 1e6 * (np.arange(len(X)) % 2)[:, None]
    model = KernelRegressor(Gaussian(0.5), "full", 1e-3, dtype="float64", **PLAIN).fit(rows, y)
    new = NEW + 1e6 * (np.arange(len(NEW)) % 2)[:, None]
    assert_equal(model, new, "float64")


def test_gaps_in_arrays_are_filled_and_what_predict_refuses_is_nan():
    rows = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = KernelRegressor(Gaussian(0.5), Landmarks(20), 1e-3, dtype="float64").fit(rows, y)
    assert any(part.indicator for part in model.columns_.encoding_.encoders)
    new = np.where(rng.random(NEW.shape) < 0.1, np.nan, NEW)
    assert_equal(model, new, "float64")
    strict = KernelRegressor(Gaussian(0.5), Landmarks(20), 1e-3, missing="error").fit(X, y)
    bad = np.array([[0.1, np.nan, 0.2], [0.1, np.inf, 0.2], [0.1, 0.2, 0.3]])
    assert np.isnan(run(strict, bad)[0]).tolist() == [True, True, False]
    assert np.isnan(run(model, bad)[0]).tolist() == [False, True, False]
