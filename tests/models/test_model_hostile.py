"""Files that are damaged, foreign or made to do harm give a ModelFileError that names the file."""

import contextlib
import json
import random
import struct

import numpy as np
import pytest
from model_files import put, read, rewrite, tensor

from cases import MEDIAN
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    Matern,
    ModelFileError,
    RandomFeatures,
    Sketch,
    load,
    save,
)
from mercer.storage.tensor_file import seal

rng = np.random.default_rng(2)
X = rng.random((60, 2))
y = X[:, 0] - X[:, 1]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    model = KernelRegressor(basis=Landmarks(8), random_state=0, **MEDIAN).fit(X, y)
    return save(model, tmp_path_factory.mktemp("models") / "model", moments=True)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    kernel = Gaussian(0.5) * Matern() + Gaussian()
    model = KernelClassifier(kernel, RandomFeatures(8), selection="kfold", random_state=0)
    model.fit(X, np.where(y > 0, "up", "down"))
    return save(model, tmp_path_factory.mktemp("models") / "model", moments=True)


def saved_sketch(kind, folder):
    model = KernelRegressor(basis=Sketch(8, kind), random_state=0, **MEDIAN).fit(X, y)
    return save(model, folder / kind)


@pytest.fixture(scope="module")
def sketch(tmp_path_factory):
    return saved_sketch("hadamard", tmp_path_factory.mktemp("models"))


def refused(path, match=None):
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_truncated_at_any_length(path, tmp_path):
    whole = path.read_bytes()
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    lengths = {*range(20), *range(20, len(whole), 97), header - 1, header, header + 1}
    for length in sorted(lengths | {len(whole) - 1}):
        cut = tmp_path / "cut.mercer"
        cut.write_bytes(whole[:length])
        refused(cut)
    (tmp_path / "long.mercer").write_bytes(whole + b"\0")
    refused(tmp_path / "long.mercer")


def test_random_bytes(tmp_path):
    generator = random.Random(0)
    for length in (1, 8, 9, 100, 5000):
        junk = tmp_path / "junk.mercer"
        junk.write_bytes(generator.randbytes(length))
        refused(junk, "safetensors")


@pytest.mark.parametrize("size", [2**32, 2**62, 2**64 - 1])
def test_huge_header(size, tmp_path):
    file = tmp_path / "huge.mercer"
    file.write_bytes(struct.pack("<Q", size) + b"{}" + b" " * 100)
    refused(file)


def header_only(tmp_path, metadata):
    if metadata is not None and "mercer" in metadata:
        metadata = {**metadata, "mercer_checksums": seal(metadata["mercer"], {})}
    header = json.dumps({"__metadata__": metadata} if metadata is not None else {}).encode()
    file = tmp_path / "header.mercer"
    file.write_bytes(struct.pack("<Q", len(header)) + header)
    return file


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "without the 'mercer' entry"),
        ({"format": "pt"}, "without the 'mercer' entry"),
        ({"mercer": "{"}, "not JSON"),
        ({"mercer": '{"format": NaN}'}, "NaN is not valid JSON"),
        ({"mercer": "[" * 100_000}, "not JSON"),
        ({"mercer": '{"a":' * 100_000}, "not JSON"),
        ({"mercer": "1" * 5000}, "not JSON"),
        ({"mercer": "[]"}, "must be an object, got list"),
        ({"mercer": "{}"}, "format is None"),
        ({"mercer": '{"format": 9, "library": "9.9"}'}, "written by mercer '9.9'"),
        ({"mercer": '{"format": 2.0}'}, "has no estimator"),
        ({"mercer": '{"format": 2}'}, "has no estimator, n_features_in"),
    ],
)
def test_description_that_is_none(metadata, message, tmp_path):
    refused(header_only(tmp_path, metadata), message)


def test_not_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "model")
    (tmp_path / "model.mercer").mkdir()
    with pytest.raises(ModelFileError, match="folder"):
        load(tmp_path / "model.mercer")


def drop(*keys):
    *keys, last = keys

    def change(document, tensors):
        for key in keys:
            document = document[key]
        del document[last]

    return change


