"""Text of a pool that a spreadsheet would run stays text in a sheet, and comes back exactly."""

import csv
import json
import random

import numpy as np
import pandas as pd
import pytest

from mercer import ImportanceLabeller
from mercer.labelling import LabelPool, join, read_sheet, write_sheet
from mercer.storage.tables import FORMULA, escaped, unescaped

NASTY = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1",
    "'=quoted",
    "''",
    "'tis",
    "-",
    "-3.5",
    "+1.5",
    "red",
    '=HYPERLINK("http://x","y")',
]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"a": rng.random(80) - 0.5, "b": rng.random(80)})
    found["name"] = [f"{NASTY[i % len(NASTY)]}{i}".strip() for i in range(80)]
    found["=text"] = [NASTY[(i + 3) % len(NASTY)] for i in range(80)]
    return found


def written(frame, path, labels=None):
    pool = LabelPool(frame, ["a", "b"], "name")
    labeller = ImportanceLabeller(budget=40, random_state=0).fit(frame[["a", "b"]])
    sheet = write_sheet(labeller, pool, path)
    if labels is not None:
        sheet = sheet.with_labels(labels(sheet.drawn.ids))
        sheet.save(path, overwrite=True)
    return sheet


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_text_comes_back_exactly(kind, frame, tmp_path):
    path = tmp_path / f"sheet.{kind}"
    classes = ["=a", "+b", "@c", "d"]
    sheet = written(frame, path, lambda ids: {id_: classes[i % 4] for i, id_ in enumerate(ids)})
    found = read_sheet(path)
    assert found.drawn == sheet.drawn
    assert found.labels == sheet.labels
    assert found.shown["=text"] == sheet.shown["=text"]
    assert set(join(frame, found).y) == set(classes)
    record = json.loads(path.with_suffix(".json").read_text())
    assert record["text_escape"] == ("apostrophe" if kind == "csv" else None)


def test_no_cell_of_a_sheet_is_a_formula(frame, tmp_path):
    path = tmp_path / "sheet.csv"
    sheet = written(frame, path, lambda ids: dict.fromkeys(ids, "=label"))
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    cells = [cell for row in rows for cell in row]
    begins = [cell for cell in cells if cell[:1] and cell[0] in FORMULA]
    assert begins  # numbers of the column a, such as -0.25
    assert all(np.isfinite(float(cell)) for cell in begins)
    column = rows[0].index("a")
    assert [float(row[column]) for row in rows[1:]] == sheet.shown["a"]
    assert "'=text" in rows[0]


def test_a_record_that_knows_another_escape_is_refused(frame, tmp_path):
    written(frame, tmp_path / "sheet.csv")
    record = tmp_path / "sheet.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "text_escape": "tab"}))
    with pytest.raises(ValueError, match=r"text_escape of .* must be 'apostrophe' or null"):
        read_sheet(tmp_path / "sheet.csv")


def test_any_text_is_restored_and_any_number_left_alone():
    generator = random.Random(0)
    letters = "'=+-@\t\r\n1.5, aé$%e"
    for _ in range(5000):
        text = "".join(generator.choices(letters, k=generator.randrange(7)))
        assert unescaped(escaped(text)) == text
        assert escaped(text) in (text, "'" + text)
    for number in (
        "-3.5",
        "+7",
        "-1e-05",
        "-1,234.50",
        "-0,5",
        "- 5 %",
        "-$3.20",
        "-.5",
        "+1.5E+3",
    ):
        assert escaped(number) == number
    for formula in ("-1+2", "+A1", "-a", "=1", "@x", "\t1", "\r=1", "-1-1", "+", "-1e5e5"):
        assert escaped(formula) == "'" + formula
