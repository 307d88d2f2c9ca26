"""How CSV files are written is sniffed, and their values are right."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow.parquet as pq
import pytest
from source_files import put, refuses, table, write

from mercer.rows import CsvSource, open_rows
from mercer.rows import csv as csv_module
from mercer.rows import dialect as dialect_module
from mercer.rows.dialect import Dialect, sniff

#: What most files below contain: two columns of numbers and one of towns.
NUMBERS = [[1, 0.5], [2, 3.14], [3, -2.25]]
TOWNS = ["Rome", "Köln", "São Paulo"]
NAMES = ["rooms", "area", "town"]


def lines_of(delimiter, decimal=".", towns=TOWNS, end="\n"):
    """Return the rows as text."""
    rows = [
        (str(rooms), str(area).replace(".", decimal), town)
        for (rooms, area), town in zip(NUMBERS, towns, strict=True)
    ]
    return end.join(delimiter.join(row) for row in (NAMES, *rows)) + end


def read(path, **options):
    """Return the features, the target and the source of a file with the columns above."""
    source = CsvSource(path, target="town", **options)
    block = next(source.blocks(100))
    return block.X, list(block.y), source


QUOTED = ['"Rome, Italy"', '"Köln; am\nRhein"', '"the ""big"" city|x"']
UNQUOTED = ["Rome, Italy", "Köln; am\nRhein", 'the "big" city|x']
UTF8 = Dialect(",")


@pytest.mark.parametrize(
    ("name", "text", "encoding", "dialect", "towns"),
    [
        ("a.csv", lines_of(","), "utf-8", UTF8, TOWNS),
        ("a.csv", lines_of(";"), "utf-8", Dialect(";"), TOWNS),
        ("a.csv", lines_of(";", ","), "utf-8", Dialect(";", ","), TOWNS),
        ("a.csv", lines_of("\t"), "utf-8", Dialect("\t"), TOWNS),
        ("a.tsv", lines_of("\t", ","), "utf-8", Dialect("\t", ","), TOWNS),
        ("a.tsv", lines_of(","), "utf-8", UTF8, TOWNS),
        ("a.csv", lines_of("|"), "utf-8", Dialect("|"), TOWNS),
        ("a.csv", lines_of(" ", towns=["Rome", "Oslo", "Bonn"]), "utf-8", Dialect(" "), None),
        ("a.csv", lines_of(",", towns=QUOTED), "utf-8", UTF8, UNQUOTED),
        ("a.csv", lines_of(";", ",", QUOTED), "utf-8", Dialect(";", ","), UNQUOTED),
        ("a.csv", lines_of("|", towns=QUOTED), "utf-8", Dialect("|"), UNQUOTED),
        ("a.csv", lines_of(",", towns=["'Rome, It'", "'a;\nb'", "'O''Hara'"]), "utf-8", None, None),
        ("a.csv", lines_of(","), "utf-8-sig", Dialect(",", ".", "utf-8-sig"), TOWNS),
        ("a.csv", lines_of(";", ","), "utf-16", Dialect(";", ",", "utf-16"), TOWNS),
        ("a.csv", "\ufeff" + lines_of("\t"), "utf-16-be", Dialect("\t", ".", "utf-16"), TOWNS),
        ("a.csv", lines_of(";", ","), "cp1252", Dialect(";", ",", "cp1252"), TOWNS),
        ("a.csv", lines_of(","), "latin-1", Dialect(",", ".", "cp1252"), TOWNS),
        ("a.csv", lines_of(";", ",", end="\r\n"), "utf-8", Dialect(";", ","), TOWNS),
        ("a.csv", lines_of(",", end="\r"), "utf-8", UTF8, TOWNS),
        ("a.csv", lines_of(",", end="\n\n"), "utf-8", UTF8, TOWNS),
        ("a.csv", "\r\n\r\n" + lines_of(",", end="\r\n"), "utf-8", UTF8, TOWNS),
        ("a.csv", lines_of(",").rstrip("\n"), "utf-8", UTF8, TOWNS),
        ("a.csv", "sep=;\r\n" + lines_of(";", ",", end="\r\n"), "utf-8", Dialect(";", ","), TOWNS),
        ("a.csv", "sep=\t\n" + lines_of("\t"), "utf-16", Dialect("\t", ".", "utf-16"), TOWNS),
        ("a.csv.gz", lines_of(";", ","), "utf-8", Dialect(";", ","), TOWNS),
        ("a.csv.gz", lines_of(","), "utf-16", Dialect(",", ".", "utf-16"), TOWNS),
        ("a.tsv.gz", lines_of("\t"), "cp1252", Dialect("\t", ".", "cp1252"), TOWNS),
    ],
)
def test_values_of_every_dialect(tmp_path, monkeypatch, name, text, encoding, dialect, towns):
    path = put(tmp_path / name, text, encoding)
    if dialect is None:
        dialect, towns = Dialect(",", quote="'"), ["Rome, It", "a;\nb", "O'Hara"]
    assert sniff(path) == dialect
    for small in (False, True):
        if small:  # the parser sees a few lines at a time, as of a large file
            monkeypatch.setattr(csv_module, "BLOCK_BYTES", 64)
            monkeypatch.setattr(csv_module, "VALUE_BYTES", 8)
        X, y, source = read(path)
        np.testing.assert_array_equal(X, NUMBERS)
        assert y == (towns or ["Rome", "Oslo", "Bonn"])
        assert source.feature_names == ["rooms", "area"]
        assert source.dialect == dialect
        assert pickle.loads(pickle.dumps(source)).dialect == dialect
        np.testing.assert_array_equal(source.take(np.array([2, 0])), [NUMBERS[2], NUMBERS[0]])


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a\n1\n2\n", {}, [[1], [2]]),
        ("a b\n1\n2\n", {}, [[1], [2]]),
        ("a\n0.5\n-2\n", {}, [[0.5], [-2]]),
        ("a\n0,5\n2\n", {"decimal": ","}, [[0.5], [2]]),
        ("a\n0,5\n2\n", {"delimiter": ";"}, [[0.5], [2]]),
        ("a|b\n1|0,5\n2|1\n", {"decimal": ","}, [[1, 0.5], [2, 1]]),
        ('a,b\n1,"0,5"\n2,1\n', {"decimal": ","}, [[1, 0.5], [2, 1]]),
        ("a;b\n1;0.5\n2;1\n", {"delimiter": ";", "decimal": "."}, [[1, 0.5], [2, 1]]),
        ("a:b\n1:0.5\n2:1\n", {"delimiter": ":"}, [[1, 0.5], [2, 1]]),
        ("a\tb\n1\t0.5\n", {"delimiter": "\\t"}, [[1, 0.5]]),
        ("sep=;\na|b\n1|0.5\n", {"delimiter": "|"}, [[1, 0.5]]),
        ("sep=;\na\n1,5\n", {}, [[1.5]]),
    ],
)
def test_one_column_and_what_is_given(tmp_path, text, options, expected):
    source = open_rows(put(tmp_path / "a.csv", text), **options)
    np.testing.assert_array_equal(next(source.blocks(9)).X, expected)


@pytest.mark.parametrize(
    ("values", "decimal"),
    [
        (["3,14", "2"], ","),
        (["1.234,5", "2,5", "1.000"], ","),
        (["0,480", "1,250"], ","),
        (["-,5", "+1,5e-3"], ","),
        (["NA", "", "3,1", "?"], ","),
        (["1,234", "12,500", "7"], "."),
        (["1,234.5", "12.25"], "."),
        (["3.14", "2"], "."),
        (["Rome, Italy", "3,14"], "."),
        (["1", "2"], "."),
    ],
)
def test_decimal_signs(tmp_path, values, decimal):
    path = write(tmp_path / "a.csv", "i;v", *[f"{i};{value}" for i, value in enumerate(values)])
    assert sniff(path) == Dialect(";", decimal)


def test_most_columns_determine_the_decimal_sign(tmp_path):
    path = write(tmp_path / "a.csv", "a;b;pair", "1.5;0.25;1,2", "2.5;0.5;3,4")
    X = next(CsvSource(path, columns=["a", "b"]).blocks(5)).X
    np.testing.assert_array_equal(X, [[1.5, 0.25], [2.5, 0.5]])


def test_delimiters_in_the_text_do_not_mislead(tmp_path):
    rows = [f"{i};a, b, c, d|e;{i},5" for i in range(20)]
    path = write(tmp_path / "a.csv", "price, in euros;text;value", *rows, "1;2")
    assert sniff(path) == Dialect(";", ",")
    path = write(tmp_path / "d.csv", "price, in euros;rooms", "3,5;2", "4,25;3")
    assert sniff(path) == Dialect(";", ",")
    path = write(tmp_path / "b.csv", "full name", "Ada Lovelace", "Alan Turing")
    assert sniff(path).delimiter == ","
    path = write(tmp_path / "c.csv", "note,x", "it's,1", "'tis,2")
    assert sniff(path).quote == '"'


def test_only_the_first_megabyte_is_sniffed(tmp_path, monkeypatch):
    header, rows = lines_of(";", ",").split("\n", 1)
    text = header + "\n" + rows * 3
    complete = text.encode()
    for size in range(50, len(complete)):  # cuts values and the characters of two bytes
        monkeypatch.setattr(dialect_module, "SAMPLE_BYTES", size)
        assert sniff(put(tmp_path / "a.csv", text)) == Dialect(";", ",")
    for size in range(110, 120):
        monkeypatch.setattr(dialect_module, "SAMPLE_BYTES", size)
        assert sniff(put(tmp_path / "b.csv", text, "utf-16")) == Dialect(";", ",", "utf-16")


def test_gaps_of_numbers(tmp_path):
    gaps = ["", "NA", "N/A", "n/a", "null", "NULL", "NaN", "nan", "None", "?", "-"]
    path = write(tmp_path / "a.csv", "a,town", *[f"{gap},{gap}x" for gap in gaps], "1.5,?")
    block = next(CsvSource(path, target="town").blocks(50))
    np.testing.assert_array_equal(block.X[:, 0], [np.nan] * len(gaps) + [1.5])
    assert block.y[-1] == "?"  # text may be the name of a class
    block = next(CsvSource(path, target="town").with_number_labels().blocks(50))
    assert block.y[-1] is None


def test_header_only_and_empty_files_are_sniffed(tmp_path):
    assert sniff(write(tmp_path / "a.csv", "a;b;c, d")) == Dialect(";")
    (tmp_path / "b.csv").touch()
    refuses(lambda: sniff(tmp_path / "b.csv"), "b.csv is empty", "write it again")
    refuses(lambda: CsvSource(put(tmp_path / "b.csv.gz", "")), "b.csv.gz must start with")


def test_binary_files(tmp_path):
    for data in ("a,b\n1,2\n".encode("utf-16-le"), b"\x89PNG\r\n\x1a\n\0\0\0", bytes(100)):
        (tmp_path / "a.csv").write_bytes(data)
        refuses(lambda: sniff(tmp_path / "a.csv"), "a.csv must be text", "NUL", "extension")
    (tmp_path / "a.csv").write_bytes("a,b\n".encode("utf-32"))
    refuses(lambda: sniff(tmp_path / "a.csv"), "a.csv must be text")
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfa,\xff\n")
    refuses(lambda: sniff(tmp_path / "a.csv"), "must be text in UTF-8", "save it as UTF-8")
    (tmp_path / "a.csv").write_bytes(b"a,t\n1,\x81\xe9\n")
    source = CsvSource(tmp_path / "a.csv", target="t")
    assert next(source.targets(5)).tolist() == ["\x81é"]
    assert source.dialect.describe().endswith("Latin-1")


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        (
            Dialect(";", ",", "utf-8-sig", '"'),
            "semicolons between values, decimal commas, UTF-8 with a byte order mark",
        ),
        (Dialect(",", ".", "utf-8", '"'), "commas between values, decimal points, UTF-8"),
        (
            Dialect("\t", ".", "cp1252", "'"),
            "tabs between values, decimal points, Windows-1252 (Latin), single quotes",
        ),
        (Dialect(":", ".", "utf-16", '"'), "':' between values, decimal points, UTF-16"),
    ],
)
def test_a_dialect_in_words(dialect, words):
    assert dialect.describe() == words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "::"}, ("one character", "'::'")),
        ({"delimiter": ""}, ("one character", "''")),
        ({"delimiter": "§"}, ("one character", "ASCII")),
        ({"delimiter": '"'}, ("delimiter must be", "quotes")),
        ({"delimiter": "5"}, ("delimiter must be", "part of values")),
        ({"decimal": "comma"}, ("unknown decimal 'comma'", "'.', ','")),
    ],
)
def test_options_that_cannot_be(tmp_path, options, words):
    path = write(tmp_path / "a.csv", "a,b", "1,2")
    refuses(lambda: open_rows(path, **options), *words)


def test_options_of_delimited_text_only(tmp_path, X):
    pq.write_table(table(X), tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", X=X)
    for name in ("a.parquet", "a.npz", ""):
        for options in ({"delimiter": ";"}, {"decimal": ","}):
            path = tmp_path / name
            words = (f"{next(iter(options))} must be None", str(path), ".csv", "omit it")
            refuses(lambda path=path, options=options: open_rows(path, **options), *words)
