"""A file that changes between two passes, or during one, is an error that names it."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_files import refuses, table, write

from mercer import KernelRegressor
from mercer.rows import CsvSource, NpySource, NpzSource, ParquetSource, SvmlightSource, open_rows
from mercer.rows.file_identity import FileIdentity, FileSet


def csv(path: Path, names: str, X: np.ndarray) -> Path:
    return write(path, names, *(",".join(f"{v:.6f}" for v in row) for row in X))


def made(kind: str, folder: Path, X: np.ndarray) -> Path:
    """Write rows with columns a, b, c as a file of a kind."""
    path = folder / f"rows.{kind}"
    if kind == "csv":
        csv(path, "a,b,c", X)
    elif kind == "parquet":
        pq.write_table(table(X), path)
    elif kind == "npy":
        np.save(path, X)
    elif kind == "npz":
        np.savez(path, X=X, y=X[:, 0])
    else:
        write(path, *(f"1 qid:1 1:{a:.6f} 2:{b:.6f} 3:{c:.6f}" for a, b, c in X))
    return path


MAKERS = {
    "csv": lambda path: CsvSource(path, target="c"),
    "parquet": lambda path: ParquetSource(path, target="c"),
    "npy": lambda path: NpySource(path, path.with_name("y.npy")),
    "npz": NpzSource,
    "svm": SvmlightSource,
}


@pytest.fixture(params=sorted(MAKERS))
def opened(request, tmp_path, X):
    np.save(tmp_path / "y.npy", X[:, 0])
    path = made(request.param, tmp_path, X)
    return path, MAKERS[request.param](path)


def passes(source):
    yield lambda: list(source.blocks(2))
    yield lambda: list(source.targets(2))
    yield lambda: source.take(np.array([1, 0]))


def test_a_file_of_the_same_size_that_replaces_it(opened, X):
    path, source = opened
    made(path.suffix[1:], path.parent, X)  # opening and reading what was not changed works
    source = MAKERS[path.suffix[1:]](path)
    for read in passes(source):
        read()
    other = made(path.suffix[1:], path.parent / "..", X[:, ::-1])
    os.replace(other, path)
    parts = [pickle.loads(pickle.dumps(part)) for part in source.split(2)]
    for one in (source, *parts):
        for read in passes(one):
            refuses(read, str(path), "must not change", "open them again")


def test_a_file_that_is_touched_cut_or_removed(opened, X):
    path, source = opened
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 5 * 10**9))
    for read in passes(source):
        refuses(read, str(path), "modified again (+5 s)")
    os.truncate(path, stat.st_size // 2)
    for read in passes(source):
        refuses(read, str(path), f"was {stat.st_size} bytes and is {stat.st_size // 2}")
    path.unlink()
    for read in passes(source):
        refuses(read, str(path), "it was removed")


def test_a_change_during_a_pass(opened):
    path, source = opened
    pieces = source.blocks(2)
    next(pieces)
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))
    refuses(lambda: list(pieces), str(path), "modified again")


def test_a_pass_that_is_left_early_is_not_checked(opened):
    path, source = opened
    pieces = source.blocks(2)
    next(pieces)
    path.unlink()
    pieces.close()


def test_files_of_a_folder(tmp_path, X):
    for name in "ab":
        pq.write_table(table(X), tmp_path / f"{name}.parquet")
    source = ParquetSource(tmp_path)
    worker = pickle.loads(pickle.dumps(source.split(2)[0]))
    pq.write_table(table(X), tmp_path / "c.parquet")
    for one in (source, worker):
        refuses(lambda one=one: one.take(np.array([0])), str(tmp_path), "c.parquet was added")
    (tmp_path / "c.parquet").unlink()
    source.take(np.array([0]))
    (tmp_path / "a.parquet").unlink()
    refuses(lambda: list(source.blocks(2)), str(tmp_path), "a.parquet was removed")


def test_targets_in_a_file_of_their_own(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:, 0])
    source = NpySource(tmp_path / "X.npy", tmp_path / "y.npy")
    np.save(tmp_path / "y.npy", X[:-1, 0])
    refuses(lambda: list(source.blocks(2)), "y.npy", "size")


def test_content_is_compared_within_one_tick_and_on_other_machines(tmp_path):
    path = write(tmp_path / "a.csv", "a,b", "1,2")
    found = FileIdentity.of(path)
    assert found.recent
    assert not found.change()
    write(path, "b,a", "1,2")
    os.utime(path, ns=(found.modified, found.modified))
    assert found.change() == "its content is another, at the same size"
    elsewhere = replace(found, host="another", recent=False)
    assert "content" in elsewhere.change()
    copy = write(tmp_path / "copy.csv", "a,b", "1,2")  # a worker's own copy is the same file
    os.utime(copy, ns=(1, 1))
    assert not replace(elsewhere, path=copy).change()


def test_an_error_while_reading_is_explained_by_the_change(tmp_path):
    path = write(tmp_path / "a.csv", "a,b", "1,2")

    def read():
        with FileSet.of([path]).unchanged():
            path.unlink()
            path.read_text()

    found = refuses(read, "a.csv", "it was removed")
    assert isinstance(found.__cause__, FileNotFoundError)


def test_a_fit_is_not_made_of_two_files(tmp_path, X, monkeypatch):
    path, other = (csv(tmp_path / f"{name}.csv", "a,b,c", X) for name in ("one", "two"))
    csv(other, "b,a,c", X)
    source = open_rows(path, target="c")

    whole = CsvSource.take

    def take(self, indices):
        found = whole(self, indices)
        if other.exists():
            os.replace(other, path)
        return found

    monkeypatch.setattr(CsvSource, "take", take)
    model = KernelRegressor(basis="landmarks")
    refuses(lambda: model.fit(source), str(path), "must not change")
    assert not hasattr(model, "n_features_in_")


def test_a_folder_of_parquet_is_read_again_after_opening(tmp_path, X):
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "a.parquet")
    ParquetSource(tmp_path)
    pq.write_table(pa.table({"b": X[:, 0], "a": X[:, 1]}), tmp_path / "a.parquet")
    assert ParquetSource(tmp_path).feature_names == ["b", "a"]
