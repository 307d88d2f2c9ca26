"""svmlight and LETOR files: what is written is what is read, and broken lines are named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from source_files import refuses, write

from mercer.rows import SvmlightSource, open_rows, svmlight, write_svmlight
from real_data import real

LETOR = [
    "2 qid:10032 1:0.056537 2:0.000000 46:0.076923 #docid = GX029-35-5894638 "
    "inc = 0.0119881192468859 prob = 0.139842",
    "0 qid:10032 1:0.279152 2:1.000000 46:1.000000 #docid = GX030-77-6315042 "
    "inc = 1 prob = 0.341364",
    "1 qid:10035 3:-1.5e-3 #docid = GX140-98-13566007 inc = 1 prob = 0.0701303",
]


@pytest.fixture
def small_chunks(monkeypatch):
    """Make chunks of a few lines, as a large file has chunks of many."""
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", 200)
    monkeypatch.setattr(svmlight, "CHUNK_ROWS", 3)


def whole(source):
    """Return all rows of a source as one block."""
    return next(source.blocks(source.n_rows))


def assert_rows(source, X, y, query):
    block = whole(source)
    np.testing.assert_array_equal(block.X, X)
    np.testing.assert_array_equal(block.y, y)
    assert (block.query is None) == (query is None)
    if query is not None:
        np.testing.assert_array_equal(block.query, query)


def test_lines_of_letor(tmp_path):
    source = SvmlightSource(write(tmp_path / "train.txt", *LETOR))
    assert (source.n_rows, source.n_features) == (3, 46)
    X = np.zeros((3, 46))
    X[0, [0, 45]], X[1, [0, 1, 45]], X[2, 2] = (0.056537, 0.076923), (0.279152, 1, 1), -1.5e-3
    assert_rows(source, X, [2, 0, 1], [10032, 10032, 10035])
    assert source.has_target
    assert source.feature_names is None
    assert not source.zero_based


@pytest.mark.parametrize("name", ["a.svm", "a.SVM", "a.svmlight", "a.libsvm", "a.letor", "a.txt"])
def test_the_extension_decides(tmp_path, name):
    path = write(tmp_path / name, "# a comment first", "", *LETOR)
    for source in (open_rows(path), open_rows(path, query="qid")):
        assert isinstance(source, SvmlightSource)
        assert source.has_query
        assert source.n_rows == 3


@pytest.mark.parametrize(
    "lines", [["hello there"], ["1 2 3"], ["5"], ["# only words"], ["1:2 3:4"]]
)
def test_other_text_files_are_not_taken_for_svmlight(tmp_path, lines):
    path = write(tmp_path / "notes.txt", *lines)
    refuses(lambda: open_rows(path), "the extension of", "'.txt'")


def test_options_that_svmlight_files_do_not_have(tmp_path):
    path = write(tmp_path / "a.svm", *LETOR)
    refuses(lambda: open_rows(path, "y"), "target must be None", "first number of a line", "'y'")
    refuses(lambda: open_rows(path, weight="w"), "weight must be None", "no weights")
    refuses(lambda: open_rows(path, columns=["a"]), "columns must be None")
    refuses(lambda: open_rows(path, query="q"), "query must be None or 'qid'", "'q'")
    path = write(tmp_path / "b.svm", "1 1:2")
    refuses(lambda: open_rows(path, query="qid"), "b.svm", "without qid")


def test_one_and_zero_based(tmp_path):
    one = write(tmp_path / "one.svm", "1 1:5 2:6", "0 2:7")
    zero = write(tmp_path / "zero.svm", "1 1:5 2:6", "0 0:4 2:7")
    assert_rows(SvmlightSource(one), [[5, 6], [0, 7]], [1, 0], None)
    assert_rows(SvmlightSource(zero), [[0, 5, 6], [4, 0, 7]], [1, 0], None)
    assert_rows(SvmlightSource(one, zero_based=True), [[0, 5, 6], [0, 0, 7]], [1, 0], None)
    assert_rows(SvmlightSource(one, zero_based=False), [[5, 6], [0, 7]], [1, 0], None)
    refuses(lambda: SvmlightSource(zero, zero_based=False), "line 2 of", "from 1 to", "'0:4'")
    refuses(lambda: SvmlightSource(zero, zero_based="one"), "zero_based must be", "'one'")


def test_the_whole_file_decides_where_indices_begin(tmp_path, small_chunks):
    path = write(tmp_path / "a.svm", *["1 1:5 2:6"] * 20, "1 0:1")
    assert len(SvmlightSource(path)._bounds) > 5
    assert_rows(SvmlightSource(path), [[0, 5, 6]] * 20 + [[1, 0, 0]], [1] * 21, None)


def test_more_features_than_the_file_shows(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:5 2:6")
    assert_rows(SvmlightSource(path, n_features=4), [[5, 6, 0, 0]], [1], None)
    refuses(lambda: SvmlightSource(path, n_features=1), "at least the 2 features", "got 1")
    refuses(lambda: SvmlightSource(path, n_features=0), "n_features must be at least 1")
    path = write(tmp_path / "b.svm", "1", "2 qid:")
    refuses(lambda: SvmlightSource(path), "line 2 of", "'qid:'")
    path = write(tmp_path / "c.svm", "1", "2")
    refuses(lambda: SvmlightSource(path), "at least one feature", "n_features=")
    assert_rows(SvmlightSource(path, n_features=2), np.zeros((2, 2)), [1, 2], None)


def test_comments_and_blank_lines_anywhere(tmp_path, small_chunks):
    note = ["# qid:3 is no query", "", "   ", "#"]
    lines = [f"{row} qid:{row // 4} 1:{row} # 2:7" for row in range(20)]
    mixed = [line for row in range(20) for line in [*note * (row % 4), lines[row]]]
    source = SvmlightSource(write(tmp_path / "a.svm", *note * 5, *mixed, *note * 5))
    X = np.arange(20.0)[:, None]
    assert_rows(source, X, np.arange(20), np.arange(20) // 4)
    assert np.concatenate(list(source.targets(6))).tolist() == list(range(20))
    np.testing.assert_array_equal(source.take(np.array([19, 0, 7])), X[[19, 0, 7]])


def test_ends_of_lines(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 qid:2 1:3\r\n\r\n4 qid:5\t1:6")
    assert_rows(SvmlightSource(path), [[3], [6]], [1, 4], [2, 5])


def test_chunks_are_as_scikit_learn_reads_them(tmp_path, X, y, small_chunks):
    write_svmlight(tmp_path / "a.svm", X, y, np.arange(53) // 4)
    source = SvmlightSource(tmp_path / "a.svm")
    wanted = load_svmlight_file(str(tmp_path / "a.svm"), query_id=True)
    assert_rows(source, wanted[0].toarray(), wanted[1], wanted[2])
    assert [part.n_rows for part in source.split(3)] != []
    assert all(part._start in source._bounds for part in source.split(3))
    again = pickle.loads(pickle.dumps(source.split(3)[1]))
    np.testing.assert_array_equal(whole(again).X, X[again._start : again._start + again.n_rows])
    assert source.resident_bytes < 2**24


def test_only_the_needed_chunks_are_read(tmp_path, X, y, small_chunks, monkeypatch):
    write_svmlight(tmp_path / "a.svm", X, y)
    source = SvmlightSource(tmp_path / "a.svm")
    parsed = []
    real = svmlight._parsed
    monkeypatch.setattr(svmlight, "_parsed", lambda *args: (parsed.append(args[0]), real(*args))[1])
    source.take(np.array([40, 4]))
    assert len(parsed) == 2
    parsed.clear()
    assert len(np.concatenate(list(source.targets(10)))) == 53
    assert parsed == []


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("high qid:1 1:2", ["label", "'high'"]),
        ("1,2 qid:1 1:2", ["label", "'1,2'"]),
        ("1 qid:a 1:2", ["qid must be an integer", "'qid:a'"]),
        ("1 qid:1.5 1:2", ["qid must be an integer", "'qid:1.5'"]),
        (f"1 qid:{10**30} 1:2", ["qid must be an integer"]),
        ("1 1:2 qid:3", ["right after the label", "'qid:3'"]),
        ("1 qid:1 2", ["index:value", "'2'"]),
        ("1 qid:1 a:2", ["index:value", "'a:2'"]),
        ("1 qid:1 1:x", ["must be a number", "'1:x'"]),
        ("1 qid:1 1:", ["must be a number", "'1:'"]),
        ("1 qid:1 -1:2", ["indices must be from 0", "'-1:2'"]),
        ("1 qid:1 99999999999:2", ["indices must be from 0", "'99999999999:2'"]),
        ("1 qid:1 3:2 2:2", ["must increase", "'2:2'", "after 3"]),
        ("1 qid:1 3:2 3:2", ["must increase", "'3:2'", "after 3"]),
    ],
)
def test_broken_lines_are_named(tmp_path, small_chunks, line, parts):
    path = write(tmp_path / "a.svm", "# top", *LETOR * 4, line, *LETOR)
    refuses(lambda: SvmlightSource(path), "line 14 of", str(path), *parts, "fix that line")


def test_lines_that_are_broken_unlike_any_other(tmp_path, monkeypatch):
    path = write(tmp_path / "a.svm", "1 1:2", "x")
    monkeypatch.setattr(svmlight, "fault_of", lambda text, first: "")
    refuses(lambda: SvmlightSource(path), "lines 1 to 2 of", "could not convert")


def test_qid_on_some_lines(tmp_path, small_chunks):
    rest = "must have a qid on all lines or on none"
    path = write(tmp_path / "a.svm", *["1 qid:3 1:2"] * 7, "# no row", "1 1:2")
    refuses(lambda: SvmlightSource(path), str(path), rest, "line 9 has none")
    path = write(tmp_path / "b.svm", *["1 1:2"] * 7, "1 qid:3 1:2")
    refuses(lambda: SvmlightSource(path), str(path), rest, "line 8 has one")
    path = write(tmp_path / "c.svm", "1 qid:3 1:2", "1")
    refuses(lambda: SvmlightSource(path), "line 2 has none")


def test_missing_and_empty_files(tmp_path):
    write(tmp_path / "train.svm", *LETOR)
    for make in (SvmlightSource, open_rows):
        refuses(
            lambda make=make: make(tmp_path / "trian.svm"),
            "did you mean 'train.svm'?",
            error=FileNotFoundError,
        )
    (tmp_path / "a.svm").touch()
    refuses(lambda: open_rows(tmp_path / "a.svm"), "a.svm", "0 bytes")
    refuses(lambda: open_rows(write(tmp_path / "b.svm", "# nothing")), "at least one row")
    refuses(lambda: SvmlightSource(tmp_path), "got a folder", error=IsADirectoryError)


@pytest.mark.parametrize("lines", [LETOR[:1], ["x"] * 9, ["1 1:2"] * 9, ["1 qid:2 60:1"] * 9])
def test_a_file_that_changes_under_a_source(tmp_path, lines):
    path = write(tmp_path / "a.svm", *LETOR * 3)
    source = SvmlightSource(path)
    write(path, *lines)
    refuses(lambda: list(source.blocks(5)), str(path), "must not change")
    if "60" not in lines[0]:  # which only a look at the features would find
        refuses(lambda: list(source.queries(5)), str(path), "must not change")


def test_rows_of_a_query_are_written_together(tmp_path):
    X = np.array([[1.0, 0], [2, 0], [3, 0], [4, 0], [5, 0]])
    write_svmlight(tmp_path / "a.svm", X, [1, 2, 3, 4, 0.1], [9, 4, 9, 2, 4], comment="two\nlines")
    assert (tmp_path / "a.svm").read_text().splitlines() == [
        "# two",
        "# lines",
        "1 qid:9 1:1 2:0",
        "3 qid:9 1:3",
        "2 qid:4 1:2",
        "0.1 qid:4 1:5",
        "4 qid:2 1:4",
    ]
    order = [0, 2, 1, 4, 3]
    assert_rows(SvmlightSource(tmp_path / "a.svm"), X[order], [1, 3, 2, 0.1, 4], [9, 9, 4, 4, 2])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.coo_array, np.asarray])
def test_rows_without_queries_stay_in_order(tmp_path, X, y, make, monkeypatch):
    monkeypatch.setattr("mercer.rows.svmlight_lines.WRITE_ROWS", 10)
    X = np.where(X > 0.5, X, 0.0)
    X[:, -1] = 0  # the number of columns is found all the same
    write_svmlight(tmp_path / "a.svm", make(X), y)
    assert_rows(SvmlightSource(tmp_path / "a.svm"), X, y, None)


def test_values_of_other_types(tmp_path):
    X = np.array([[np.nan, np.inf], [-np.inf, 5e-324]])
    write_svmlight(tmp_path / "a.svm", X, np.array([True, False]), np.array([3, 3], np.uint8))
    assert_rows(SvmlightSource(tmp_path / "a.svm"), X, [1, 0], [3, 3])
    X = np.array([[0.1, 1 / 3], [1e10, 0]], np.float32)
    write_svmlight(tmp_path / "a.svm", X, [0, 1])
    assert_rows(SvmlightSource(tmp_path / "a.svm"), X, [0, 1], None)
    write_svmlight(tmp_path / "a.svm", X.astype(int), [0, 1])
    assert_rows(SvmlightSource(tmp_path / "a.svm"), X.astype(int), [0, 1], None)


def test_what_cannot_be_written(tmp_path, X, y, labels):
    path = tmp_path / "a.svm"
    refuses(
        lambda: write_svmlight(path, X, y, labels),
        "qid must be integers",
        "np.unique(qid, return_inverse=True)[1]",
    )
    refuses(lambda: write_svmlight(path, X, y, y + 0.5), "qid must be integers", "float64")
    refuses(lambda: write_svmlight(path, X, y, y[:4]), "X has 53 rows, qid has the shape (4,)")
    refuses(lambda: write_svmlight(path, X, y[:4]), "X has 53 rows, y has 4")
    refuses(lambda: write_svmlight(path, X, labels), "y must be 1-D with a number", "encode")
    refuses(lambda: write_svmlight(path, X, X), "y must be 1-D", "(53, 3)")
    refuses(lambda: write_svmlight(path, labels, y), "2D")
    assert not path.exists()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read(tmp_path_factory, data):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=12))
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.just(0.0)
    X = data.draw(hnp.arrays(np.float64, shape, elements=numbers))
    y = data.draw(hnp.arrays(np.float64, shape[0], elements=numbers))
    few = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
    query = data.draw(st.none() | hnp.arrays(np.int64, shape[0], elements=few))
    path = tmp_path_factory.mktemp("svm") / "a.svm"
    write_svmlight(path, X, y, query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight, "CHUNK_BYTES", data.draw(st.sampled_from([1, 60, 10**6])))
        source = SvmlightSource(path)
    order = np.arange(len(X))
    if query is not None:
        seen = list(dict.fromkeys(query.tolist()))
        order = np.array(sorted(order, key=lambda row: seen.index(query[row])))
    assert_rows(source, X[order], y[order], None if query is None else query[order])
    np.testing.assert_array_equal(np.concatenate(list(source.targets(5))), y[order])


@pytest.mark.real
def test_mq2008(tmp_path):
    data = real("letor_mq2008")
    X, y, qid = data.X, data.y, data.qid
    write_svmlight(tmp_path / "mq2008.txt", X, y, qid, comment="MQ2008")
    source = open_rows(tmp_path / "mq2008.txt")
    seen, first = np.unique(qid, return_index=True)
    order = np.argsort(first[np.searchsorted(seen, qid)], kind="stable")
    assert_rows(source, X[order], y[order], qid[order])
    assert source.split(2)[0].n_rows in source._bounds
