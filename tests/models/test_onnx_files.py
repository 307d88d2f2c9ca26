"""The file of an exported model: written whole or not at all, standard, and refused in words."""

import builtins
import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    PeriodicSpline,
    Precomputed,
    RandomFeatures,
    Sobolev,
    to_onnx,
)
from mercer.models import graph_builder

onnx = pytest.importorskip("onnx", reason="graphs are built by onnx, which is not installed")

X = np.random.default_rng(0).random((60, 2))
SETTINGS = {"basis": Landmarks(10), "alpha": 1e-3, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return KernelClassifier(Gaussian(0.5), **SETTINGS).fit(X, np.where(X[:, 0] > 0.5, "hi", "lo"))


def test_a_file_of_standard_operators_with_metadata(model, tmp_path):
    made = to_onnx(model, tmp_path / "model")
    read = onnx.load(tmp_path / "model.onnx")
    assert read == made
    assert {entry.domain for entry in read.opset_import} == {"", "ai.onnx.ml"}
    assert read.producer_name == "mercer"
    known = {entry.key: entry.value for entry in read.metadata_props}
    assert known["task"] == "classification"
    assert json.loads(known["classes"]) == ["hi", "lo"]
    assert json.loads(known["columns"]) == ["x0", "x1"]
    assert known["kernel"] == "Gaussian(bandwidth=0.5)"
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize(
    ("kernel", "basis", "words"),
    [
        (PeriodicSpline(), Landmarks(10), "the kernel PeriodicSpline has no ONNX graph"),
        (Gaussian(0.5) + Sobolev(), Landmarks(10), "the kernel Sobolev has no ONNX graph"),
        (PeriodicSpline(), RandomFeatures(10), "features of the kind SplineFeatures have no ONNX"),
        (Precomputed(), Landmarks(10), "the kernel Precomputed has no ONNX graph"),
    ],
    ids=["kernel", "part of a sum", "features", "precomputed"],
)
def test_what_has_no_graph_is_refused_before_anything_is_written(kernel, basis, words, tmp_path):
    rows = X @ X.T if kernel.pairwise else X
    model = KernelRegressor(kernel, basis, 1e-3, random_state=0).fit(rows, X[:, 0])
    old = tmp_path / "model.onnx"
    old.write_text("as it was")
    with pytest.raises(ValueError, match=words):
        to_onnx(model, old)
    assert old.read_text() == "as it was"


def test_a_kernel_of_your_own_can_be_added_to_the_table(monkeypatch):
    from mercer.models.kernel_graphs import KERNEL_GRAPHS, gaussian

    class Own(Gaussian):
        pass

    model = KernelRegressor(Own(0.5), **SETTINGS).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="the kernel Own has no ONNX graph; refit with one of Gau"):
        to_onnx(model)
    monkeypatch.setitem(KERNEL_GRAPHS, Own, gaussian)
    assert to_onnx(model).graph.output[0].name == "prediction"


def test_invalid_arguments(model, tmp_path):
    with pytest.raises(TypeError, match=r"to_onnx\(\) needs a fitted KernelClassifier or"):
        to_onnx(make_pipeline(model))
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(KernelRegressor())
    with pytest.raises(ValueError, match="unknown dtype 'float16'"):
        to_onnx(model, dtype="float16")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        to_onnx(model, tmp_path / "nowhere" / "model.onnx")


def test_dates_as_classes_are_refused():
    days = np.array(["2020-01-01", "2021-05-01"], dtype="M8[D]")
    model = KernelClassifier(Gaussian(0.5), **SETTINGS).fit(X, days[(X[:, 0] > 0.5).astype(int)])
    with pytest.raises(ValueError, match="classes must be numbers or text"):
        to_onnx(model)


def test_a_model_beyond_two_gigabytes_is_refused(model, monkeypatch):
    monkeypatch.setattr(graph_builder, "LARGEST_FILE", 100)
    with pytest.raises(ValueError, match="an ONNX file holds at most 2 GB"):
        to_onnx(model)


def test_without_onnx_the_extra_is_named(model, monkeypatch):
    before = builtins.__import__

    def without(name, *rest, **settings):
        if name.split(".")[0] == "onnx":
            raise ImportError(name)
        return before(name, *rest, **settings)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"mercer\[serve\]"):
        to_onnx(model)
