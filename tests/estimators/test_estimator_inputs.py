"""Whatever rows come in: frames, sparse rows, memory maps; nothing of it is changed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import mercer.estimators.kernel_estimator
from cases import BASES, rows, targets, weights
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    MetricSearch,
    RandomFeatures,
)
from mercer.kernels.distances import MET, share_met
from pairs import over_each

X, Y, W = rows(), targets(rows()), weights()
NEW = rows(12, seed=9)
over_bases = pytest.mark.parametrize("basis", BASES)
FRAMES = {
    "pandas": lambda values: pd.DataFrame(values, columns=["height", "width"]),
    "polars": lambda values: pl.DataFrame(values, schema=["height", "width"]),
}
over_frames = pytest.mark.parametrize("kind", FRAMES)


def model(basis="full", **settings):
    return KernelRegressor(
        Gaussian(0.5), BASES[basis](), **{"alpha": 1e-3, "random_state": 0, **settings}
    )


@over_bases
def test_inputs_are_left_alone_even_if_they_could_be_changed(basis):
    inputs = X.copy(), Y.copy(), W.copy(), NEW.copy()
    fitted = model(basis).fit(*inputs[:3])
    fitted.predict(inputs[3])
    for now, then in zip(inputs, (X, Y, W, NEW), strict=True):
        np.testing.assert_array_equal(now, then)


@over_each(basis=BASES, order=["C", "F"])
def test_read_only_arrays_of_any_order(basis, order):
    inputs = [np.array(array, order=order) for array in (X, Y, W, NEW)]
    for array in inputs:
        array.flags.writeable = False
    found = model(basis).fit(*inputs[:3]).predict(inputs[3])
    np.testing.assert_allclose(found, model(basis).fit(X, Y, W).predict(NEW), atol=1e-9)


@over_each(basis=BASES, dtype=["float32", "float64"])
def test_the_global_random_state_is_untouched(basis, dtype):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model(basis, random_state=None, dtype=dtype, alpha="auto", selection="kfold").fit(X, Y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("state", [0, np.random.RandomState(0), np.random.default_rng(0)], ids=str)
def test_random_states_of_every_kind(state):
    fitted = KernelRegressor(basis=Landmarks(5), alpha=1e-3, random_state=state).fit(X, Y)
    assert len(fitted.basis_.indices_) == 5


@over_each(basis=BASES, kind=FRAMES)
def test_data_frames_are_their_values(basis, kind):
    frame = FRAMES[kind]
    fitted = model(basis).fit(frame(X), Y)
    assert fitted.feature_names_in_.tolist() == ["height", "width"]
    np.testing.assert_allclose(
        fitted.predict(frame(NEW)), model(basis).fit(X, Y).predict(NEW), atol=1e-9
    )


@over_frames
def test_targets_and_weights_may_be_columns_of_a_frame(kind):
    library = pd if kind == "pandas" else pl
    fitted = model().fit(X, library.Series(Y), library.Series(W))
    np.testing.assert_allclose(fitted.predict(NEW), model().fit(X, Y, W).predict(NEW), atol=1e-12)


@over_frames
def test_targets_may_be_a_frame(kind):
    outputs = np.column_stack([Y, -Y])
    fitted = model().fit(X, FRAMES[kind](outputs))
    np.testing.assert_allclose(fitted.predict(NEW), model().fit(X, outputs).predict(NEW))


def test_an_index_of_a_frame_does_not_matter():
    frame = FRAMES["pandas"](X).set_index(np.arange(30)[::-1])
    series = pd.Series(Y, index=np.arange(100, 130))
    np.testing.assert_array_equal(
        model().fit(frame, series).predict(FRAMES["pandas"](NEW)), model().fit(X, Y).predict(NEW)
    )


def test_labels_of_a_frame():
    labels = pd.Series(np.array(["no", "yes"])[(Y > 0).astype(int)])
    for y in (labels, labels.astype("category"), labels.astype("string")):
        assert KernelClassifier().fit(X, y).classes_.tolist() == ["no", "yes"]


@over_frames
@pytest.mark.parametrize("basis", ["full", "given"])
def test_columns_are_taken_by_name(kind, basis):
    fitted = model(basis).fit(FRAMES[kind](X), Y)
    swapped = FRAMES[kind](NEW)[["width", "height"]]
    np.testing.assert_array_equal(fitted.predict(swapped), fitted.predict(FRAMES[kind](NEW)))
    renamed = FRAMES[kind](NEW).rename(
        **{"columns" if kind == "pandas" else "mapping": {"width": "depth"}}
    )
    with pytest.raises(ValueError, match=r"X has no column of the fit 'width'; .* 'depth'"):
        fitted.predict(renamed)


def test_a_missing_value_is_named_by_its_column():
    for kind in FRAMES:
        hole = X.copy()
        hole[4, 1] = np.nan
        with pytest.raises(ValueError, match=r"NaN at row 4, column 1 \('width'\)"):
            model(missing="error").fit(FRAMES[kind](hole), Y)


def test_frames_of_whole_numbers_and_booleans():
    frame = pd.DataFrame({"a": np.arange(30) % 7, "b": X[:, 0] > 0.5, "c": X[:, 1]})
    expected = model().fit(frame.to_numpy(dtype=float), Y).predict(frame.to_numpy(dtype=float))
    np.testing.assert_allclose(model().fit(frame, Y).predict(frame), expected, atol=1e-12)


@over_each(
    basis=BASES, kind=[sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
def test_sparse_rows_are_dense_rows(basis, kind):
    thin, new = (np.where(values < 0.3, 0.0, values) for values in (X, NEW))
    if basis == "kmeans" and kind is not sparse.csr_array:
        kind = sparse.csr_matrix
    found = model(basis).fit(kind(thin), Y, W).predict(kind(new))
    expected = model(basis).fit(thin, Y, W).predict(new)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("basis", ["landmarks", "full"])
def test_wide_sparse_rows_are_dense_rows(basis, dtype, offset):
    """So few values that points stay sparse too, and a full column that may be far from 0."""
    rng = np.random.default_rng(0)
    thin = rng.standard_normal((300, 2000)) * (rng.random((300, 2000)) < 0.02)
    thin[:, 0] = offset + rng.random(300)
    y = thin[:, 1:200].sum(axis=1)
    assert share_met(thin) < MET
    how = {"kernel": Gaussian(6.0), "basis": Landmarks(60) if basis == "landmarks" else basis}
    if basis == "landmarks":
        how["dtype"] = dtype
    fitted = [
        KernelRegressor(alpha=1e-2, metric=None, random_state=0, **how).fit(data[:200], y[:200])
        for data in (thin, sparse.csr_array(thin))
    ]
    expected = fitted[0].predict(thin[200:])
    atol = {"float32": 1e-5, "float64": 1e-8}[dtype]
    for model_ in fitted:
        for new in (thin[200:], sparse.csr_array(thin[200:])):
            np.testing.assert_allclose(model_.predict(new), expected, atol=atol * np.ptp(y))


@over_each(selection=["gcv", "kfold", "loo"], basis=["full", "given", "random_features"])
def test_sparse_rows_with_every_criterion(basis, selection):
    thin = np.where(X < 0.3, 0.0, X)
    settings = {"alpha": "auto", "selection": selection}
    scores = [
        model(basis, **settings).fit(data, Y).cv_results_["mean_squared_error"]
        for data in (thin, sparse.csr_array(thin))
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4)


def test_sparse_rows_come_and_go():
    thin = np.where(X < 0.3, 0.0, X)
    rows_ = sparse.csr_array(thin)
    fitted = model("given").partial_fit(rows_[:20], Y[:20]).partial_fit(rows_[20:], Y[20:])
    fitted.forget(rows_[:5], Y[:5])
    expected = model("given").fit(thin[5:], Y[5:]).predict(NEW)
    np.testing.assert_allclose(fitted.predict(NEW), expected, atol=1e-7)


def test_kernels_for_dense_rows_refuse_sparse_ones_in_words():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KernelRegressor("sobolev").fit(sparse.csr_array(X), Y)


def test_lists_and_whole_numbers():
    fitted = KernelRegressor(alpha=1e-3).fit([[0, 1], [1, 1], [2, 5]], [1, 2, 3])
    assert fitted.predict([[1, 1]]).shape == (1,)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint32, bool])
def test_rows_of_other_dtypes_are_their_values(dtype):
    values = (10 * X).astype(dtype)
    wide = values.astype(float)
    for basis in ("full", "random_features"):
        found = model(basis).fit(values, Y).predict(values)
        np.testing.assert_allclose(found, model(basis).fit(wide, Y).predict(wide), atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool, object])
def test_targets_of_other_dtypes_are_their_values(dtype):
    y = (5 * Y).astype(int).astype(dtype)
    np.testing.assert_allclose(
        model().fit(X, y).predict(NEW), model().fit(X, y.astype(float)).predict(NEW), atol=1e-9
    )


def test_predictions_have_the_shape_of_the_targets():
    assert model().fit(X, Y).predict(NEW).shape == (12,)
    assert model().fit(X, Y[:, None]).predict(NEW).shape == (12, 1)
    assert model().fit(X, np.column_stack([Y, Y])).predict(NEW).shape == (12, 2)


@pytest.fixture
def mapped(tmp_path):
    """A memory map of the rows, read-only."""
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((3000, 2)))
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("basis", ["given", "random_features"])
def test_a_memory_map_is_read_in_blocks_and_never_copied(mapped, basis, monkeypatch):
    sources = []

    class Recorded(mercer.opening.inputs.ArraySource):
        def __init__(self, *rows, **more):
            super().__init__(*rows, **more)
            sources.append(self)

    for module in (mercer.opening.inputs, mercer.opening.rows_to_predict):
        monkeypatch.setattr(module, "ArraySource", Recorded)
    y = np.arange(3000.0)
    fitted = model(basis).fit(mapped, y)
    fitted.predict(mapped)
    assert len(sources) == 2
    for source in sources:
        block = next(source.blocks(10))
        assert np.shares_memory(block.X, mapped)
    np.testing.assert_array_equal(
        fitted.predict(mapped), model(basis).fit(np.array(mapped), y).predict(mapped)
    )


def test_a_large_array_is_not_copied_by_a_fit():
    import tracemalloc

    data = np.random.default_rng(0).random((600_000, 20))
    y = data[:, 0]
    basis, search = RandomFeatures(20, random_state=0), MetricSearch(rounds=1)
    fitted = KernelRegressor(basis=basis, alpha=1e-3, metric=search)
    tracemalloc.start()
    fitted.fit(data, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < data.nbytes
