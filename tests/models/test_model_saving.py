"""What save() refuses, and how it writes."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from model_files import read
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import mercer
from cases import MEDIAN
from mercer import Gaussian, KernelRegressor, Landmarks, MercerWarning, load, save

X = np.linspace(0, 6, 60)[:, None]
y = np.sin(X[:, 0])


class OwnKernel(Gaussian):
    """A kernel that is not mercer's."""


class OwnRegressor(KernelRegressor):
    """An estimator that is not mercer's."""


@pytest.fixture
def model():
    return KernelRegressor(basis=Landmarks(10), random_state=0, **MEDIAN).fit(X, y)


def test_suffix_only_where_there_is_none(model, tmp_path):
    assert save(model, tmp_path / "model") == tmp_path / "model.mercer"
    assert save(model, str(tmp_path / "model.v1")) == tmp_path / "model.v1"
    assert load(tmp_path / "model").predict(X).shape == (60,)


def test_the_file_says_what_it_is(model, tmp_path):
    document, tensors = read(save(model, tmp_path / "model"))
    assert document["format"] == 2
    assert document["library"] == mercer.__version__
    assert document["estimator"]["type"] == "KernelRegressor"
    assert document["basis"]["state"]["kernel_"]["type"] == "Gaussian"
    assert set(tensors) >= {"fit.coefficients", "basis.state.landmarks_"}


def test_unfitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(KernelRegressor(), tmp_path / "model")
    failed = KernelRegressor(memory_limit="1kB", basis="landmarks")
    with pytest.raises(mercer.MemoryLimitError):
        failed.fit(X, y)
    with pytest.raises(NotFittedError):
        save(failed, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            LinearRegression().fit(X, y),
            "KernelRanker or KernelRegressor, got LinearRegression",
        ),
        (OwnRegressor().fit(X, y), "got OwnRegressor"),
        (KernelRegressor(OwnKernel()).fit(X, y), "got OwnKernel"),
        (KernelRegressor(alphas=range(1, 3)).fit(X, y), "estimator.alphas .* got range"),
        pytest.param(
            KernelRegressor(alphas=np.array([1, 2], dtype=np.longdouble)).fit(X, y),
            "estimator.alphas .* got float128|estimator.alphas .* got longdouble",
            marks=pytest.mark.skipif(
                np.dtype(np.longdouble).itemsize == 8, reason="long double is float64 here"
            ),
        ),
    ],
)
def test_what_cannot_be_written_is_named(estimator, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        save(estimator, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_generator_is_not_kept(model, tmp_path):
    model = KernelRegressor(random_state=np.random.default_rng(0)).fit(X, y)
    with pytest.warns(MercerWarning, match="random generator"):
        path = save(model, tmp_path / "model")
    assert load(path).random_state is None


def test_a_sum_of_too_many_kernels_is_refused(tmp_path):
    kernel = Gaussian(1.0)
    for _ in range(120):
        kernel = kernel + Gaussian(1.0)
    model = KernelRegressor(kernel, alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="balanced tree"):
        save(model, tmp_path / "model")


def test_a_sum_of_many_kernels_is_kept(tmp_path):
    kernel = Gaussian(1.0)
    for width in range(1, 60):
        kernel = kernel + Gaussian(float(width))
    model = KernelRegressor(kernel, alpha=1.0).fit(X, y)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m")).predict(X), model.predict(X))


def test_a_failed_write_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = save(model, tmp_path / "model")
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr("mercer.storage.tensor_file.struct", SimpleNamespace(pack=full))
    with pytest.raises(OSError, match="disk full"):
        save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.mercer"]


def test_permissions_are_the_usual_ones(model, tmp_path):
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    assert save(model, tmp_path / "model").stat().st_mode == usual


def test_missing_folders_and_folders_in_the_way(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save(model, tmp_path / "nowhere" / "model")
    (tmp_path / "model.mercer").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(model, tmp_path / "model")


def test_no_other_package_is_needed(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    path = save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