def nest(depth):
    def change(document, tensors):
        kernel = {"type": "Linear", "params": {}}
        for _ in range(depth):
            kernel = {"type": "Sum", "params": {"left": kernel, "right": kernel}}
            kernel["params"]["right"] = {"type": "Linear", "params": {}}
        document["basis"]["state"]["kernel_"] = kernel

    return change


STATE = ("basis", "state")
CHANGES = {
    "unknown estimator": (put("estimator", "type", "LinearRegression"), "LinearRegression"),
    "estimator is a basis": (put("estimator", "type", "Landmarks"), "Landmarks"),
    "estimator is no text": (put("estimator", "type", ["os"]), "holds a"),
    "unknown type": (put(*STATE, "kernel_", {"type": "os.system", "params": {}}), "os.system"),
    "kernel is no kernel": (put(*STATE, "kernel_", {"type": "Ridge", "params": {}}), "Ridge"),
    "kernel is text": (put(*STATE, "kernel_", "gaussian"), "must be a Kernel, got str"),
    "kernel unresolved": (put(*STATE, "kernel_", "params", "bandwidth", "median"), "median"),
    "negative bandwidth": (put(*STATE, "kernel_", "params", "bandwidth", -1.0), "bandwidth"),
    "bandwidth of a list": (put(*STATE, "kernel_", "params", "bandwidth", [1.0]), "bandwidth"),
    "bandwidth overflows": (put(*STATE, "kernel_", "params", "bandwidth", 10**400), None),
    "unknown parameter": (put(*STATE, "kernel_", "params", "__class__", 1), "__class__"),
    "sum without parts": (put(*STATE, "kernel_", {"type": "Sum", "params": {}}), "left"),
    "deep kernel": (nest(300), "nested too deeply"),
    "unknown parameter of estimator": (put("estimator", "params", "n_jobs", 1), "n_jobs"),
    "wrong kernel of estimator": (put("estimator", "params", "kernel", "gausian"), "gausian"),
    "wrong alpha of estimator": (put("estimator", "params", "alpha", {"float": "nan"}), "alpha"),
    "unknown form": (put("estimator", "params", "alpha", {"pickle": "gASVAAAA"}), "unknown form"),
    "unknown basis": (put("basis", "type", "Spline"), "unknown type"),
    "basis is a kernel": (put("basis", "type", "Gaussian"), "unknown type"),
    "basis of another kind": (put("basis", "type", "RandomFeatures"), "state of RandomFeatures"),
    "missing state": (drop(*STATE, "landmarks_"), "state of Landmarks"),
    "more state": (put(*STATE, "evaluate", 1), "state of Landmarks"),
    "precision": (put(*STATE, "precision_", "float16"), "precision"),
    "no features": (put("n_features_in", 0), "n_features_in"),
    "other features": (put("n_features_in", 3), "3 columns"),
    "true features": (put("n_features_in", True), "n_features_in"),
    "names": (put("feature_names_in", ["a"]), "name 2 columns"),
    "names of numbers": (put("feature_names_in", [1, 2]), "list of names"),
    "targets of classes": (
        put("targets", {"type": "ClassTargets", "params": {"classes": {"array": "targets.scale"}}}),
        "RegressionTargets",
    ),
    "targets without scale": (drop("targets", "params", "scale"), "scale"),
    "columns": (put("targets", "params", "columns", 1), "columns of targets"),
    "missing tensor": (lambda document, tensors: tensors.pop("fit.coefficients"), "missing"),
    "tensor used twice": (
        put("fit", "found", "intercept", {"array": "fit.coefficients"}),
        "used twice",
    ),
    "tensor has no name": (put("fit", "found", "intercept", {"array": 3}), "must name a tensor"),
    "coefficients NaN": (tensor("fit.coefficients", lambda a: a * np.nan), "finite"),
    "coefficients infinite": (tensor("fit.coefficients", lambda a: a + np.inf), "finite"),
    "coefficients too few": (tensor("fit.coefficients", lambda a: a[:-1]), r"\(8, 1\), got \(7, 1"),
    "coefficients flat": (tensor("fit.coefficients", lambda a: a.ravel()), "coefficients"),
    "coefficients of integers": (tensor("fit.coefficients", lambda a: a.astype(int)), "floats"),
    "intercept": (tensor("fit.intercept", lambda a: np.zeros(2)), "intercept"),
    "landmarks NaN": (tensor("basis.state.landmarks_", lambda a: a * np.nan), "finite"),
    "landmarks of one column": (tensor("basis.state.landmarks_", lambda a: a[:, :1]), "2 columns"),
    "landmarks none": (tensor("basis.state.landmarks_", lambda a: a[:0]), "landmarks"),
    "indices": (tensor("basis.state.indices_", lambda a: a - 1000), "indices"),
    "indices of floats": (tensor("basis.state.indices_", lambda a: a * 1.0), "integers"),
    "scale of zero": (tensor("targets.scale", lambda a: a * 0), "positive"),
    "negative alpha": (put("fit", "found", "alpha", -1.0), "alpha"),
    "alpha of text": (put("fit", "found", "alpha", "1"), "alpha of fit must be a number"),
    "rows": (put("fit", "found", "n_rows", 0), "n_rows"),
    "rows of true": (put("fit", "found", "n_rows", True), "n_rows"),
    "dropped": (put(*STATE, "n_dropped_", -1), "n_dropped"),
    "unknown part of the fit": (put("fit", "found", "solver", 1), "solver"),
    "missing part of the fit": (drop("fit", "found", "alpha"), "alpha"),
    "no fit": (put("fit", []), "has no"),
    "alphas without scores": (put("fit", "found", "scores", None), "both"),
    "scores of another length": (tensor("fit.scores.mean", lambda a: a[:-1]), "one score per"),
    "seconds": (put("fit", "found", "seconds", {"dict": {"basis": "1"}}), "seconds"),
    "lanes": (put("fit", "plan", "lanes", 10**9), "lanes"),
    "lanes of a fraction": (put("fit", "plan", "lanes", 1.5), "lanes"),
    "status": (put("fit", "solution", "status", {"enum": "Status", "member": "GREAT"}), "GREAT"),
    "folds": (put("fit", "plan", "folds", 2), "2 folds"),
    "moments of another size": (tensor("moments.folds.0.gram", lambda a: a[:-1]), "gram"),
    "moments NaN": (tensor("moments.folds.0.cross", lambda a: a * np.nan), "finite"),
    "fold of another kind": (put("moments", "folds", [3]), "must be Moments"),
    "moments without folds": (drop("moments", "folds"), "its moments must be"),
    "factor of another size": (tensor("moments.factors.0", lambda a: a[:-1]), "factor"),
    "factor of zero": (tensor("moments.factors.0", lambda a: a * 0), "positive diagonal"),
    "factors of text": (put("moments", "factors", "x"), "factors"),
    "predecessors of numbers": (tensor("moments.factors.1", lambda a: a * 0.5), "predecessors"),
    "dual rows": (put("moments", "dual_rows", [1]), "dual_rows"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_inconsistent(name, path):
    change, message = CHANGES[name]
    refused(rewrite(path, change), message)


LABELS = ("targets", "params", "classes", "labels")
PARTS = (*STATE, "features_", "params", "parts", "tuple")
CLASSIFIER_CHANGES = {
    "one class": (put(*LABELS, ["up"]), "at least two"),
    "unsorted classes": (put(*LABELS, ["up", "down"]), "sorted"),
    "classes of objects": (put(*LABELS, [{"type": "Linear", "params": {}}, "up"]), "list of label"),
    "three classes": (put(*LABELS, ["a", "b", "c"]), r"\(8, 3\)"),
    "long labels": (put(*LABELS, ["a" * 2**20, *map(str, range(100))]), "too long"),
    "no parts": (put(*PARTS, []), "at least one part"),
    "parts are no tuple": (put(*PARTS[:-1], 3), "parts of basis.state.features_ must be a tuple"),
    "part is a kernel": (
        put(*PARTS, 0, {"type": "Linear", "params": {}}),
        "feature map, got Linear",
    ),
    "part of another size": (
        put(*PARTS, 0, {"type": "ColumnFeatures", "params": {"size": 2}}),
        r"\(6, 1\)",
    ),
    "many columns": (
        put(*STATE, "features_", {"type": "ColumnFeatures", "params": {"size": 10**12}}),
        "2 columns",
    ),
    "fold scores": (tensor("fit.scores.by_fold", lambda a: a[:, :-1]), "per fold and alpha"),
}


@pytest.mark.parametrize("name", CLASSIFIER_CHANGES)
def test_inconsistent_classifier(name, classifier):
    change, message = CLASSIFIER_CHANGES[name]
    refused(rewrite(classifier, change), message)


PROJECTION = "basis.state.projection_."
DRAWN = (*STATE, "projection_", "params")
SKETCH_CHANGES = {
    "points NaN": ("hadamard", tensor("basis.state.points_", lambda a: a * np.nan), "finite"),
    "points of one column": (
        "hadamard",
        tensor("basis.state.points_", lambda a: a[:, :1]),
        "2 columns",
    ),
    "fewer points": ("hadamard", tensor("basis.state.points_", lambda a: a[1:]), "indices"),
    "indices": ("hadamard", tensor("basis.state.indices_", lambda a: a - 1), "valid row indices"),
    "signs of zero": ("hadamard", tensor(PROJECTION + "signs", lambda a: a * 0), r"\+1 or -1"),
    "fewer signs": ("hadamard", tensor(PROJECTION + "signs", lambda a: a[1:]), r"\(60\)"),
    "rows out of range": ("hadamard", tensor(PROJECTION + "rows", lambda a: a + 64), "transform"),
    "negative rows": ("hadamard", tensor(PROJECTION + "rows", lambda a: a - 64), "transform"),
    "no rows": ("hadamard", tensor(PROJECTION + "rows", lambda a: a[:0]), "at least 1"),
    "fewer rows": ("hadamard", tensor(PROJECTION + "rows", lambda a: a[1:]), "coefficients"),
    "drawn": ("hadamard", put(*DRAWN, "drawn", 7), "drawn must be at least 8"),
    "drawn of text": ("hadamard", put(*DRAWN, "drawn", "8"), "an integer"),
    "dropped from a sketch": ("hadamard", put(*STATE, "n_dropped_", None), "n_dropped"),
    "projection is a kernel": (
        "hadamard",
        put(*STATE, "projection_", {"type": "Linear", "params": {}}),
        "got Linear",
    ),
    "projection of text": ("hadamard", put(*STATE, "projection_", "x"), "got str"),
    "matrix NaN": ("gaussian", tensor(PROJECTION + "matrix", lambda a: a * np.nan), "finite"),
    "matrix of other rows": (
        "gaussian",
        tensor(PROJECTION + "matrix", lambda a: a[:, 1:]),
        r"\(any, 60\)",
    ),
}


@pytest.mark.parametrize("name", SKETCH_CHANGES)
def test_inconsistent_sketch(name, tmp_path):
    kind, change, message = SKETCH_CHANGES[name]
    refused(rewrite(saved_sketch(kind, tmp_path), change), message)


@pytest.mark.parametrize("kind", ["classifier", "sketch"])
def test_any_entry_may_be_anything(kind, request):
    """Replace every entry of the description, one by one, by values of every other kind.

    The classifier has many entries that are alike: each is replaced by two values in turn.
    """
    path = request.getfixturevalue(kind)
    values = [None, -1, "x", ["x"], {"dict": {}}]
    each = {"classifier": 2, "sketch": 5}[kind]
    document, _ = read(path)

    def places(value, at=()):
        yield at
        if isinstance(value, (dict, list)):
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                yield from places(item, (*at, key))

    loaded = 0
    for number, at in enumerate(place for place in places(document) if place):
        for value in (values[(each * number + i) % 5] for i in range(each)):
            with contextlib.suppress(ModelFileError):
                model = load(rewrite(path, put(*at, value)))
                assert model.predict(X).shape == (60,)
                assert str(model.summary())
                loaded += 1
    assert loaded > 0  # the library version, say, may be anything


def test_unknown_tensors_are_left_alone(path):
    more = rewrite(path, lambda document, tensors: tensors.update(extra=np.zeros(3)))
    np.testing.assert_array_equal(load(more).predict(X), load(path).predict(X))
