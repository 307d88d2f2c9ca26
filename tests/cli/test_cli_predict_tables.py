"""``mercer predict`` on tables: ids and columns are kept, gaps and new levels are counted."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.house_tables import QUICK, houses, write_german

from mercer import load


@pytest.fixture
def model(run):
    houses().to_csv("houses.csv", index=False)
    options = ("--target", "price", "--exclude", "code,amount", "--types", "zip=category", *QUICK)
    assert run("fit", "houses.csv", *options).exit_code == 0
    return load("houses")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_ids_are_written_as_they_are(run, model):
    result = run("predict", "houses", "houses.csv", "--id", "code")
    assert result.exit_code == 0, result.output
    found = read(result.stdout)
    assert list(found[0]) == ["code", "prediction"]
    assert [row["code"] for row in found] == houses().code.tolist()  # with leading zeros
    predicted = [float(row["prediction"]) for row in found]
    np.testing.assert_array_equal(predicted, model.predict(Path("houses.csv")))


def test_append_keeps_every_value_of_the_file(run, model):
    german = write_german(houses(), "neu.csv")
    result = run("predict", "houses", german, "--append", "--out", "both.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("neu.csv: semicolons between values, decimal commas")
    assert "150 predictions written to both.csv" in result.stderr
    found = read(Path("both.csv").read_text(encoding="utf-8"))
    given = list(csv.DictReader(io.StringIO(german.read_text(encoding="utf-8-sig")), delimiter=";"))
    for row, before in zip(found, given, strict=True):
        prediction = row.pop("prediction")
        assert row == before
        assert float(prediction) > 0
    again = [
        float(row["prediction"]) for row in read(run("predict", "houses", "houses.csv").stdout)
    ]
    both = pd.read_csv("both.csv").prediction
    np.testing.assert_allclose(both, again, rtol=1e-12)


def test_append_to_parquet_has_types(run, model):
    houses().to_parquet("houses.parquet")
    for file in ("houses.csv", "houses.parquet"):
        out = ("--append", "--id", "zip", "--out", "both.parquet")
        result = run("predict", "houses", file, *out)
        assert result.exit_code == 0, result.output
        both = pd.read_parquet("both.parquet")
        assert both.columns.tolist()[:2] == ["zip", "code"]
        assert both.zip.tolist() == houses().zip.tolist()
        assert both.code.tolist() == houses().code.tolist()
        np.testing.assert_array_equal(both["size"], houses()["size"])


def test_unknown_levels_and_new_gaps_are_counted_once(run, model):
    frame = houses(30)
    frame.loc[:2, "kind"] = "castle"
    frame.loc[3:6, "zip"] = None
    frame.to_csv("new.csv", index=False)
    result = run("predict", "houses", "new.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("warning:") == 1
    assert "'kind' has 3 unknown values" in result.stderr
    assert "'zip' has 4 missing values" in result.stderr
    assert len(read(result.stdout)) == 30


def test_standard_input_is_predicted(run, model):
    text = Path("houses.csv").read_text(encoding="utf-8")
    result = run("predict", "houses", "-", "--id", "code", stdin=text)
    assert result.exit_code == 0, result.output
    assert result.stdout == run("predict", "houses", "houses.csv", "--id", "code").stdout
    result = run("predict", "houses", "-", stdin="")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: standard input is empty")


def test_json_records(run, model):
    result = run("predict", "houses", "houses.csv", "--append", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len(found) == 150
    assert found[3]["size"] is None
    assert found[0]["code"] == houses().code[0]
    assert found[0]["zip"] == int(houses().zip[0])
    np.testing.assert_array_equal(
        [row["prediction"] for row in found], model.predict(Path("houses.csv"))
    )
    result = run("predict", "houses", "houses.csv", "--json", "--out", "p.csv")
    assert json.loads(result.stdout) == {
        "rows": 150, "columns": ["row", "prediction"], "out": "p.csv"
    }  # fmt: skip
    assert Path("p.csv").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--id", "cod"), "has no column 'cod' for --id; did you mean 'code'"),
        (("--delimiter", ";"), "has no column"),
    ],
)
def test_what_cannot_be_kept_is_refused(options, said, run, model):
    result = run("predict", "houses", "houses.csv", "--out", "p.csv", *options)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert not Path("p.csv").exists()


def test_a_column_of_that_name_is_not_replaced(run, model):
    houses().assign(prediction=1).to_csv("new.csv", index=False)
    result = run("predict", "houses", "new.csv", "--append")
    assert result.exit_code == 2
    assert "has a column 'prediction' already" in result.stderr
    assert result.stdout == ""


def test_rows_without_names_have_no_ids(run, npz, csv):
    assert run("fit", npz, "--out", "plain").exit_code == 0
    result = run("predict", "plain", npz, "--append")
    assert result.exit_code == 2
    assert "--append must be left out for rows.npz" in result.stderr
    pd.read_csv(csv)[["width", "height"]].to_csv("two.csv", index=False)
    by_name, by_place = run("predict", "plain", "two.csv"), run("predict", "plain", npz)
    assert by_name.exit_code == 0, by_name.output
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(by_name.stdout)).prediction,
        pd.read_csv(io.StringIO(by_place.stdout)).prediction,
    )
