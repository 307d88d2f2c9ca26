"""remember_rows=True: no row can be forgotten that was not fitted."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from mercer import KernelClassifier, KernelRegressor, Landmarks, load, save
from mercer.kernels import Gaussian
from mercer.storage.fingerprints import RowMultiset, row_fingerprints
from pairs import over_each

GIVEN = np.random.default_rng(5).uniform(-2, 2, (4, 2))


def data(seed=0, rows=60):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 2))
    return X, X[:, 0] + rng.standard_normal(rows)


def model(**params):
    """Few functions and much noise: sums alone do not show which rows there are."""
    return KernelRegressor(
        Gaussian(1.0), Landmarks(sampling=GIVEN), alpha=1e-3, remember_rows=True, **params
    )


@st.composite
def multisets(draw):
    found = draw(st.lists(st.integers(0, 5), max_size=12))
    return found, RowMultiset.of(np.array(found, dtype=np.uint64))


@given(multisets(), multisets())
def test_a_multiset_counts(first, second):
    (a, A), (b, B) = first, second
    assert (A + B).total == len(a) + len(b)
    assert A.missing(B) == sum(max(b.count(v) - a.count(v), 0) for v in set(b))
    rest = (A + B) - B
    np.testing.assert_array_equal(rest.fingerprints, A.fingerprints)
    np.testing.assert_array_equal(rest.counts, A.counts)
    if A.missing(B):
        with pytest.raises(ValueError, match="not there"):
            A - B


def test_sparse_rows_have_the_fingerprints_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 5)) * (rng.random((20, 5)) < 0.4)
    y = rng.standard_normal((20, 1))
    np.testing.assert_array_equal(row_fingerprints(X, y), row_fingerprints(sparse.csr_array(X), y))
    assert (
        len(set(row_fingerprints(rng.standard_normal((20_000, 3)), np.zeros((20_000, 1)))))
        == 20_000
    )


def other_rows(X, y):
    return {
        "unseen": (X[:5] + 1e-9, y[:5], None),
        "another target": (X[:5], y[:5] + 1e-9, None),
        "another weight": (X[:5], y[:5], np.full(5, 0.9)),
        "one of five": (np.vstack([X[:4], X[4:5] + 1.0]), y[:5], None),
        "one twice": (X[[0, 1, 2, 3, 3]], y[[0, 1, 2, 3, 3]], None),
    }


@over_each(name=other_rows(*data()), places=[{}, {"shards": 3}])
def test_any_other_row_is_refused(name, places):
    X, y = data()
    fitted = model(**places).fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match=r"of the 5 given are not in the model"):
        fitted.forget(*other_rows(X, y)[name])
    np.testing.assert_array_equal(fitted.predict(X), before)
    fitted.forget(X[:5], y[:5])
    assert fitted.fit_.n_rows == 55


def test_rows_are_remembered_through_batches():
    X, y = data()
    fitted = model()
    for start in range(0, 60, 20):
        fitted.partial_fit(X[start : start + 20], y[start : start + 20])
    fitted.partial_fit(X[:5], y[:5])  # twice: they can be forgotten twice
    fitted.forget(X[:5], y[:5]).forget(X[:5], y[:5])
    with pytest.raises(ValueError, match="5 of the 5"):
        fitted.forget(X[:5], y[:5])
    assert fitted.fit_.n_rows == 55


def test_classes_are_part_of_a_row():
    X, y = data()
    labels = np.where(y > 0, "up", "down")
    fitted = KernelClassifier(
        Gaussian(1.0), Landmarks(sampling=GIVEN), alpha=1e-3, remember_rows=True
    ).fit(X, labels)
    with pytest.raises(ValueError, match="3 of the 3"):
        fitted.forget(X[:3], np.where(labels[:3] == "up", "down", "up"))
    assert fitted.forget(X[:3], labels[:3]).fit_.n_rows == 57


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_and_arrays_have_the_same_rows(tmp_path, suffix):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    write = {"csv": lambda f, p: f.to_csv(p, index=False), "parquet": lambda f, p: f.to_parquet(p)}
    paths = [tmp_path / f"{number}.{suffix}" for number in range(3)]
    for number, path in enumerate(paths):
        write[suffix](frame[20 * number : 20 * number + 20], path)
    fitted = model().fit(paths, "y")
    fitted.forget(frame[["a", "b"]][:10], y[:10])
    fitted.forget(paths[2], "y")
    with pytest.raises(ValueError, match="10 of the 20 given are not in the model"):
        fitted.forget(paths[0], "y")
    assert fitted.fit_.n_rows == 30


def test_tables_are_remembered_as_they_are_encoded():
    X, y = data()
    table = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "x", "z")})
    table.loc[3, "a"] = np.nan
    fitted = KernelRegressor(Gaussian(1.0), Landmarks(8), 1e-3, remember_rows=True, random_state=0)
    fitted.fit(table, y).forget(table[:10], y[:10])
    with pytest.raises(ValueError, match="1 of the 1"):
        fitted.forget(table[10:11].assign(kind="y"), y[10:11])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_remember(copied):
    X, y = data()
    fitted = copied(model().fit(X, y).forget(X[:5], y[:5]))
    with pytest.raises(ValueError, match="5 of the 5"):
        fitted.forget(X[:5], y[:5])
    assert clone(fitted).remember_rows is True


def test_model_files_remember(tmp_path):
    X, y = data()
    fitted = model().fit(X, y).forget(X[:5], y[:5])
    again = load(save(fitted, tmp_path / "model", moments=True))
    with pytest.raises(ValueError, match="5 of the 5"):
        again.forget(X[:5], y[:5])
    again.partial_fit(X[:5], y[:5]).forget(X[:5], y[:5]).forget(X[5:10], y[5:10])
    assert again.fit_.n_rows == 50
    np.testing.assert_array_equal(again.fit_.peak.sum_yy >= fitted.fit_.peak.sum_yy, True)


def test_what_was_not_remembered_from_the_first_rows_on_is_refused():
    X, y = data()
    fitted = model().set_params(remember_rows=False).fit(X, y).set_params(remember_rows=True)
    for change in (fitted.partial_fit, fitted.forget):
        with pytest.raises(ValueError, match="remember_rows=True must be set before"):
            change(X[:5], y[:5])
    fitted.set_params(remember_rows=False).forget(X[:5], y[:5])
    assert fitted.fit_.n_rows == 55


def test_a_later_fit_remembers_its_own_rows():
    X, y = data()
    fitted = model().fit(X[:30], y[:30]).fit(X[30:], y[30:])
    with pytest.raises(ValueError, match="5 of the 5"):
        fitted.forget(X[:5], y[:5])
