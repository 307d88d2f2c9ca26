"""Column names of CSV files, and errors that give the line of the file."""

from __future__ import annotations

import numpy as np
import pytest
from source_files import put, refuses, write

from mercer.rows import CsvSource
from mercer.rows import csv as csv_module
from mercer.rows import dialect as dialect_module
from mercer.rows.csv_lines import read_header, records
from mercer.rows.dialect import Dialect

UTF8 = Dialect(",")


def test_names_without_spaces_and_marks(tmp_path):
    path = put(tmp_path / "a.csv", ' a ,"b b" , c\n1,2,3\n', "utf-8-sig")
    source = CsvSource(path, target="c")
    assert source.feature_names == ["a", "b b"]
    block = next(source.blocks(5))
    np.testing.assert_array_equal(block.X, [[1, 2]])
    assert block.y.tolist() == [3]
    path = put(tmp_path / "b.csv", '\n"two\nlines",x\n1,2\n')
    assert next(CsvSource(path, columns=["two\nlines"]).blocks(5)).X.tolist() == [[1]]
    assert read_header(path, UTF8).line == 2


@pytest.mark.parametrize(
    ("lines", "line", "expected", "got"),
    [
        (["a,b", "1,2", "1,2,3"], 3, 2, 3),
        (["a,b,c", "1,2,3", "", "", "1,2", "1,2,3"], 5, 3, 2),
        (["a,b,t", '1,2,"x\ny\nz"', "1,2,3", "1"], 6, 3, 1),
        (["a;b", "1,5;2", "1;2", "1;2;3"], 4, 2, 3),
        (["a,b", *["0.5,1.5,2.5"] * 4], 2, 2, 3),
        (["a", "0,5", "2"], 2, 1, 2),
        (["sep=;", "a;b;c", "1;2;3", "1;2"], 4, 3, 2),
    ],
)
def test_ragged_lines(tmp_path, monkeypatch, lines, line, expected, got):
    path = write(tmp_path / "houses.csv", *lines)
    for block in (2**20, 16):
        monkeypatch.setattr(csv_module, "BLOCK_BYTES", block)
        monkeypatch.setattr(csv_module, "VALUE_BYTES", 8)
        words = f"Expected {expected} columns, got {got} at line {line} of houses.csv"
        refuses(lambda: CsvSource(path, columns=["a"]), str(path), words, "as many values", "set")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_values_that_cannot_be_read(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_module, "VALUE_BYTES", 8)
    rows = ["1;0,5;Köln"] * 20 + ['1;0,5;"two\nlines"', "", "1; 0.5x ;Köln"]
    path = put(tmp_path / "houses.csv", "\n".join(["a;b;t", *rows]) + "\n", encoding)
    words = ("'0.5x'", "column 'b' at line 25 of houses.csv", "fix that value", "columns=")
    refuses(lambda: CsvSource(path, target="t"), str(path), *words)
    assert next(CsvSource(path, target="t", columns=["a"]).blocks(50)).X.tolist() == [[1]] * 22


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,a\n1,2,3\n", ("line 1 of", "a.csv", "'a' names more than one", "rename")),
        ("\n\na,b, a\n1,2,3\n", ("line 3 of", "'a' names more than one")),
        (",a\n0,1\n1,2\n", ("line 1 of", "column 1 of 2 has none", "index=False")),
        ("a, ,\n1,2,3\n", ("line 1 of", "column 2 of 3 has none", "name it")),
        ("1,5;2,5\n3,5;4,5\n", ("line of column names", "1,5, 2,5", "in line 1")),
        ("a,b\n", ("a.csv must contain at least one row", "line 1")),
        ("a,b", ("a.csv must contain at least one row", "line 1")),
        ("a\n\n\n", ("a.csv must contain at least one row",)),
        ("\n \n", ("a.csv must start with a line of column names", "empty")),
        ("sep=;", ("a.csv must start with a line of column names", "empty")),
        ("sep=;\n", ("a.csv must start with a line of column names", "empty")),
        ("\ufeff", ("a.csv must start with a line of column names", "empty")),
        ("a,b\n1,2\n\0,3\n", ("a.csv must be text", "NUL", "save it as UTF-8")),
        ('a,b\n1,x\n2,"y\n3,z\n', ("must be closed", "line 3 of a.csv", "double it")),
        ('a,b\n1,x\n2,"y\n' + "3,z\n" * 50_000, ("must be closed", "line 3 of a.csv")),
    ],
)
def test_files_that_cannot_be_read(tmp_path, text, words):
    path = put(tmp_path / "a.csv", text)
    refuses(lambda: CsvSource(path), *words)
    packed = put(tmp_path / "a.csv.gz", text)
    refuses(lambda: CsvSource(packed), *[word.replace("a.csv", "a.csv.gz") for word in words])


def test_unnamed_columns_that_are_not_read(tmp_path):
    path = write(tmp_path / "a.csv", ",a,t", "0,1,2", "1,3,4")
    block = next(CsvSource(path, target="t", columns=["a"]).blocks(5))
    assert block.X.tolist() == [[1], [3]]
    assert block.y.tolist() == [2, 4]


@pytest.mark.parametrize(("encoding", "wrong"), [("cp1252", b"\x81"), ("utf-16", b"\x00\xdc")])
def test_other_encodings_that_break_off_far_down(tmp_path, monkeypatch, encoding, wrong):
    monkeypatch.setattr(dialect_module, "SAMPLE_BYTES", 64)
    lines = "a,t\n" + "1,Köln\n" * 50 + "2,"
    (tmp_path / "a.csv").write_bytes(lines.encode(encoding) + wrong + b"\n" * 4)
    words = ("a.csv cannot be read", "as at the beginning", "at line 52 of a.csv", "save the file")
    refuses(lambda: CsvSource(tmp_path / "a.csv", target="t"), *words)


def test_a_quote_that_is_not_closed_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(dialect_module, "SAMPLE_BYTES", 64)
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
    path = write(tmp_path / "a.csv", "a,t", *["1,x"] * 30, '2,"y', *["1,x"] * 100)
    refuses(lambda: CsvSource(path, target="t"), "must be closed", "line 32 of a.csv")
    path = write(tmp_path / "b.csv", "a,t", '2,"y', *["1,x"] * 50_000)
    refuses(lambda: CsvSource(path, target="t"), "must be closed", "line 2 of b.csv")
    path = write(tmp_path / "c.csv", 'a,"t', *["1,x"] * 50_000)
    refuses(lambda: CsvSource(path, target="t"), "must be closed", "line 1 of c.csv")


def test_a_long_value(tmp_path):
    path = write(tmp_path / "a.csv", "a,t", f'1,"{"x, " * 50_000}"', "2,b")
    block = next(CsvSource(path, target="t").blocks(5))
    assert block.X.tolist() == [[1], [2]]
    assert [len(text) for text in block.y] == [150_000, 1]
    path = write(tmp_path / "b.csv", "a,t", f'1,"{"x, " * 50_000}"', "2,b,c")
    refuses(lambda: CsvSource(path, target="t"), "Expected 2 columns, got 3", "of b.csv")


def test_records_have_the_line_they_begin_in(tmp_path):
    path = put(tmp_path / "a.csv", 'a,b\r\n1,"x\r\ny"\r\n\r\n2,z\r\n')
    found = list(records(path, UTF8))
    assert found == [(1, ["a", "b"]), (2, ["1", "x\r\ny"]), (4, []), (5, ["2", "z"])]
