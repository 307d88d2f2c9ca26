"""What goes wrong with NumPy's files says which file, what must be, and what to try."""

from __future__ import annotations

import numpy as np
from source_files import refuses

from mercer.rows import NpySource, NpzSource, open_rows


def test_npz_keys(tmp_path, X, y):
    np.savez(tmp_path / "a.npz", Xtrain=X, label=y)
    path = tmp_path / "a.npz"
    refuses(lambda: NpzSource(path), "no array 'X'", "'Xtrain'")
    refuses(lambda: NpzSource(path, X="Xtrain", y="labels"), "did you mean 'label'?")
    assert not NpzSource(path, X="Xtrain").has_target
    np.savez(tmp_path / "b.npz", X=X)
    refuses(lambda: open_rows(tmp_path / "b.npz", target="y"), "no array 'y'")


def test_arrays_of_files_that_are_refused(tmp_path, X):
    objects = np.array([["a", 1]], dtype=object)
    np.savez(tmp_path / "a.npz", X=objects)
    refuses(lambda: NpzSource(tmp_path / "a.npz"), "'X' in", "Python objects", "astype")
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    refuses(lambda: NpySource(tmp_path / "a.npy"), "a.npy", "numbers or text")
    np.savez(tmp_path / "b.npz", X=X[:, 0], y=X[:5, 0])
    refuses(lambda: NpzSource(tmp_path / "b.npz"), "Reshape your data")
    np.savez(tmp_path / "c.npz", X=X, y=X[:5, 0])
    refuses(lambda: NpzSource(tmp_path / "c.npz"), "X has 53 rows", "has 5")
    refuses(lambda: NpzSource(tmp_path / "c.npz", y=None, weight="X"), "1-D")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:5])
    refuses(lambda: NpySource(tmp_path / "X.npy", tmp_path / "y.npy"), "y.npy has 5")


def test_damaged_numpy_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 4))
    np.save(tmp_path / "a.npy", X)
    data = (tmp_path / "a.npy").read_bytes()
    for damaged in (data[:500], b"nothing of the kind"):
        (tmp_path / "a.npy").write_bytes(damaged)
        refuses(lambda: NpySource(tmp_path / "a.npy"), "a.npy", "np.save")
    for save in (np.savez, np.savez_compressed):
        path = tmp_path / "a.npz"
        save(path, X=X)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        refuses(lambda path=path: NpzSource(path), "a.npz", "damaged")
        path.write_bytes(data[:20_000] + bytes(500) + data[20_500:])
        source = NpzSource(path)
        refuses(lambda source=source: list(source.blocks(100)), "a.npz", "damaged")


def test_options_that_numpy_files_do_not_have(tmp_path, X):
    np.savez(tmp_path / "a.npz", X=X)
    refuses(lambda: open_rows(tmp_path / "a.npz", columns=["a"]), "columns must be None")
    np.save(tmp_path / "a.npy", X)
    refuses(lambda: open_rows(tmp_path / "a.npy", weight="w"), "weight must be None")
    refuses(lambda: open_rows(tmp_path / "a.npy", query="q"), "query must be None", "query=query")


def test_queries_of_archives_that_are_refused(tmp_path, X, y):
    days = y.astype("datetime64[D]")
    path = tmp_path / "a.npz"
    np.savez(path, X=X, y=y, short=y[:5], days=days, qid=y, gap=np.where(y == 1, np.nan, y))
    assert not NpzSource(path).has_query
    assert not open_rows(path).has_query
    refuses(lambda: NpzSource(path, query="qids"), "no array 'qids'", "did you mean 'qid'")
    refuses(lambda: NpzSource(path, query="y"), "a separate array", "'y'")
    refuses(lambda: NpzSource(path, query="short"), "'short' in", "1-D", "53 rows")
    refuses(lambda: NpzSource(path, query="days"), "'days' in", "numbers or text", "datetime64")
    refuses(lambda: list(NpzSource(path, query="gap").blocks(9)), "a.npz", "nan at row 1")
