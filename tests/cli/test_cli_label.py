"""``mercer label`` and ``mercer fit --labels``: a pool, a sheet, a person's work, a model."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import ImportanceLabeller, KernelClassifier, KernelRegressor, load

FEATURES = ["width", "height"]
OPTIONS = ("--columns", "width,height", "--budget", 40, "--seed", 3)


def read(path):
    return pd.read_csv(path) if Path(path).suffix == ".csv" else pd.read_parquet(path)


def write(table, path):
    to = table.to_csv if Path(path).suffix == ".csv" else table.to_parquet
    to(path, index=False)


def fill_in(path, frame, target, by="row", seed=0):
    """Do a person's work, and leave the rows of the sheet in another order."""
    sheet = read(path)
    known = frame[target] if by == "row" else frame.set_index(by)[target]
    sheet["label"] = known.loc[sheet[by]].to_numpy()
    write(sheet.sample(frac=1.0, random_state=seed), path)
    return sheet


def labeller_of(frame, rounds=(40,)):
    found = ImportanceLabeller(budget=rounds[0], random_state=3).fit(frame[FEATURES])
    for number in rounds[1:]:
        found.select(number)
    return found


def files():
    return {path.name: path.read_bytes() for path in Path().iterdir()}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("target", "estimator"), [("price", KernelRegressor), ("color", KernelClassifier)]
)
def test_the_whole_way_round(kind, target, estimator, run, frame, request):
    pool, sheet = request.getfixturevalue(kind), f"to_label.{kind}"
    result = run("label", pool, *OPTIONS, "--out", sheet)
    assert result.exit_code == 0, result.output
    wanted = labeller_of(frame)
    found = read(sheet)
    assert found.row.tolist() == wanted.indices_.tolist()
    assert found.draws.tolist() == wanted.count_.tolist()
    np.testing.assert_allclose(found.weight, wanted.sample_weight_, rtol=1e-12)
    assert found.label.isna().all()
    assert found.color.tolist() == frame.color[wanted.indices_].tolist()
    assert found.pool_weight.astype(float).tolist() == frame.weight[wanted.indices_].tolist()
    for shown in ("120 rows, 2 features", "effective dimension", "moments", "to_label.json"):
        assert shown in result.stdout
    assert f"{len(wanted.indices_)}\n" in result.stdout.replace(" ", "")

    fill_in(sheet, frame, target)
    before = files()
    result = run("fit", pool, "--labels", sheet, "--out", "model", "--seed", 5)
    assert result.exit_code == 0, result.output
    assert before.items() <= files().items()
    rows = frame.iloc[wanted.indices_]
    expected = estimator(random_state=5).fit(rows[FEATURES], rows[target], wanted.sample_weight_)
    model = load("model")
    assert type(model) is estimator
    assert model.feature_names_in_.tolist() == FEATURES
    assert model.fit_.total_weight == pytest.approx(wanted.sample_weight_.sum())
    assert model.alpha_ == pytest.approx(expected.alpha_)
    if estimator is KernelRegressor:
        np.testing.assert_allclose(
            model.predict(frame[FEATURES]), expected.predict(frame[FEATURES]), rtol=1e-9, atol=1e-9
        )
    else:
        values = model.decision_function(frame[FEATURES])
        np.testing.assert_allclose(values, expected.decision_function(frame[FEATURES]), atol=1e-9)
        assert set(model.classes_) == {"red", "dark, blue"}


def test_ids_of_a_column(run, frame):
    frame = frame.assign(name=[f"{i:03d}" for i in np.random.default_rng(1).permutation(120)])
    frame[["name", "width", "height", "price"]].to_csv("pool.csv", index=False)
    # Without --columns, all but the ids are features.
    result = run("label", "pool.csv", "--id", "name", "--budget", 30, "--out", "sheet.csv")
    assert result.exit_code == 0, result.output
    sheet = pd.read_csv("sheet.csv", dtype={"name": str})
    assert set(sheet.name) <= set(frame.name)
    record = json.loads(Path("sheet.json").read_text(encoding="utf-8"))
    assert record["columns"] == ["width", "height", "price"]
    sheet["label"] = frame.set_index("name").stars.loc[sheet.name].to_numpy()
    sheet.iloc[::-1].to_csv("sheet.csv", index=False)
    result = run("fit", "pool.csv", "--labels", "sheet.csv", "--out", "model")
    assert result.exit_code == 0, result.output
    assert "different whole numbers" in result.stdout
    assert load("model").n_features_in_ == 3


