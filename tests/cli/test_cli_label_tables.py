"""``mercer label`` on tables with text, dates and gaps, and labels from Label Studio."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.label_sheets import OPTIONS, files, read, write

from mercer import load

N = 150


@pytest.fixture
def houses():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.gamma(3.0, 40.0, N).round(1),
            "kind": rng.choice(["flat", "house"], N),
            "zip": rng.choice(["01234", "01235", "09999"], N),
            "sold": [f"2024-{m:02d}-03" for m in rng.integers(1, 13, N)],
            "agent": rng.choice(["Müller", "Œuvre"], N),
            "no": [f"h{i}" for i in range(N)],
        }
    )
    frame.loc[::8, "size"] = np.nan
    frame.to_csv("houses.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    return frame


def test_a_table_from_pool_to_model(run, houses):
    options = ("--id", "no", "--exclude", "agent", "--types", "zip=category", "--budget", 40)
    result = run("label", "houses.csv", *options, "--out", "sheet.csv")
    assert result.exit_code == 0, result.output
    for shown in ("150 rows, 4 features", "4 columns became", "zip", "columns"):
        assert shown in result.stdout
    record = json.loads(Path("sheet.json").read_text(encoding="utf-8"))
    assert record["columns"] == ["size", "kind", "zip", "sold"]
    assert record["settings"]["types"] == "zip=category"
    sheet = pd.read_csv("sheet.csv", dtype={"zip": str})
    assert set(sheet.zip) <= set(houses.zip)
    assert set(sheet.agent) <= set(houses.agent)
    sheet["label"] = [f"{w:.2f} €".replace(".", ",") for w in sheet["size"].fillna(100.0)]
    sheet["weight"] = sheet.weight.round(4)
    sheet.to_csv("sheet.csv", index=False, sep=";")
    result = run("fit", "houses.csv", "--labels", "sheet.csv", "--out", "model")
    assert result.exit_code == 0, result.output
    model = load("model")
    assert model.feature_names_in_.tolist() == ["size", "kind", "zip", "sold"]
    assert model.fit_.total_weight == pytest.approx(sum(record["weights"]))

    # A further round takes the types over, and refuses others.
    more = ("--more", "sheet.csv", "--budget", 10, "--out", "more.csv")
    before = files()
    result = run("label", "houses.csv", *more, "--types", "zip=number")
    assert result.exit_code == 2
    assert "--types must be that of sheet.csv, 'zip=category'" in result.stderr
    result = run("label", "houses.csv", *more, "--exclude", "zip")
    assert result.exit_code == 2
    assert "--exclude must not name features of sheet.csv, got 'zip'" in result.stderr
    assert files() == before
    result = run("label", "houses.csv", *more)
    assert result.exit_code == 0, result.output
    assert "50 in 2 rounds: 40, 10" in result.stdout


def test_a_given_delimiter_is_part_of_the_record(run, houses):
    houses[["size", "no"]].to_csv("odd.csv", index=False, sep="~")
    options = ("--id", "no", "--delimiter", "~", "--budget", 30, "--out", "sheet.csv")
    result = run("label", "odd.csv", *options)
    assert result.exit_code == 0, result.output
    sheet = read("sheet.csv")
    write(sheet.assign(label=sheet["size"].fillna(0.0)), "sheet.csv")
    result = run("fit", "odd.csv", "--labels", "sheet.csv", "--out", "model")
    assert result.exit_code == 0, result.output


def export(path, labels):
    tasks = json.loads(Path("tasks.json").read_text(encoding="utf-8"))
    for number, task in enumerate(tasks):
        value = {"choices": [labels(task["data"])]}
        answer = {"from_name": "answer", "type": "choices", "value": value}
        skipped = number == 0
        task["annotations"] = [{"was_cancelled": skipped, "result": [answer]}]
    Path(path).write_text(json.dumps(tasks), encoding="utf-8")
    return tasks


def test_labels_of_label_studio(run, csv, frame):
    run("label", csv, *OPTIONS, "--out", "sheet.csv", "--label-studio", "tasks.json")
    tasks = export("export.json", lambda data: data["color"])
    before = files()
    more = ("--more", "sheet.csv", "--import", "export.json")
    result = run("label", csv, *more, "--out", "done.csv")
    assert result.exit_code == 0, result.output
    assert before.items() <= files().items()
    assert f"of which {len(tasks) - 1} are labelled already" in result.stdout
    assert "tasks without a label" in result.stdout
    done = read("done.csv")
    assert done.label.isna().tolist() == [True] + [False] * (len(tasks) - 1)
    assert done.label[1:].tolist() == frame.color[done.row[1:]].tolist()
    result = run("fit", csv, "--labels", "done.csv", "--skip-unlabelled", "--out", "model")
    assert result.exit_code == 0, result.output
    assert load("model").fit_.n_rows == len(tasks) - 1

    # The same with a further round.
    result = run("label", csv, *more, "--budget", 20, "--out", "second.csv")
    assert result.exit_code == 0, result.output
    assert "60 in 2 rounds: 40, 20" in result.stdout
    assert read("second.csv").label.notna().sum() == len(tasks) - 1


def test_an_import_that_cannot_be(run, csv):
    run("label", csv, *OPTIONS, "--out", "sheet.csv", "--label-studio", "tasks.json")
    tasks = export("export.json", lambda data: data["color"])
    tasks[1]["data"]["mercer_id"] = "nobody"
    Path("other.json").write_text(json.dumps(tasks), encoding="utf-8")
    before = files()
    for options, message in (
        (("--more", "sheet.csv", "--import", "other.json"), "'nobody' was not"),
        (("--more", "sheet.csv", "--import", "sheet.json"), "got other JSON"),
        (("--more", "sheet.csv"), "--budget must say how many rows to draw"),
        (("--import", "export.json", "--budget", 5), "name it with --more"),
        (
            ("--more", "sheet.csv", "--import", "export.json", "--label-studio", "new.json"),
            "say how many with --budget",
        ),
    ):
        result = run("label", csv, *options, "--out", "done.csv")
        assert result.exit_code == 2, result.output
        assert message in result.stderr
        assert files() == before
