"""Files without line ends, with NUL bytes and with very many columns are read in bounded time."""

from __future__ import annotations

import gzip
import time
import tracemalloc

import numpy as np
import pytest
from source_files import put, refuses, write

from mercer.rows import CsvSource, SvmlightSource, open_rows, svmlight
from mercer.rows.column_selection import select_columns
from mercer.rows.text_lines import FIRST_LINE

MEGABYTE = 10**6
LENGTH = 60  # megabytes


def long_file(path, *before, fill):
    with path.open("wb") as stream:
        stream.writelines(before)
        for _ in range(LENGTH):
            stream.write(fill * (MEGABYTE // len(fill)))
    return path


def refused_quickly(make, *parts):
    """Assert an error after reading far less than the whole file."""
    tracemalloc.start()
    started = time.process_time()
    try:
        refuses(make, *parts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * LENGTH * MEGABYTE
    assert time.process_time() - started < 5  # a second without tracing and other processes


@pytest.mark.parametrize("fill", [b"x", b"1.5,"], ids=["text", "numbers"])
def test_a_file_without_line_ends(tmp_path, fill):
    path = long_file(tmp_path / "a.csv", fill=fill)
    refused_quickly(lambda: CsvSource(path), f"line 1 of {path}", f"{FIRST_LINE:,}", "line ends")
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    refused_quickly(lambda: open_rows(packed), f"line 1 of {packed}")


@pytest.mark.parametrize("fill", [b"9", b"9,"], ids=["digits", "values"])
def test_a_line_that_does_not_end(tmp_path, fill):
    path = long_file(tmp_path / "a.csv", b"a,b\n1,2\n", fill=fill)
    for raw in (False, True):
        refused_quickly(
            lambda raw=raw: CsvSource(path, raw=raw), f"line 3 of {path}", "for 2 columns"
        )


@pytest.mark.parametrize("fill", [b"9", b"1 1:1 "], ids=["digits", "values"])
def test_an_svmlight_line_that_does_not_end(tmp_path, fill):
    path = long_file(tmp_path / "a.svm", b"1 1:2\n", fill=fill)
    refused_quickly(lambda: SvmlightSource(path), f"line 2 of {path}", "16,777,216")


def test_svmlight_lines_across_chunks(tmp_path, monkeypatch):
    lines = [f"{row} 1:{row} 2:0.5 # \r in a comment" for row in range(50)]
    path = write(tmp_path / "a.svm", *lines)
    expected = next(SvmlightSource(path).blocks(100))
    for size in (64, 7, 1):
        monkeypatch.setattr(svmlight, "CHUNK_BYTES", size)
        found = next(SvmlightSource(path).blocks(100))
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.y, np.arange(50.0))
    monkeypatch.setattr(svmlight, "LONGEST_LINE", 20)
    refuses(lambda: SvmlightSource(path), f"line 1 of {path}")


def test_nul_bytes_are_found_in_text_after_the_first_megabyte(tmp_path):
    rows = f"1,{'x' * 100}\n" * 11_000
    path = put(tmp_path / "a.csv", f"a,t\n{rows}1,x\0y\n{rows}")
    words = ("a NUL byte in line 11002 of a.csv", "binary")
    refuses(lambda: CsvSource(path, target="t"), str(path), *words)
    refuses(lambda: CsvSource(path, raw=True), str(path), *words)
    assert CsvSource(path, columns=["a"]).n_rows == 22_001  # not read
    wide = put(tmp_path / "b.csv", "a,t\n1,x\n2,y\n", "utf-16")  # NUL bytes are half of it
    assert CsvSource(wide, target="t").n_rows == 2
    refuses(lambda: CsvSource(put(tmp_path / "c.csv", "a\n1\n\0\n")), "line 3 of c.csv")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8", "utf-16"])
def test_names_in_other_encodings(tmp_path, encoding):
    path = put(tmp_path / "a.csv", "größe,é\n1,2\n", encoding)
    assert CsvSource(path).feature_names == ["größe", "é"]


def test_the_time_to_select_columns_is_linear():
    """Twice the columns take twice the time, not four times; the best of a few runs."""

    def seconds(count):
        names = [f"column {number}" for number in range(count)]
        found = []
        for _ in range(3):
            started = time.process_time()
            select_columns(names, "a.csv", names[0], None, None)
            select_columns(names, "a.csv", names[0], None, names[1:])
            found.append(time.process_time() - started)
        return min(found)

    assert seconds(40_000) < 10 * seconds(10_000)  # 16 times if it were quadratic, 4 if linear


def test_a_wide_file(tmp_path):
    count = 3000
    values = np.arange(2 * count).reshape(2, count)
    names = [f"c{number}" for number in range(count)]
    path = write(tmp_path / "a.csv", ",".join(names), *(",".join(map(str, row)) for row in values))
    for raw in (False, True):
        source = CsvSource(path, target="c7", raw=raw)
        assert source.feature_names == names[:7] + names[8:]
        block = next(source.blocks(5))
        X = block.X.numbers() if raw else block.X
        np.testing.assert_array_equal(X, np.delete(values, 7, axis=1))
