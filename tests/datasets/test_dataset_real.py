"""Data sets that are found in a folder or downloaded."""

from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from mercer.datasets import load_real


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "bike").mkdir()
    np.savez(tmp_path / "bike" / "bike.npz", X=np.eye(3), y=np.arange(3))
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    return tmp_path


def test_from_the_folder(folder):
    data = load_real("bike")
    np.testing.assert_array_equal(data.X, np.eye(3))
    assert data.y.tolist() == [0, 1, 2]


def test_pickles_are_refused(folder):
    np.savez(folder / "bike" / "bike.npz", X=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_real("bike")


def test_the_closest_name_is_offered(folder):
    with pytest.raises(FileNotFoundError, match="did you mean 'bike'"):
        load_real("bikes")


@pytest.mark.parametrize("name", ["../bike", "bike/bike", "", "/etc/passwd"])
def test_names_are_no_paths(name, folder):
    with pytest.raises(ValueError, match="letters, digits"):
        load_real(name)


@pytest.fixture
def fetched(monkeypatch):
    """Stand in for the network, which tests do not need."""
    monkeypatch.delenv("MERCER_DATA", raising=False)
    asked = []

    def fetch(*, return_X_y, **what):
        assert return_X_y
        asked.append(what)
        return np.ones((70000, 1), dtype=np.float32), np.full(70000, "7", dtype=object)

    for name in ("fetch_openml", "fetch_covtype", "fetch_california_housing"):
        monkeypatch.setattr(sklearn.datasets, name, fetch)
    return asked


def test_from_openml(fetched):
    data = load_real("pendigits")
    assert fetched == [{"name": "pendigits", "version": 1, "as_frame": False}]
    assert data.X.dtype == np.float64
    assert data.y.dtype.kind == "U"


def test_a_split_where_it_is_customary(fetched):
    data = load_real("mnist")
    assert fetched == [{"name": "mnist_784", "version": 1, "as_frame": False}]
    assert (len(data.X_train), len(data.X_test)) == (60000, 10000)


@pytest.mark.parametrize("name", ["covtype", "california_housing"])
def test_from_functions_of_their_own(name, fetched):
    assert load_real(name).X.shape == (70000, 1)
    assert fetched == [{}]


@pytest.mark.parametrize(("name", "hint"), [("kin40k", "MERCER_DATA"), ("letter", "load_letter")])
def test_no_home_on_the_network(name, hint, fetched):
    with pytest.raises(ValueError, match=hint):
        load_real(name)


def test_without_a_network(fetched, monkeypatch):
    def fail(**what):
        raise URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(OSError, match="MERCER_DATA"):
        load_real("usps")


@pytest.mark.real
def test_real_files():
    data = load_real("letter")
    assert data.X_train.shape == (16000, 16)
