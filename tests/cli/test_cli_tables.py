"""``mercer fit`` on tables as they are: columns of every kind, gaps, dialects, defaults."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import said
from tests.cli.house_tables import QUICK, houses, write_german

from mercer import KernelRegressor, load, save

FEATURES = ["size", "kind", "zip", "sold"]


@pytest.fixture
def table():
    frame = houses()
    frame.drop(columns="amount").to_csv("houses.csv", index=False)
    return frame


def became(model) -> dict[str, str]:
    return dict(model.columns_.encoding_.describe())


def test_a_table_as_it_is(run, table):
    result = run("fit", "houses.csv", "--target", "price", "--id", "code")
    assert result.exit_code == 0, result.output
    model = load("houses.mercer")
    assert isinstance(model, KernelRegressor)
    assert model.feature_names_in_.tolist() == FEATURES
    frame = table.drop(index=table.index[table["size"].isna()])
    assert model.score(frame[FEATURES], frame.amount) > 0.98
    found = became(model)
    assert found["size"] == "number; 15 gaps"
    assert found["kind"] == "category of 3 levels: an indicator each"
    assert found["sold"].startswith("date")
    for shown in ("regression (the target is numbers written as text: decimal points, commas", *(
        found["size"], found["kind"], "houses.mercer"
    )):  # fmt: skip
        assert shown in result.stdout
    assert said(result.stderr) == ""


def test_an_id_that_is_not_named_is_left_out_with_a_word_how_to_keep_it(run, table):
    result = run("fit", "houses.csv", "--target", "price", *QUICK)
    assert result.exit_code == 0, result.output
    assert "warning: column 'code' is left out" in result.stderr
    assert "--types 'code=" in result.stderr
    assert "columns={" not in result.output
    found = json.loads(run("fit", "houses.csv", "--target", "price", "--json", *QUICK).stdout)
    assert "--types 'code=" in found["became"]["code"]


def test_types(run, table):
    options = ("--types", "zip=category, sold=drop,code=drop", *QUICK)
    result = run("fit", "houses.csv", "--target", "price", *options)
    assert result.exit_code == 0, result.output
    model = load("houses")
    assert model.columns == {"zip": "category", "sold": "drop", "code": "drop"}
    assert became(model)["zip"] == "category of 3 levels: an indicator each"
    assert became(model)["sold"] == "left out: as asked"


def test_exclude_and_columns(run, table):
    result = run("fit", "houses.csv", "--target", "price", "--exclude", "code, sold", *QUICK)
    assert result.exit_code == 0, result.output
    assert load("houses").feature_names_in_.tolist() == ["size", "kind", "zip"]
    result = run("fit", "houses.csv", "--target", "price", "--columns", "kind,size", *QUICK)
    assert result.exit_code == 0, result.output
    assert load("houses").feature_names_in_.tolist() == ["kind", "size"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_semicolons_and_decimal_commas_are_stated(run, suffix):
    frame = houses().drop(columns=["price", "code"])
    if suffix == "csv":
        write_german(frame, "haeuser.csv")
    else:
        frame.to_parquet("haeuser.parquet")
    result = run("fit", f"haeuser.{suffix}", "--target", "amount", *QUICK)
    assert result.exit_code == 0, result.output
    style = "haeuser.csv: semicolons between values, decimal commas, UTF-8 with a byte order mark\n"
    assert said(result.stderr) == (style if suffix == "csv" else "")
    expected = KernelRegressor(**_quick()).fit(frame.drop(columns="amount"), frame.amount)
    np.testing.assert_allclose(
        load("haeuser").predict(frame.drop(columns="amount")),
        expected.predict(frame.drop(columns="amount")),
        rtol=1e-8,
    )


def _quick():
    from mercer import Landmarks

    return {
        "basis": Landmarks(20), "alpha": 1e-4, "metric": None, "kernel": "gaussian",
        "random_state": 0,
    }  # fmt: skip


def test_delimiter_and_decimal_are_taken_as_given(run):
    houses().drop(columns=["price", "code"]).to_csv("odd.csv", index=False, sep="~", decimal=",")
    result = run(
        "fit", "odd.csv", "--target", "amount", "--delimiter", "~", "--decimal", ",", *QUICK
    )
    assert result.exit_code == 0, result.output
    assert became(load("odd"))["size"] == "number; 15 gaps"
    result = run("fit", "odd.csv", "--target", "amount", "--delimiter", "ab", *QUICK)
    assert result.exit_code == 2
    assert "delimiter must be one character" in result.stderr


def test_missing_error_refuses_gaps(run, table):
    result = run("fit", "houses.csv", "--target", "price", "--missing", "error", "--id", "code")
    assert result.exit_code == 2
    assert "NaN at row 3, column 0 ('size')" in result.stderr
    assert "use --missing fill" in result.stderr
    assert not Path("houses.mercer").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--types", "zip:category"), "--types must be columns with their kinds"),
        (("--types", "zip=categori"), "did you mean 'category'"),
        (("--types", "zap=category"), "did you mean 'zip'"),
        (("--exclude", "cod"), "has no column 'cod' for --exclude; did you mean 'code'"),
        (("--id", "cod"), "has no column 'cod' for --id"),
        (("--id", "price"), "--id and --target must not both name 'price'"),
        (("--exclude", "size", "--columns", "size"), "--exclude and --columns must not both"),
        (("--missing", "drop"), "--missing"),
        (("--unlabelled", "keep"), "--unlabelled"),
        (("--decimal", ";"), "decimal"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, said, run, table):
    result = run("fit", "houses.csv", "--target", "price", *options)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert not Path("houses.mercer").exists()


def test_the_default_file_replaces_models_only(run, table):
    Path("houses.mercer").write_text("my notes", encoding="utf-8")
    result = run("fit", "houses.csv", "--target", "price", "--id", "code", *QUICK)
    assert result.exit_code == 2
    assert "houses.mercer exists and is not a model file: name another" in result.stderr
    assert Path("houses.mercer").read_text(encoding="utf-8") == "my notes"
    X = np.linspace(0, 1, 20)[:, None]
    save(KernelRegressor().fit(X, X[:, 0]), "old")
    Path("old.mercer").replace("houses.mercer")
    result = run("fit", "houses.csv", "--target", "price", "--id", "code", *QUICK)
    assert result.exit_code == 0, result.output
    assert load("houses").n_features_in_ == 4


def test_rows_without_a_target_are_dropped_and_counted(run, table):
    table.assign(amount=table.amount.where(table.index % 3 > 0)).drop(columns="price").to_csv(
        "gaps.csv", index=False
    )
    result = run("fit", "gaps.csv", "--target", "amount", "--id", "code", *QUICK)
    assert result.exit_code == 0, result.output
    assert "50 of 150 rows have no label" in result.stderr
    assert "--unlabelled use takes them" in result.stderr
    assert load("gaps").fit_.n_rows == 100
    more = ("--holdout", 0.2, "--id", "code", *QUICK)
    result = run("fit", "gaps.csv", "--target", "amount", *more)
    assert result.exit_code == 0, result.output
    assert load("gaps").fit_.n_rows == 80
    assert "on 20 rows of gaps.csv that were set aside" in result.stdout
    result = run("fit", "gaps.csv", "--target", "amount", "--unlabelled", "use", *more)
    assert result.exit_code == 0, result.output
    assert load("gaps").fit_.n_rows == 130
    result = run("fit", "gaps.csv", "--target", "amount", "--test", "gaps.csv", *more[2:])
    assert result.exit_code == 0, result.output
    assert "on 100 rows of gaps.csv; 50 without a target left out" in result.stdout


def test_text_prices_are_scored_as_numbers(run, table):
    options = ("--id", "code", "--holdout", 0.3, *QUICK)
    result = run("fit", "houses.csv", "--target", "price", *options)
    assert result.exit_code == 0, result.output
    assert "test RMSE" in result.stdout
    assert "on 45 rows of houses.csv that were set aside" in result.stdout


def test_nothing_is_written_when_scoring_fails(run, table):
    table.assign(price="n/a").to_csv("test.csv", index=False)
    options = ("--id", "code", "--test", "test.csv", *QUICK)
    result = run("fit", "houses.csv", "--target", "price", *options)
    assert result.exit_code == 2
    assert "no row of test.csv has a target" in result.stderr
    assert not Path("houses.mercer").exists()


def test_standard_input_is_fitted(run, table):
    text = Path("houses.csv").read_text(encoding="utf-8")
    result = run("fit", "-", "--target", "price", "--id", "code", *QUICK, stdin=text)
    assert result.exit_code == 0, result.output
    assert run("fit", "houses.csv", "--target", "price", "--id", "code", *QUICK).exit_code == 0
    frame = table[FEATURES]
    np.testing.assert_array_equal(load("model").predict(frame), load("houses").predict(frame))


def test_json_is_all_of_stdout(run, table):
    options = ("--id", "code", "--holdout", 0.2, "--json", *QUICK)
    result = run("fit", "houses.csv", "--target", "price", *options)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["task"] == "regression"
    assert found["target"] == "price"
    assert found["rows"] == 120
    assert found["columns"] == FEATURES
    assert found["became"]["kind"] == "category of 3 levels: an indicator each"
    assert found["alpha"] == 1e-4
    assert found["test"]["rows"] == 30
    assert 0 < found["test"]["r2"] <= 1
    assert Path(found["model"]).is_file()


@pytest.mark.parametrize("checkpoint", [(), ("--checkpoint", "sums", "--shards", 2)])
def test_ctrl_c_says_what_was_kept(checkpoint, run, table, monkeypatch):
    def stop(self, rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(KernelRegressor, "fit", stop)
    result = run("fit", "houses.csv", "--target", "price", *checkpoint)
    assert result.exit_code == 130
    kept = "no model was written; sums has the finished shards" if checkpoint else "nothing was"
    assert result.stderr.startswith(f"stopped: {kept}")
    assert result.stderr.count("\n") == 1
    assert not Path("houses.mercer").exists()


def test_help_has_groups_and_examples(run):
    for command in ("fit", "predict", "rank", "look"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "Reading the file" in result.stdout
        assert "Examples" in result.stdout
        assert f"mercer {command} " in result.stdout
    assert "--install-completion" in run("--help").stdout


@pytest.mark.parametrize("holdout", [(), ("--holdout", 0.5)])
def test_an_infinite_value_is_found_by_its_line(holdout, run, table, monkeypatch):
    monkeypatch.setattr("mercer.cli.reading.SCANNED", 16)  # it is not in the first block
    lines = Path("houses.csv").read_text(encoding="utf-8").splitlines()
    code, _, rest = lines[41].split(",", 2)
    lines[41] = f"{code},inf,{rest}"
    Path("houses.csv").write_text("\n".join([*lines[:20], "", *lines[20:]]), encoding="utf-8")
    result = run("fit", "houses.csv", "--target", "price", "--id", "code", *holdout, *QUICK)
    assert result.exit_code == 2
    assert "column 'size' at line 43 of houses.csv is infinite" in result.stderr
    assert not Path("houses.mercer").exists()


def test_columns_that_are_left_out_need_not_be_there_to_predict(run, table):
    assert run("fit", "houses.csv", "--target", "price", *QUICK).exit_code == 0
    table.drop(columns=["code", "price"]).to_csv("new.csv", index=False)
    result = run("predict", "houses", "new.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout == run("predict", "houses", "houses.csv").stdout
    table.drop(columns=["kind"]).to_csv("new.csv", index=False)
    result = run("predict", "houses", "new.csv")
    assert result.exit_code == 2
    assert "has no column 'kind'" in result.stderr


def test_a_checkpoint_of_a_table(run, table):
    options = ("--target", "price", "--id", "code", "--shards", 3, *QUICK)
    assert run("fit", "houses.csv", "--out", "plain", *options).exit_code == 0
    for name in ("first", "resumed"):
        result = run("fit", "houses.csv", "--out", name, "--checkpoint", "sums", *options)
        assert result.exit_code == 0, result.output
    frame = table[FEATURES]
    expected = load("plain").predict(frame)
    np.testing.assert_allclose(load("first").predict(frame), expected, rtol=1e-9)
    np.testing.assert_array_equal(load("resumed").predict(frame), load("first").predict(frame))


def test_options_that_contradict_a_sheet_are_refused(run, table):
    for option in ("--exclude", "--id"):
        result = run("fit", "houses.csv", "--labels", "sheet.csv", option, "code")
        assert result.exit_code == 2
        assert f"{option} must be left out with --labels" in result.stderr


def test_a_model_with_rare_levels_predicts(run):
    """Two carriers have a few flights each, and share an indicator."""
    rng = np.random.default_rng(0)
    carrier = np.where(np.arange(600) < 5, ["OO", "OO", "OO", "YV", "YV"] * 120, "UA")
    carrier[5:] = rng.choice(["AA", "B6", "UA"], 595)
    flights = pd.DataFrame({"carrier": carrier, "distance": rng.integers(90, 2600, 600)})
    flights["delay"] = np.round((carrier == "B6") + 9 * rng.normal(size=600), 2)
    flights.to_csv("flights.csv", index=False)
    result = run("fit", "flights.csv", "--target", "delay", *QUICK)
    assert result.exit_code == 0, result.output
    assert "2 rare ones together" in load("flights").columns_.encoding_.describe()[0][1]
    result = run("predict", "flights", "flights.csv", "--out", "predicted.csv")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(
        pd.read_csv("predicted.csv").iloc[:, -1],
        load("flights").predict(flights[["carrier", "distance"]]),
    )
