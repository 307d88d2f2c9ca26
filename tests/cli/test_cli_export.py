"""``mercer export``: a model file becomes an ONNX file."""

import json

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, Landmarks, save

pytest.importorskip("onnx", reason="graphs are built by onnx, which is not installed")


@pytest.fixture
def model(frame):
    parts = Gaussian(0.5), Landmarks(20), 1e-3
    found = KernelRegressor(*parts, random_state=0, dtype="float64")
    found.fit(frame[["width", "color"]], frame["price"])
    save(found, "rows")
    return found


def test_inputs_outputs_and_the_size_are_shown(run, model, frame):
    found = run("export", "rows")
    assert found.exit_code == 0, found.output
    for words in ("input width", "float64, N x 1", "text, N x 1: one of", "output prediction"):
        assert words in found.stdout
    assert "rows.onnx (" in found.stdout
    runtime = pytest.importorskip("onnxruntime", reason="graphs are run by onnxruntime")
    rows = {
        "width": frame[["width"]].to_numpy(),
        "color": frame[["color"]].to_numpy(dtype=object),
    }
    predicted = runtime.InferenceSession("rows.onnx").run(None, rows)[0]
    np.testing.assert_allclose(predicted, model.predict(frame[["width", "color"]]), atol=1e-9)


def test_json_and_float32(run, model):
    found = json.loads(run("export", "rows", "--out", "small", "--float32", "--json").stdout)
    assert found["out"] == "small.onnx"
    assert found["bytes"] > 1000
    assert [value["type"] for value in found["inputs"]] == ["float32", "text"]
    assert found["outputs"][0]["shape"] == ["N"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rows"], "rows.onnx exists: name another file with --out, or replace it with --force"),
        (["rows", "--out", "rows.mercer"], "would overwrite or join the input"),
        (["rows", "--out", "rows.txt"], "it must be one of '.onnx'"),
        (["nothing"], "nothing"),
    ],
    ids=["exists", "input", "suffix", "no model"],
)
def test_refusals(run, model, tmp_path, arguments, words):
    (tmp_path / "rows.onnx").write_text("as it was")
    found = run("export", *arguments)
    assert found.exit_code == 2
    assert words in found.stderr
    assert (tmp_path / "rows.onnx").read_text() == "as it was"
    assert run("export", "rows", "--force").exit_code == 0
    assert (tmp_path / "rows.onnx").stat().st_size > 1000
