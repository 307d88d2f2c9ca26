"""Damaged sparse matrices, memory maps of files that shrank, and masked arrays."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse
from source_files import refuses

from mercer import KernelClassifier, KernelRanker, KernelRegressor
from mercer.opening import weighing
from mercer.opening.weighing import identity_of
from mercer.rows import ArraySource
from mercer.rows.given_arrays import check_sparse, sound_rows, unmasked


def damaged(name, at, value, kind=sparse.csr_matrix, X=None):
    """Return sparse rows with one entry of an array of it changed."""
    found = kind(np.eye(6) if X is None else X)
    getattr(found, name)[at] = value
    return found


DAMAGED = {
    "beyond": (lambda: damaged("indices", 3, 10**8), "indices of X must be from 0 to 5, got 1000"),
    "negative": (lambda: damaged("indices", 3, -7), "from 0 to 5, got -7"),
    "array": (lambda: damaged("indices", 3, 6, sparse.csr_array), "from 0 to 5, got 6"),
    "columns": (lambda: damaged("indices", 3, 99, sparse.csc_matrix), "from 0 to 5, got 99"),
    "blocks": (
        lambda: damaged("indices", 1, 3, lambda X: sparse.bsr_matrix(X, blocksize=(2, 2))),
        "from 0 to 2, got 3",
    ),
    "triples": (lambda: damaged("row", 3, 99, sparse.coo_matrix), "row of X must be from 0 to 5"),
    "triples across": (lambda: damaged("col", 3, -1, sparse.coo_matrix), "col of X must be"),
    "decreasing": (lambda: damaged("indptr", 3, 1), "never decrease"),
    "start": (lambda: damaged("indptr", 0, -4), "must start at 0"),
    "end": (lambda: damaged("indptr", 6, 10**6), "end within its values, got 1000000"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_sparse_rows_are_refused(case):
    make, message = DAMAGED[case]
    refuses(lambda: ArraySource(make()), message, "build it again")
    y = np.arange(6.0)
    refuses(lambda: KernelRegressor().fit(make(), y), message)
    model = KernelRegressor(alpha=1.0).fit(sparse.csr_matrix(np.eye(6)), y)
    refuses(lambda: model.predict(make()), message)


def test_lists_of_rows_with_wrong_indices_are_refused():
    rows = sparse.lil_matrix(np.eye(6))
    rows.rows[2] = [77]
    refuses(lambda: ArraySource(rows), "from 0 to 5, got 77")


def test_too_few_values_are_refused():
    rows = sparse.csr_matrix(np.eye(6))
    rows.data = rows.data[:3]
    refuses(lambda: ArraySource(rows), "6 indices and 3 values")
    rows = sparse.coo_matrix(np.eye(6))
    rows.data = rows.data[:3]
    refuses(lambda: ArraySource(rows), "as many indices as values, got 6 and 3")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_sparse_rows_of_all_formats_are_accepted(kind):
    X = np.array([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    rows = sparse.csr_matrix(X).asformat(kind)
    check_sparse(rows)
    np.testing.assert_array_equal(next(ArraySource(rows).blocks(5)).X.toarray(), X)
    spare = sparse.csr_matrix(X)  # SciPy allows more room than is used
    spare.indices = np.append(spare.indices, np.int32(99))
    spare.data = np.append(spare.data, 0.0)
    check_sparse(spare)


@pytest.mark.parametrize("offset", [0, 3 * 2**16])
def test_a_memory_map_of_a_file_that_shrank(tmp_path, offset):
    path = tmp_path / "rows.bin"
    X = np.arange(60_000.0).reshape(-1, 3)
    path.write_bytes(b"\0" * offset + X.tobytes())
    size = path.stat().st_size
    mapped = np.memmap(path, dtype=float, mode="r", shape=X.shape, offset=offset)
    source = ArraySource(mapped, mapped[:, 0], query=mapped[:, 1])
    part = source.split(2)[1]
    for one in (source, part):
        one.take(np.array([0]))
    blocks = source.blocks(100)
    next(blocks)
    os.truncate(path, size - 8)
    for one in (source, part):
        for read in (one.blocks, one.targets, one.queries):
            refuses(lambda read=read: next(read(100)), str(path), f"{size - 8} bytes", "np.load")
        refuses(lambda one=one: one.take(np.array([0])), str(path))
    refuses(lambda: list(blocks), str(path))
    refuses(lambda: KernelRegressor().fit(mapped, X[:, 0]), str(path), "must not shrink")
    with path.open("ab") as stream:
        stream.write(b"\0" * 8)
    source.take(np.array([0]))


def masked(values, *rows):
    mask = np.zeros(np.shape(values), dtype=bool)
    for row in rows:
        mask[row] = True
    return np.ma.array(values, mask=mask)


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(40, 2))
    return X, X[:, 0] + 0.1


def test_masked_features_are_gaps(data):
    X, y = data
    wild, gaps = X.copy(), X.copy()
    wild[3, 1], gaps[3, 1] = 1e6, np.nan
    X = masked(wild, (3, 1))
    refuses(lambda: KernelRegressor(missing="error").fit(X, y), "NaN")
    refuses(lambda: KernelRegressor(columns=None).fit(X, y), "NaN")
    fill = KernelRegressor(missing="fill", random_state=0)
    expected = fill.fit(gaps, y).predict(gaps)
    np.testing.assert_array_equal(fill.fit(X, y).predict(X), expected)
    whole = KernelRegressor(missing="error", random_state=0).fit(gaps[4:], y[4:])
    np.testing.assert_array_equal(whole.predict(masked(wild[4:])), whole.predict(gaps[4:]))
    refuses(lambda: whole.predict(X), "NaN")


def test_masked_objects_are_gaps(data):
    _, y = data
    X = np.array([["a", 1], ["b", 2]] * 20, dtype=object)
    gaps = X.copy()
    gaps[5, 0] = None
    model = KernelRegressor(missing="fill", random_state=0)
    expected = model.fit(gaps, y).predict(gaps)
    np.testing.assert_array_equal(model.fit(masked(X, (5, 0)), y).predict(gaps), expected)
    assert identity_of(masked(X, (5, 0))) is None  # as after a labeller drew as many rows


def test_masked_targets_are_missing(data):
    X, y = data
    wild, gaps = y.copy(), y.copy()
    wild[5], gaps[5] = 1e6, np.nan
    model = KernelRegressor(unlabelled="use", random_state=0)
    expected = model.fit(X, gaps).predict(X)
    np.testing.assert_array_equal(model.fit(X, masked(wild, 5)).predict(X), expected)
    whole = (wild * 1000).astype(int)
    ranker = KernelRanker(unlabelled="use")
    refuses(lambda: ranker.fit(X, masked(whole, 5)), "relevance must be known", "row 5")
    gaps = whole.astype(float)
    gaps[5] = np.nan
    expected = model.fit(X, gaps).predict(X)
    np.testing.assert_allclose(model.fit(X, masked(whole, 5)).predict(X), expected)


@pytest.mark.parametrize("labels", [np.array([3, 5]), np.array(["a", "b"])], ids=str)
def test_masked_classes_are_missing(data, labels):
    X, y = data
    wild = labels[(y > 0).astype(int)]
    wild[7] = 9  # a class of its own
    model = KernelClassifier(unlabelled="use", random_state=0).fit(X, masked(wild, 7))
    assert model.classes_.tolist() == labels.tolist()
    model.fit(X[:30], masked(wild[:30], 7), X_unlabelled=X[30:])
    assert model.classes_.tolist() == labels.tolist()


def test_masked_weights_and_queries_are_refused(data):
    X, y = data
    w = masked(np.ones(40), 4)
    refuses(lambda: KernelRegressor().fit(X, y, sample_weight=w), "sample_weight", "row 4")
    refuses(
        lambda: KernelRegressor().fit(X, y, sample_weight=w, X_unlabelled=X), "sample_weight must"
    )
    refuses(lambda: ArraySource(X, y, w), "weight must", "masked one at row 4")
    q = masked(np.arange(40) // 4, 6)
    refuses(lambda: KernelRanker().fit(X, y, qid=q), "qid must", "row 6")
    refuses(lambda: ArraySource(X, y, query=q), "qid must")
    ranker = KernelRanker().fit(X, y)
    refuses(lambda: ranker.score(X, masked(y, 2)), "y must have a value", "row 2")


def test_nothing_masked_is_not_copied(data):
    X, _ = data
    assert np.shares_memory(sound_rows(np.ma.array(X)), X)
    assert unmasked(X) is X
    dates = masked(np.array(["2020-01-01", "2020-01-02"], dtype="M8[us]"), 1)
    assert np.isnat(unmasked(dates)).tolist() == [False, True]


def test_of_too_many_draws_the_first_are_forgotten(monkeypatch):
    monkeypatch.setattr(weighing, "_DRAWN", {})
    monkeypatch.setattr(weighing, "KEPT", 2)
    draws = [np.full((3, 1), float(number)) for number in range(3)]
    for rows in draws:
        weighing.remember(rows)
    assert list(weighing._DRAWN) == [identity_of(rows) for rows in draws[1:]]