def test_rows_without_names(run, npz, frame):
    result = run("label", npz, "--budget", 30, "--seed", 3, "--out", "sheet.csv")
    assert result.exit_code == 0, result.output
    sheet = fill_in("sheet.csv", frame, "price")
    assert list(sheet.columns) == ["row", "draws", "weight", "label", "x0", "x1"]
    assert run("fit", npz, "--labels", "sheet.csv", "--out", "model").exit_code == 0
    assert load("model").fit_.n_rows == len(sheet)


def test_a_test_file_has_a_target_of_its_own(run, csv, frame):
    run("label", csv, *OPTIONS, "--out", "sheet.csv")
    fill_in("sheet.csv", frame, "price")
    options = ("--out", "model", "--test", csv, "--target", "price")
    result = run("fit", csv, "--labels", "sheet.csv", *options)
    assert result.exit_code == 0, result.output
    assert "on 120 rows of rows.csv" in result.stdout


def test_a_further_round(run, csv, frame):
    run("label", csv, *OPTIONS, "--out", "first.csv")
    old = fill_in("first.csv", frame, "color")
    before = files()
    tasks = ("--label-studio", "tasks.json")
    result = run("label", csv, "--more", "first.csv", "--budget", 25, "--out", "second.csv", *tasks)
    assert result.exit_code == 0, result.output
    assert before.items() <= files().items()
    wanted = labeller_of(frame, (40, 25))
    new = read("second.csv")
    assert new.row.tolist() == wanted.indices_.tolist()
    np.testing.assert_allclose(new.weight, wanted.sample_weight_, rtol=1e-12)
    known = new[new.row.isin(old.row)]
    assert known.label.tolist() == frame.color[known.row].tolist()
    asked = new[~new.row.isin(old.row)]
    assert len(asked) > 0
    assert asked.label.isna().all()
    found = json.loads(Path("tasks.json").read_text(encoding="utf-8"))
    assert [int(task["data"]["mercer_id"]) for task in found] == asked.row.tolist()
    for shown in ("65 in 2 rounds: 40, 25", f"of which {len(old)} are labelled already"):
        assert shown in result.stdout

    # One stream of random numbers: three rounds are those of one labeller.
    result = run("label", csv, "--more", "second.csv", "--budget", 20, "--out", "third.parquet")
    assert result.exit_code == 0, result.output
    assert read("third.parquet").row.tolist() == labeller_of(frame, (40, 25, 20)).indices_.tolist()
    fill_in("third.parquet", frame, "color")
    result = run("fit", csv, "--labels", "third.parquet", "--out", "model")
    assert result.exit_code == 0, result.output


def test_any_number_of_shards_draws_the_same_rows(run, csv):
    for shards in (2, 3):
        result = run("label", csv, *OPTIONS, "--out", f"{shards}.csv", "--shards", shards)
        assert result.exit_code == 0, result.output
    two, three = read("2.csv"), read("3.csv")
    assert two.row.tolist() == three.row.tolist()
    np.testing.assert_allclose(two.weight, three.weight, rtol=1e-8)
    options = ("--more", "2.csv", "--budget", 10, "--out", "more.csv", "--shards", 3)
    assert run("label", csv, *options).exit_code == 0


def test_shards_draw_what_is_drawn_without_them(run, csv):
    run("label", csv, *OPTIONS, "--out", "one.csv")
    result = run("label", csv, *OPTIONS, "--out", "three.csv", "--shards", 3)
    assert result.exit_code == 0, result.output
    one, three = read("one.csv"), read("three.csv")
    assert one.row.tolist() == three.row.tolist()
    np.testing.assert_allclose(one.weight, three.weight, rtol=1e-8)


def test_label_studio(run, csv, frame):
    result = run("label", csv, *OPTIONS, "--out", "sheet.csv", "--label-studio", "tasks.json")
    assert result.exit_code == 0, result.output
    tasks, sheet = json.loads(Path("tasks.json").read_text(encoding="utf-8")), read("sheet.csv")
    assert [set(task) for task in tasks] == [{"data"}] * len(sheet)
    for task, row in zip(tasks, sheet.itertuples(), strict=True):
        data = task["data"]
        assert data["mercer_id"] == str(row.row)
        assert data["mercer_weight"] == row.weight
        assert data["width"] == frame.width[row.row]
        assert data["color"] == frame.color[row.row]


