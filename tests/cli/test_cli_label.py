"""``mercer label`` and ``mercer fit --labels``: a pool, a sheet, a person's work, a model."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.label_sheets import FEATURES, OPTIONS, files, fill_in, labeller_of, read

from mercer import KernelClassifier, KernelRegressor, load


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
    assert json.loads(Path("sheet.json").read_text(encoding="utf-8"))["columns"] == [
        "width",
        "height",
        "price",
    ]
    sheet["label"] = frame.set_index("name").stars.loc[sheet.name].to_numpy()
    sheet.iloc[::-1].to_csv("sheet.csv", index=False)
    task = ("--task", "classification")
    result = run("fit", "pool.csv", "--labels", "sheet.csv", "--out", "model", *task)
    assert result.exit_code == 0, result.output
    assert "classification (requested)" in result.stdout
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
