"""What ``mercer label`` and ``mercer fit --labels`` refuse, and in which words."""

from pathlib import Path

import pandas as pd
import pytest
from tests.cli.label_sheets import OPTIONS, files, fill_in, read, write

from mercer import load


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
        (("--id", "stars"), "ids must be unique"),
        (("--id", "width"), "columns must not include the ids"),
        (("--id", "weight"), "must not be named 'weight'"),
        (("--types", "width=colour"), "kind of 'width'"),
        (("--exclude", "wdth"), "to exclude; did you mean 'width'"),
        (("--exclude", "width"), "columns must not be excluded too, got 'width'"),
        (("--delimiter", "ab"), "delimiter must be one character"),
        (("--import", "export.json"), "name it with --more"),
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
    refused(again, "already exists, and labels would be lost", before)
    other = run("label", csv, *OPTIONS, "--out", "sheet.parquet")  # it would share the record
    refused(other, "sheet.json already exists", before)
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
        (good.assign(row=good.row + 1000), "ids of drawn rows"),
        (twice, f"'{first}' is in 2: keep one"),
        (pd.concat([good, other]), f"'{first}' is in 2, with contradicting labels"),
        (gaps, f"2 of {len(good)} have none, with the ids '{first}', '{second}': fill them in, or"),
        (good.iloc[2:], f"2 of {len(good)} have none, with the ids '{first}', '{second}'"),
        (empty, f"{len(good)} of {len(good)} have none"),
        (good.drop(columns="label"), "has no column 'label'"),
        (good.drop(columns="row"), "has no column 'row'"),
        (good.assign(weight=1.0), f"the weight of id '{first}' is"),
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
        (frame.drop(index=100), "it has 119 rows instead of 120"),
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
        (None, "with its record sheet.json next to it"),
        ("{", "got bad JSON"),
        ("[]", "got other JSON"),
        ('{"format": "mercer sheet", "version": 2}', "record of version 1, got 2"),
        ('{"format": "mercer sheet", "version": 1}', "is damaged"),
    ],
)
def test_not_a_sheet(record, message, run, csv, frame):
    frame.to_csv("sheet.csv", index=False)
    if record is not None:
        Path("sheet.json").write_text(record)
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
