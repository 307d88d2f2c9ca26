"""``mercer look`` and ``mercer info``: what is said of columns, and nothing is fitted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.house_tables import QUICK, houses, write_german

from mercer import KernelRegressor, load, save


def columns_of(result) -> dict[str, dict]:
    assert result.exit_code == 0, result.output
    return {column["name"]: column for column in json.loads(result.stdout)["columns"]}


def test_every_column_is_described(run):
    frame = houses()
    frame["empty"] = None
    frame.to_csv("houses.csv", index=False)
    result = run("look", "houses.csv", "--json")
    found = columns_of(result)
    assert list(found) == frame.columns.tolist()
    size = found["size"]
    assert (size["low"], size["high"]) == (frame["size"].min(), frame["size"].max())
    assert size["gaps"] == 15
    assert size["becomes"] == "number; gaps are filled, with an indicator"
    assert size["width"] == 2
    assert found["kind"]["levels"] == 3
    assert set(found["kind"]["examples"]) == {"flat", "house", "villa"}
    assert found["kind"]["examples"][0] == frame.kind.value_counts().idxmax()
    assert (found["sold"]["low"], found["sold"]["high"]) == ("2020-01-01", frame.sold.max())
    assert found["price"]["low"] == round(frame.amount.min())
    assert found["price"]["contains"] == "text"
    assert "keep it with --types 'code=" in found["code"]["becomes"]
    assert found["empty"]["becomes"] == "left out: it has no values"
    assert sorted(path.name for path in Path().iterdir()) == ["houses.csv"]


def test_it_agrees_with_the_fit(run):
    houses(400).assign(city=lambda f: [f"c{i % 40}" for i in range(400)]).to_csv(
        "houses.csv", index=False
    )
    options = ("--target", "amount", "--exclude", "price", "--types", "zip=category")
    found = columns_of(run("look", "houses.csv", "--json", *options))
    assert run("fit", "houses.csv", *options, *QUICK).exit_code == 0
    for name, words in load("houses").columns_.encoding_.describe():
        expected = words.split(";")[0].split("=")[0]
        assert found[name]["becomes"].startswith(expected), name
    assert found["city"]["becomes"] == "category of 40 levels: an indicator each"


def test_the_task_and_the_dialect_are_stated(run):
    write_german(houses().drop(columns="code"), "haeuser.csv")
    result = run("look", "haeuser.csv", "--target", "price")
    assert result.exit_code == 0, result.output
    for shown in (
        "semicolons between values, decimal commas, UTF-8 with a byte order mark",
        "regression (the target is numbers written as text", "number 50", "15 gaps", "3 levels",
    ):  # fmt: skip
        assert shown in result.stdout
    found = json.loads(run("look", "haeuser.csv", "--target", "price", "--json").stdout)
    assert found["task"] == "regression"
    assert found["dialect"]["delimiter"] == ";"


def test_a_doubtful_task_does_not_fail_a_look(run, csv):
    result = run("look", csv, "--target", "stars")
    assert result.exit_code == 0, result.output
    assert "not clear: the target is 5 different whole numbers" in result.stdout
    found = json.loads(run("look", csv, "--target", "stars", "--json").stdout)
    assert found["task"] is None
    assert "--task regression" in found["reason"]


def test_rows_without_a_target_are_counted(run):
    frame = houses()
    frame.assign(amount=frame.amount.where(frame.index % 3 > 0)).to_csv("gaps.csv", index=False)
    result = run("look", "gaps.csv", "--target", "amount", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["rows"], found["rows_without_target"]) == (100, 50)


@pytest.mark.parametrize("extension", ["png", "svg"])
def test_a_picture(extension, run):
    frame = houses()
    frame["empty"] = None
    frame["note"] = [f"note {i}" for i in range(150)]
    frame["city"] = [f"c{i % 40}" for i in range(150)]
    frame.to_csv("houses.csv", index=False)
    result = run("look", "houses.csv", "--target", "amount", "--plot", f"look.{extension}")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"picture of 9 columns written to look.{extension}\n"
    start = Path(f"look.{extension}").read_bytes()[:8]
    assert start == (b"\x89PNG\r\n\x1a\n" if extension == "png" else b"<?xml ve")


def test_parquet_and_arrays(run, npz):
    frame = houses().assign(
        sold=pd.to_datetime(houses().sold), kind=houses().kind.astype("category")
    )
    frame.to_parquet("houses.parquet")
    found = columns_of(run("look", "houses.parquet", "--json"))
    assert found["sold"]["contains"] == "date"
    assert found["sold"]["high"] == "2020-05-29"
    assert found["kind"]["levels"] == 3
    found = columns_of(run("look", npz, "--json"))
    assert list(found) == ["x0", "x1"]
    assert 0 <= found["x0"]["low"] < found["x0"]["high"] <= 1


def test_standard_input_is_looked_at(run):
    result = run("look", "-", "--json", stdin="a;b\n1,5;x\n2,5;y\n")
    found = columns_of(result)
    assert found["a"]["low"] == 1.5
    assert "semicolons" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("houses.csv", "--target", "prise"), "did you mean 'price'"),
        (("houses.csv", "--plot", "look.txt"), "extension"),
        (("houses.csv", "--plot", "no/look.png"), "does not exist"),
        (("houses.csv", "--types", "zip=zip"), "kind of 'zip'"),
        (("hauses.csv",), "did you mean 'houses.csv'"),
    ],
)
def test_mistakes(arguments, said, run):
    houses().to_csv("houses.csv", index=False)
    result = run("look", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_info_names_target_columns_and_test_score(run):
    houses().to_csv("houses.csv", index=False)
    options = ("--target", "price", "--exclude", "code,amount", "--holdout", 0.2, *QUICK)
    result = run("fit", "houses.csv", *options)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    score = next(line for line in lines if "test R²" in line)
    shown = run("info", "houses")
    assert shown.exit_code == 0, shown.output
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert score in lines
    assert "target price" in lines
    assert "category of 3 levels: an indicator each" in shown.stdout
    found = json.loads(run("info", "houses", "--json").stdout)
    assert found["target"] == "price"
    assert found["notes"]["test R²"] in score
    assert found["became"]["kind"] == "category of 3 levels: an indicator each"
    assert found["columns"] == ["size", "kind", "zip", "sold"]


def test_info_of_a_classifier_and_of_a_model_from_python(run, csv):
    assert run("fit", csv, "--target", "color", "--columns", "width,height").exit_code == 0
    found = json.loads(run("info", "rows", "--json").stdout)
    assert found["classes"] == ["dark, blue", "red"]
    assert found["target"] == "color"
    X = np.linspace(0, 1, 30)[:, None]
    save(KernelRegressor().fit(X, X[:, 0]), "python")
    found = json.loads(run("info", "python", "--json").stdout)
    assert found["target"] is None
    assert found["notes"] == {}


def test_a_new_fit_forgets_what_was_noted(run):
    houses().to_csv("houses.csv", index=False)
    assert run("fit", "houses.csv", "--target", "amount", *QUICK).exit_code == 0
    model = load("houses")
    assert model._notes == {"target": "amount"}
    X = np.linspace(0, 1, 30)[:, None]
    assert model.set_params(columns="auto").fit(X, X[:, 0])._notes == {}
