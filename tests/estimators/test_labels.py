"""Sheets of rows to label from Python: pools of every kind, spreadsheets of every habit."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mercer import ImportanceLabeller, KernelRegressor, write_svmlight
from mercer.labelling import (
    LabelPool,
    draw_again,
    join,
    label_studio_tasks,
    read_sheet,
    write_sheet,
)
from mercer.labelling.label_values import as_target
from mercer.storage import TABLE_WRITERS

N = 150
X = np.random.default_rng(0).random((N, 2))
Y = np.sin(4 * X[:, 0]) + X[:, 1]
NAMES = [f"house {i}" for i in np.random.default_rng(1).permutation(N)]


def labeller(rows=X, **params):
    return ImportanceLabeller(budget=25, random_state=0, **params).fit(rows)


def table():
    return {"name": NAMES, "width": X[:, 0], "height": X[:, 1], "note": ["a;b, c"] * N}


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "sheet.csv"
    found = write_sheet(labeller(), X, path)
    found.with_labels({row: Y[row] for row in found.drawn.rows}).save(path, overwrite=True)
    return path


def test_an_array(sheet):
    wanted = labeller()
    rows, y, weight = join(X, read_sheet(sheet))
    np.testing.assert_array_equal(rows, X[wanted.indices_])
    np.testing.assert_array_equal(y, Y[wanted.indices_])
    np.testing.assert_array_equal(weight, wanted.sample_weight_)
    KernelRegressor().fit(rows, y, weight)


@pytest.mark.parametrize("library", [pd, pl])
def test_a_data_frame(library, tmp_path):
    frame = library.DataFrame(table())
    pool = LabelPool(frame, ["width", "height"], "name")
    wanted = labeller(frame[["width", "height"]])
    for suffix in ("csv", "parquet"):
        path = tmp_path / f"{suffix}.{suffix}"
        written = write_sheet(wanted, pool, path)
        assert written.drawn.ids == [NAMES[row] for row in wanted.indices_]
        assert list(written.shown) == ["width", "height", "note"]
        back = read_sheet(path)
        assert back.drawn == written.drawn
        assert back.shown["note"] == ["a;b, c"] * len(written.labels)
        labels = {NAMES[row]: "red" if row % 2 else "blue" for row in back.drawn.rows}
        found = join(frame, back.with_labels(labels))
        np.testing.assert_array_equal(found.X, X[wanted.indices_])
        assert found.y.tolist() == list(labels.values())
    with pytest.raises(ValueError, match="other values, or the same in another order"):
        join(frame[::-1], back.with_labels(labels))


def test_ids_of_an_array(tmp_path):
    pool, path = LabelPool(X, ids=NAMES), tmp_path / "sheet.csv"
    rows = labeller().indices_
    found = write_sheet(labeller(), pool, path).with_labels({NAMES[row]: Y[row] for row in rows})
    assert path.read_text().startswith("id,draws,weight,label,x0,x1\n")
    np.testing.assert_array_equal(join(pool, found).y, Y[rows])
    with pytest.raises(ValueError, match="the pool must have the same ids: pass"):
        join(X, found)
    with pytest.raises(ValueError, match="other ids"):
        join(LabelPool(X, ids=NAMES[::-1]), found)


def test_sparse_rows(tmp_path):
    rows = sparse.random(N, 30, 0.2, "csr", random_state=0)
    wanted = labeller(rows, kernel="linear")
    found = write_sheet(wanted, rows, tmp_path / "sheet.csv")
    assert found.shown == {}
    labelled = found.with_labels(dict.fromkeys(found.drawn.ids, 1.5))
    assert abs(join(rows, labelled).X - rows[wanted.indices_]).max() == 0
    rows.data[7] += 1.0
    with pytest.raises(ValueError, match="it has changed: it has other values"):
        join(rows, labelled)


def test_an_svmlight_file(tmp_path):
    path = tmp_path / "pool.svm"
    write_svmlight(path, X, np.zeros(N))
    wanted = labeller(path)
    found = write_sheet(wanted, path, tmp_path / "sheet.csv")
    labelled = found.with_labels(dict.fromkeys(found.drawn.ids, "good"))
    np.testing.assert_array_equal(join(path, labelled).X, X[wanted.indices_])
    write_svmlight(path, X[::-1], np.zeros(N))
    with pytest.raises(ValueError, match="it has changed: it has other values"):
        join(path, labelled)


def test_a_folder_of_parquet_files(tmp_path):
    frame = pd.DataFrame(table()).assign(image=[b"\x00\x01"] * N, day=pd.Timestamp("2026-01-02"))
    (tmp_path / "pool").mkdir()
    frame[:60].to_parquet(tmp_path / "pool" / "a.parquet")
    frame[60:].to_parquet(tmp_path / "pool" / "b.parquet")
    pool = LabelPool(tmp_path / "pool", ["width", "height"], "name")
    wanted = labeller(pool.source)
    assert wanted.indices_.max() >= 60
    found = write_sheet(wanted, pool, tmp_path / "sheet.parquet")
    assert found.drawn.ids == [NAMES[row] for row in wanted.indices_]
    assert list(found.shown) == ["width", "height", "note", "day"]  # no one reads bytes
    assert label_studio_tasks(found)[0]["data"]["day"] == "2026-01-02 00:00:00"
    for column in ("note", "day"):
        assert len(read_sheet(tmp_path / "sheet.parquet").shown[column]) == len(found.labels)


def test_rounds(tmp_path):
    drawn = labeller()
    first = write_sheet(drawn, X, tmp_path / "first.csv")
    labelled = first.with_labels({row: Y[row] for row in first.drawn.rows})
    drawn.select(10)
    drawn.select(5)
    second = write_sheet(drawn, X, tmp_path / "second.csv", before=labelled)
    assert second.drawn.rounds == [25, 15]
    assert [float(y) for y in second.labels if y is not None] == list(Y[first.drawn.rows])
    again = draw_again(ImportanceLabeller(random_state=0), LabelPool(X), second)
    np.testing.assert_array_equal(again.indices_, drawn.indices_)
    np.testing.assert_array_equal(again.select(20), drawn.select(20))
    with pytest.raises(ValueError, match="must be reproduced"):
        draw_again(ImportanceLabeller(random_state=1), LabelPool(X), second)
    with pytest.raises(ValueError, match="it has not drawn the ids"):
        write_sheet(labeller(), X, tmp_path / "third.csv", before=second)
    with pytest.raises(ValueError, match="150 rows, got 149"):
        write_sheet(drawn, X[1:], tmp_path / "third.csv")


def spoil(path, change):
    lines = path.read_text().splitlines()
    path.write_text("\n".join(change(lines)) + "\n")


def test_a_spreadsheet_with_semicolons_and_decimal_commas(sheet):
    wanted = join(X, read_sheet(sheet))
    cells = [line.split(",") for line in sheet.read_text().splitlines()]
    rounded = [[f"{float(c):.6f}" if "." in c else c for c in line] for line in cells]
    text = "\r\n".join(";".join(line).replace(".", ",") for line in rounded)
    sheet.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n;;;;;\r\n")
    found = join(X, read_sheet(sheet))
    np.testing.assert_allclose(found.y, wanted.y, atol=1e-6)
    np.testing.assert_array_equal(found.sample_weight, wanted.sample_weight)


def test_text_that_is_not_utf_8(sheet):
    sheet.write_bytes(sheet.read_bytes().replace(b"x1", b"x1,note").replace(b"\n", b",\xe9\n", 2))
    with pytest.raises(ValueError, match="cannot be read as CSV"):
        read_sheet(sheet)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [*lines, ",1,1.0,2.0,0,0"], "every row of .* must have a value in 'row'"),
        (lambda lines: [lines[0].replace("x1", "x0"), *lines[1:]], "'x0' twice"),
        (lambda lines: [*lines[:3], lines[3] + ",1", *lines[4:]], "as many values as the first"),
    ],
)
def test_spoiled_sheets(change, message, sheet):
    spoil(sheet, change)
    with pytest.raises(ValueError, match=message):
        read_sheet(sheet)


def test_a_sheet_of_another_round(sheet, tmp_path):
    more = labeller()
    more.select(200)
    write_sheet(more, X, tmp_path / "more.csv", before=read_sheet(sheet))
    (tmp_path / "more.csv").write_text(sheet.read_text())
    with pytest.raises(ValueError, match=r"the weights of .* name the sheet that belongs to"):
        read_sheet(tmp_path / "more.csv")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "0", "12"], [1, 0, 12]),
        (["1", "0.5", "1e3"], [1.0, 0.5, 1000.0]),
        (["true", "FALSE", "True"], [True, False, True]),
        (["yes", "1", "7"], ["yes", "1", "7"]),
        ([1, 2, 3], [1, 2, 3]),
        ([True, False, True], [True, False, True]),
        (["a", 2, 3], ["a", "2", "3"]),
    ],
)
def test_what_labels_are(labels, expected):
    found = as_target(labels, ["i", "j", "k"], False)
    assert found.tolist() == expected
    assert type(found.tolist()[0]) is type(expected[0])


def test_whole_numbers_with_gaps_are_whole_numbers():
    assert as_target([1.0, 2.0], ["i", "j"], True).dtype.kind == "i"
    assert as_target(["1.0", "2.0"], ["i", "j"], True).dtype.kind == "i"
    assert as_target([1.0, 2.0], ["i", "j"], False).dtype.kind == "f"


def test_a_slip_among_numbers_is_no_class():
    with pytest.raises(ValueError, match="'1O' of id 'k' is not"):
        as_target(["0.5", "2", "1O"], ["i", "j", "k"], False)
    with pytest.raises(ValueError, match="'NA' of id 'k' is not"):
        as_target(["0.5", "2", "NA"], ["i", "j", "k"], False)


def test_numbers_in_parquet(tmp_path):
    path = tmp_path / "sheet.parquet"
    rows = write_sheet(labeller(), X, path).drawn.rows
    frame = pd.read_parquet(path)
    frame["label"] = [None, *(row % 3 for row in rows[1:])]
    frame.to_parquet(path)
    with pytest.raises(ValueError, match=f"1 of {len(rows)} have none, with the ids '{rows[0]}'"):
        join(X, read_sheet(path))
    found = join(X, read_sheet(path), skip_unlabelled=True)
    assert found.y.tolist() == [row % 3 for row in rows[1:]]
    assert found.y.dtype.kind == "i"
    assert len(found.X) == len(found.sample_weight) == len(rows) - 1


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"] * N, "rows 0 and 1 of the pool share 'a'"),
        ([" a", "a", *range(N - 2)], "share 'a'"),
        (["", *range(N - 1)], "row 0 of the pool has none"),
        (NAMES[1:], "has 150 rows, got 149 ids"),
        (X[:, 0], "ids must be integers or text, but row 0"),
        ("name", "need a file or a data frame, got ndarray"),
    ],
)
def test_ids_that_cannot_be(ids, message):
    with pytest.raises(ValueError, match=message):
        LabelPool(X, ids=ids)


def test_ids_that_are_missing_in_a_file(tmp_path):
    frame = pd.DataFrame(table())
    frame.loc[7, "name"] = None
    for name in ("pool.csv", "pool.parquet"):
        to = frame.to_csv if name.endswith("csv") else frame.to_parquet
        to(tmp_path / name, index=False)
        with pytest.raises(ValueError, match=r"row 7 of .* has none"):
            LabelPool(tmp_path / name, ["width"], "name")
    np.save(tmp_path / "pool.npy", X)
    with pytest.raises(ValueError, match="ids must not be a name"):
        LabelPool(tmp_path / "pool.npy", ids="name")


def test_unknown_labels_and_files_in_the_way(sheet, tmp_path):
    found = read_sheet(sheet)
    with pytest.raises(ValueError, match="'nobody' was not"):
        found.with_labels({"nobody": 1.0})
    with pytest.raises(FileExistsError, match="labels would be lost"):
        found.save(sheet)
    with pytest.raises(FileExistsError, match="labels would be lost"):
        write_sheet(labeller(), X, sheet)
    with pytest.raises(ValueError, match="a separate file"):
        write_sheet(labeller(), X, tmp_path / "new.csv", label_studio=tmp_path / "new.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sheet.csv", "sheet.json"]


def test_all_files_or_none(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setitem(TABLE_WRITERS, ".csv", fail)
    with pytest.raises(OSError, match="no space left"):
        write_sheet(labeller(), X, tmp_path / "s.csv", label_studio=tmp_path / "tasks.json")
    assert list(tmp_path.iterdir()) == []


def test_the_record_says_what_was_drawn(sheet):
    record = json.loads(sheet.with_suffix(".json").read_text())
    wanted = labeller()
    assert record["pool"]["rows"] == N
    assert record["seed"] == 0
    assert record["rounds"] == [25]
    assert record["rows"] == wanted.indices_.tolist()
    assert record["weights"] == wanted.sample_weight_.tolist()
    assert record["settings"]["kernel"] == "gaussian"