def test_every_option_decides_what_is_drawn(run, csv, frame):
    options = ("--kernel", "matern", "--bandwidth", 0.5, "--basis", "random_features")
    options += ("--components", 30, "--alpha", 1e-3, "--memory-limit", "1GB")
    result = run("label", csv, *OPTIONS, *options, "--out", "sheet.csv")
    assert result.exit_code == 0, result.output
    for shown in ("Matern(bandwidth=0.5, ", "RandomFeatures with 30", "1.000e-03"):
        assert shown in result.stdout
    settings = json.loads(Path("sheet.json").read_text(encoding="utf-8"))["settings"]
    assert settings == {
        "kernel": "matern", "bandwidth": "0.5", "basis": "random_features", "components": 30,
        "alpha": "0.001", "seed": 3,
    }  # fmt: skip
    # A further round takes all of it over.
    result = run("label", csv, "--more", "sheet.csv", "--budget", 9, "--out", "more.csv")
    assert result.exit_code == 0, result.output
    assert "RandomFeatures with 30" in result.stdout


def refused(result, message, before):
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert files() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", 121), "budget must be at most the 120 rows of the pool"),
        (("--budget", 0), "budget must be at least 1"),
        (("--id", "serail"), "did you mean 'serial'"),
        (("--id", "stars"), "ids must be different in every row"),
        (("--id", "width"), "columns must not list the ids"),
        (("--id", "weight"), "must not be called 'weight'"),
        (("--columns", "width,color"), "must hold numbers"),
        (("--columns", "with"), "did you mean 'width'"),
        (("--out", "sheet.xlsx"), "a .csv or .parquet file"),
        (("--out", "rows.csv"), "would overwrite"),
        (("--out", "no/sheet.csv"), "does not exist"),
        (("--label-studio", "tasks.csv"), "extension"),
        (("--label-studio", "sheet.json"), "would overwrite"),
        (("--kernel", "gausian"), "did you mean 'gaussian'"),
        (("--alpha", "small"), "--alpha must be a number"),
        (("--more", "rows.csv"), "its record rows.json"),
        (("--more", "missing.csv"), "no such file"),
    ],
)
def test_what_cannot_be_labelled(options, message, run, csv):
    before = files()
    refused(run("label", csv, *OPTIONS, "--out", "sheet.csv", *options), message, before)


def test_a_sheet_is_never_overwritten(run, csv):
    run("label", csv, *OPTIONS, "--out", "sheet.csv")
    before = files()
    again = run("label", csv, *OPTIONS, "--out", "sheet.csv")
    refused(again, "is there already, and labels would be lost", before)
    other = run("label", csv, *OPTIONS, "--out", "sheet.parquet")  # it would share the record
    refused(other, "sheet.json is there already", before)
    fitted = run("fit", csv, "--labels", "sheet.csv", "--out", "sheet.json")
    refused(fitted, "would overwrite", before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kernel", "matern"), "--kernel must be that of sheet.csv, 'gaussian'"),
        (("--seed", 4), "--seed must be that of sheet.csv, 3"),
        (("--columns", "width"), "--columns must be that of sheet.csv"),
        (("--id", "serial"), "--id must be that of sheet.csv, None"),
    ],
)
def test_a_further_round_with_other_settings(options, message, run, csv):
    run("label", csv, *OPTIONS, "--out", "sheet.csv")
    before = files()
    more = ("--more", "sheet.csv", "--budget", 5, "--out", "more.csv")
    refused(run("label", csv, *more, *options), message, before)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_bad_sheets(kind, run, frame, request):
    pool, path = request.getfixturevalue(kind), f"sheet.{kind}"
    run("label", pool, *OPTIONS, "--out", path)
    empty = read(path)
    good = fill_in(path, frame, "color")
    first, second = good.row.iloc[0], good.row.iloc[1]
    absent = min(set(range(120)) - set(good.row))
    twice = pd.concat([good, good.iloc[:1]])
    other = good.iloc[:1].assign(label="green")
    gaps = good.assign(label=good.label.where(good.row > second, None))
    cases = [
        (good.assign(row=good.row.where(good.row != first, absent)), f"but '{absent}' was not"),
        (good.assign(row=good.row + 1000), "ids of rows that were drawn"),
        (twice, f"'{first}' is in 2: keep one"),
        (pd.concat([good, other]), f"'{first}' is in 2, with contradicting labels"),
        (gaps, f"2 of {len(good)} have none, with the ids '{first}', '{second}': fill them in, or"),
        (good.iloc[2:], f"2 of {len(good)} have none, with the ids '{first}', '{second}'"),
        (empty, f"{len(good)} of {len(good)} have none"),
        (good.drop(columns="weight"), "has no column 'weight'"),
        (good.drop(columns="label"), "has no column 'label'"),
        (good.drop(columns="row"), "has no column 'row'"),
        (good.assign(weight=1.0), f"the one of id '{first}' is"),
    ]
    for table, message in cases:
        write(table, path)
        before = files()
        refused(run("fit", pool, "--labels", path, "--out", "model"), message, before)
        if "have none" not in message:
            more = ("--more", path, "--budget", 5, "--out", "more.csv")
            refused(run("label", pool, *more), message, before)

    write(gaps, path)
    result = run("fit", pool, "--labels", path, "--out", "model", "--skip-unlabelled")
    assert result.exit_code == 0, result.output
    assert load("model").fit_.n_rows == len(good) - 2
    write(empty, path)
    result = run("fit", pool, "--labels", path, "--out", "model", "--skip-unlabelled")
    assert result.exit_code == 2
    assert "have none" in result.stderr


