"""``mercer predict``: every kind of output file, columns by name, nothing overwritten."""

import io

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor, load, save


@pytest.fixture
def regressor(run, csv):
    columns = ("--columns", "width,height")
    assert run("fit", csv, "--target", "price", *columns, "--out", "model").exit_code == 0
    return load("model")


@pytest.fixture
def classifier(run, csv):
    columns = ("--columns", "width,height")
    assert run("fit", csv, "--target", "color", *columns, "--out", "model").exit_code == 0
    return load("model")


def test_stdout_is_csv_that_reads_back_exactly(run, csv, regressor, frame):
    result = run("predict", "model", csv)
    assert result.exit_code == 0, result.output
    header, *lines = (line.split(",") for line in result.stdout.splitlines())
    assert header == ["row", "prediction"]
    assert [int(row) for row, _ in lines] == list(range(120))
    predicted = [float(prediction) for _, prediction in lines]
    np.testing.assert_array_equal(predicted, regressor.predict(csv))


@pytest.mark.parametrize("extension", ["csv", "parquet", "npy"])
@pytest.mark.parametrize("proba", [(), ("--proba",)])
def test_files(extension, proba, run, parquet, classifier):
    out = f"predictions.{extension}"
    result = run("predict", "model", parquet, "--out", out, *proba)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "120 predictions written" in result.stderr
    if extension == "npy":
        table = pd.DataFrame(np.load(out, allow_pickle=False))
    else:
        table = {"csv": pd.read_csv, "parquet": pd.read_parquet}[extension](out)
    assert table.prediction.tolist() == classifier.predict(parquet).tolist()
    names = ["row", "prediction"]
    if proba:
        names += ["probability_dark, blue", "probability_red"]
        np.testing.assert_allclose(table[names[2:]], classifier.predict_proba(parquet), atol=1e-15)
    assert table.columns.tolist() == names


def test_numpy_rows_have_no_names(run, npz, regressor):
    result = run("predict", "model", npz)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 121


def test_several_outputs(run, npz):
    X = np.random.default_rng(0).random((50, 2))
    save(KernelRegressor().fit(X, X), "both")
    result = run("predict", "both", npz)
    assert result.stdout.splitlines()[0] == "row,prediction_0,prediction_1"


def test_columns_are_found_by_name_in_any_order(run, regressor, frame):
    frame[["color", "height", "width"]].to_csv("other.csv", index=False)
    result = run("predict", "model", "other.csv")
    table = pd.read_csv(io.StringIO(result.stdout))
    np.testing.assert_allclose(table.prediction, regressor.predict("rows.csv"))


def test_a_missing_column_names_the_closest(run, regressor, frame):
    frame.rename(columns={"width": "widht"}).to_csv("other.csv", index=False)
    result = run("predict", "model", "other.csv")
    assert result.exit_code == 2
    assert "did you mean 'widht'" in result.stderr


def test_input_is_never_overwritten(run, csv, regressor):
    before = csv.read_bytes()
    for out in ("rows.csv", csv.absolute()):
        result = run("predict", "model", csv, "--out", out)
        assert result.exit_code == 2
        assert "would overwrite" in result.stderr
    assert csv.read_bytes() == before
    result = run("predict", "model.mercer", csv, "--out", "model.mercer")
    assert result.exit_code == 2
    load("model")


def test_output_must_be_of_a_known_kind(run, csv, regressor):
    result = run("predict", "model", csv, "--out", "predictions.xlsx")
    assert result.exit_code == 2
    assert "'.csv'" in result.stderr


def test_probabilities_need_a_classifier(run, csv, regressor):
    result = run("predict", "model", csv, "--proba")
    assert result.exit_code == 2
    assert "--proba needs a classifier, got a KernelRegressor" in result.stderr
    assert result.stdout == ""
