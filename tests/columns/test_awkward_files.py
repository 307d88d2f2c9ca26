"""Awkward files: each is read as the right table, or is a clear error."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer import Gaussian, KernelRegressor, open_rows

NAN = np.nan
CHEAP = {"kernel": Gaussian(2.0), "alpha": 1e-3, "metric": None, "scale": None}


def read(path, **settings):
    """The columns of a file as lists, read as a table."""
    table = next(iter(open_rows(path, raw=True, **settings).blocks(10**6))).X
    return {
        name: (column.values() if hasattr(column, "values") else column).tolist()
        for name, column in table.columns.items()
    }


FILES = {
    "a byte order mark": ("a,b\n1,x\n2,y\n".encode("utf-8-sig"), {"a": [1, 2], "b": ["x", "y"]}),
    "UTF-16": ("a,b\n1,x\n2,y\n".encode("utf-16"), {"a": [1, 2], "b": ["x", "y"]}),
    "Latin-1": ("a,b\n1,é\n2,ü\n".encode("latin-1"), {"a": [1, 2], "b": ["é", "ü"]}),
    "semicolons": (b"a;b\n1,5;x\n2,5;y\n", {"a": [1.5, 2.5], "b": ["x", "y"]}),
    "tabs": (b"a\tb\n1\tx\n2\ty\n", {"a": [1, 2], "b": ["x", "y"]}),
    "quoted commas": (b'a,b\n1,"x, y"\n2,"""z"""\n', {"a": [1, 2], "b": ["x, y", '"z"']}),
    "quoted line breaks": (b'a,b\n1,"x\ny"\n2,z\n', {"a": [1, 2], "b": ["x\ny", "z"]}),
    "line ends of Windows": (b"a,b\r\n1,x\r\n2,y\r\n", {"a": [1, 2], "b": ["x", "y"]}),
    "leading zeros": (b"a,b\n02139,1\n94103,2\n", {"a": ["02139", "94103"], "b": [1, 2]}),
    "plain zeros": (b"a,b\n0,0.5\n10,-0.5\n", {"a": [0, 10], "b": [0.5, -0.5]}),
    "booleans": (b"a,b\ntrue,1\nfalse,2\n", {"a": [1, 0], "b": [1, 2]}),
    "mixed types": (b"a,b\n1,x\nq,y\n", {"a": ["1", "q"], "b": ["x", "y"]}),
    "gaps": (b"a,b\n1,x\n,\nNA,NA\n", {"a": [1, NAN, NAN], "b": ["x", None, None]}),
    "only gaps": (b"a,b\n,1\n,2\n", {"a": [None, None], "b": [1, 2]}),
    "an unnamed index": (b",b\n5,1\n9,2\n", {"unnamed": [5, 9], "b": [1, 2]}),
    "gaps in the first block": (
        b"a,b\n" + b",1\n" * 3000 + b"1.5,2\n", {"a": [None] * 3000 + ["1.5"]}
    ),
    "text after the first block": (
        b"a,b\n" + b"1,1\n" * 3000 + b"q,2\n", {"a": ["1"] * 3000 + ["q"]}
    ),
    "fractions after the first block": (
        b"a,b\n" + b"1,1\n" * 3000 + b"1.5,2\n", {"a": [1.0] * 3000 + [1.5]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_read(case, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.rows.csv.BLOCK_BYTES", 2**11)
    content, expected = FILES[case]
    (tmp_path / "a.csv").write_bytes(content)
    found = read(tmp_path / "a.csv")
    for name, values in expected.items():
        assert [None if v != v else v for v in found[name]] == [
            None if v != v else v for v in values
        ]


BROKEN = {
    "too many values": (b"a,b\n1,x\n2,y,z\n", "Expected 2 columns, got 3 at line 3"),
    "too few values": (b"a,b\n1,x\n2\n", "Expected 2 columns, got 1 at line 3"),
    "duplicated names": (b"a,a\n1,x\n", "'a' names more than one"),
    "no rows": (b"a,b\n", "at least one row"),
    "nothing": (b"", "empty"),
    "a NUL": (b"a,b\n1,x\0\n", "NUL byte"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_an_error(case, tmp_path):
    content, words = BROKEN[case]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        KernelRegressor(**CHEAP).fit(tmp_path / "a.csv", "b")


def test_infinity_in_a_file_names_the_column(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,x,1\n-inf,y,2\n3,x,3\n")
    with pytest.raises(ValueError, match=r"infinity at row 1, column 0 \('a'\)"):
        KernelRegressor(**CHEAP).fit(tmp_path / "a.csv", "y")


PARQUET = {
    "dictionary": (pa.array(["u", None, "v"]).dictionary_encode(), ["u", None, "v"]),
    "decimals": (pa.array([Decimal("1.50"), None, Decimal("2.25")]), [1.5, NAN, 2.25]),
    "nullable integers": (pa.array([1, None, 3]), [1, NAN, 3]),
    "unsigned integers": (pa.array([1, None, 2**63], pa.uint64()), [1, NAN, 2.0**63]),
    "booleans": (pa.array([True, None, False]), [1, NAN, 0]),
    "nothing": (pa.nulls(3), [NAN, NAN, NAN]),
    "dates": (pa.array([0, None, 1], pa.date32()), ["1970-01-01", None, "1970-01-02"]),
    "timestamps": (
        pa.array([0, None, 86_400 * 10**9], pa.timestamp("ns", "Europe/Berlin")),
        ["1970-01-01", None, "1970-01-02"],
    ),
    "durations": (pa.array([1500, None, 0], pa.duration("ms")), [1.5, NAN, 0]),
}


@pytest.mark.parametrize("case", PARQUET)
def test_a_column_of_parquet_is_read(case, tmp_path):
    column, expected = PARQUET[case]
    pq.write_table(pa.table({"x": column, "z": [1, 2, 3]}), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet")["x"]
    days = [str(v.date()) if hasattr(v, "date") else v for v in found]
    assert [None if v != v else v for v in days] == [None if v != v else v for v in expected]


def test_lists_in_parquet_are_an_error(tmp_path):
    pq.write_table(pa.table({"x": [[1], [2]], "y": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="'x' contains list"):
        KernelRegressor(**CHEAP).fit(tmp_path / "a.parquet", "y")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.nulls(2), pa.array(["a", "b"]), [None, None, "a", "b"]),
        (pa.array([1, 2]), pa.array(["a", "b"]), ["1", "2", "a", "b"]),
        (pa.array([1.5, 2]), pa.nulls(2), [1.5, 2.0, None, None]),
        (pa.nulls(2), pa.array([0, 1], pa.date32()), [None, None, "1970-01-01", "1970-01-02"]),
        (
            pa.array([0], pa.timestamp("s")),
            pa.array([1], pa.date32()),
            ["1970-01-01", "1970-01-02"],
        ),
        (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), ["a", "b"]),
    ],
)
def test_files_of_a_folder_may_differ_in_kind(first, second, expected, tmp_path):
    for number, column in enumerate((first, second)):
        pq.write_table(pa.table({"x": column}), tmp_path / f"{number}.parquet")
    found = [str(v.date()) if hasattr(v, "date") else v for v in read(tmp_path)["x"]]
    assert [None if v != v else v for v in found] == expected
    parts = open_rows(tmp_path, raw=True).split(len(expected))
    kinds = {next(iter(part.blocks(9))).X.kinds["x"] for part in parts}
    assert len(kinds) == 1