def test_a_changed_pool(run, csv, frame):
    options = ("--columns", "width,height", "--id", "serial", "--budget", 40)
    run("label", csv, *options, "--out", "sheet.csv")
    fill_in("sheet.csv", frame, "price", by="serial")
    value = frame.copy()
    value.loc[77, "height"] += 1e-9
    swapped = frame.copy()
    swapped.loc[[3, 4], "serial"] = [4, 3]
    for other, message in (
        (value, "it has other values, or the same in another order"),
        (frame.drop(index=100), "it has 119 rows where there were 120"),
        (frame.iloc[::-1], "it has other values, or the same in another order"),
        (swapped, "it has other ids, or the same in another order"),
    ):
        other.to_csv(csv, index=False)
        before = files()
        result = run("fit", csv, "--labels", "sheet.csv", "--out", "model")
        refused(result, message, before)
        more = run("label", csv, "--more", "sheet.csv", "--budget", 5, "--out", "more.csv")
        refused(more, message, before)
    # Columns that are neither features nor ids may change.
    frame.assign(price=0.0).to_csv(csv, index=False)
    assert run("fit", csv, "--labels", "sheet.csv", "--out", "model").exit_code == 0


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "with its record sheet.json beside it"),
        ("{", "got no JSON"),
        ("[]", "got other JSON"),
        ('{"format": "mercer sheet", "version": 2}', "record of version 1, got 2"),
        ('{"format": "mercer sheet", "version": 1}', "is damaged"),
    ],
)
def test_not_a_sheet(record, message, run, csv, frame):
    frame.to_csv("sheet.csv", index=False)
    if record is not None:
        Path("sheet.json").write_text(record, encoding="utf-8")
    before = files()
    refused(run("fit", csv, "--labels", "sheet.csv", "--out", "model"), message, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "price"), "--target must be left out with --labels"),
        (("--weight", "weight"), "--weight must be left out with --labels"),
        (("--columns", "width"), "--columns must be left out with --labels"),
        (("--holdout", 0.2), "--holdout must be left out with --labels"),
        (("--labels", "missing.csv"), "no such file"),
    ],
)
def test_options_that_a_sheet_leaves_no_room_for(options, message, run, csv, frame):
    run("label", csv, *OPTIONS, "--out", "sheet.csv")
    fill_in("sheet.csv", frame, "price")
    before = files()
    refused(run("fit", csv, "--labels", "sheet.csv", "--out", "model", *options), message, before)


def test_skip_unlabelled_is_about_a_sheet(run, csv):
    before = files()
    options = ("--target", "price", "--columns", "width", "--skip-unlabelled", "--out", "model")
    refused(run("fit", csv, *options), "give both", before)
