"""The same rows in another form: whatever is fitted, and whatever is predicted, is the same."""

from functools import cache
from pathlib import Path

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import (
    ArcCosine,
    Cosine,
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    Linear,
    Matern,
    Polynomial,
    load,
    save,
)
from mercer.kernels import InMetric
from mercer.kernels.distances import MET, share_met

NAMES = ["width", "height", "depth", "age"]


def made(n_rows, seed):
    """Return columns around 1, a third of whose values are 0: centering matters."""
    rng = np.random.default_rng(seed)
    rows = 1 + rng.standard_normal((n_rows, 4)) * [1.0, 0.5, 2.0, 1.0]
    return np.where(rng.random(rows.shape) < 0.3, 0.0, rows)


X, NEW = made(240, 0), np.vstack([np.zeros(4), made(40, 1)])
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def frame(rows):
    return pd.DataFrame(rows, columns=NAMES)


def with_y(rows, y):
    return frame(rows) if y is None else frame(rows).assign(y=y)


def csv_file(folder, rows, y=None):
    path = Path(folder) / f"{len(rows)}.csv"
    with_y(rows, y).to_csv(path, index=False)
    return path, None if y is None else "y"


def parquet_file(folder, rows, y=None):
    path = Path(folder) / f"{len(rows)}.parquet"
    with_y(rows, y).to_parquet(path)
    return path, None if y is None else "y"


def dask_array(folder, rows, y=None):
    return dask.array.from_array(rows, chunks=(100, 4)), (
        None if y is None else dask.array.from_array(y, chunks=100)
    )


def dask_frame(folder, rows, y=None):
    whole = dask.dataframe.from_pandas(with_y(rows, y), npartitions=2)
    return (whole, None) if y is None else (whole[NAMES], whole["y"])


def of_rows(form):
    return lambda folder, rows, y=None: (form(rows), y)


FORMS = {
    "dense": of_rows(np.array),
    "csr": of_rows(sparse.csr_array),
    "csc": of_rows(sparse.csc_matrix),
    "coo": of_rows(sparse.coo_array),
    "frame": of_rows(frame),
    "csv": csv_file,
    "parquet": parquet_file,
    "dask": dask_array,
    "dask frame": dask_frame,
}
#: All defaults; a kernel of differences and one that sees a shift, in standard deviations.
MODELS = {
    "auto": {},
    "gaussian": {"kernel": "gaussian", "metric": None, "scale": "standard", "alpha": 1e-4},
    "polynomial": {"kernel": Polynomial(2), "metric": None, "alpha": 1e-4},
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")

    @cache
    def fit(kind, form):
        return KernelRegressor(random_state=0, **MODELS[kind]).fit(*FORMS[form](folder, X, Y))

    return fit


@pytest.mark.filterwarnings("ignore:X has feature names, but|X does not have valid feature")
@pytest.mark.parametrize("predicted", FORMS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", MODELS)
def test_every_form_of_rows_is_fitted_and_predicted_alike(kind, form, predicted, fitted, tmp_path):
    expected = fitted(kind, "dense").predict(NEW)
    rows, _ = FORMS[predicted](tmp_path, NEW)
    found = fitted(kind, form).predict(rows)
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-4 * Y.std())


SCALED = {
    "gaussian": Gaussian("median"),
    "matern": Matern(1.5, "median"),
    "linear": Linear(),
    "polynomial": Polynomial(2),
    "arc-cosine": ArcCosine(),
    "cosine": Cosine(),
    "sum": Gaussian("median") + Linear(),
    "product": Gaussian("median") * Linear(),
    "sum of differences": Gaussian("median") + Matern(0.5, "median"),
}


@pytest.mark.parametrize("columns", [6, 2000])
@pytest.mark.parametrize("basis", [Landmarks(60), "full", "random_features"], ids=str)
@pytest.mark.parametrize("kernel", SCALED)
def test_columns_are_centered_for_every_kernel(kernel, basis, columns):
    if basis == "random_features" and kernel not in ("gaussian", "linear", "arc-cosine", "sum"):
        pytest.skip("one of each kind of features is enough")
    rng = np.random.default_rng(0)
    share = 0.4 if columns < 1000 else 0.03
    thin = np.where(rng.random((200, columns)) < share, 1 + rng.random((200, columns)), 0.0)
    thin[:, 0] = 30 + rng.random(200)  # far from 0 in its own units
    assert (share_met(thin) < MET) == (columns > 1000)
    y = thin[:, 1] - thin[:, 0] + thin[:, 2] * thin[:, 3]
    how = {"alpha": 1e-3, "metric": None, "scale": "standard", "fit_intercept": False}
    models = [
        KernelRegressor(SCALED[kernel], basis, random_state=0, **how).fit(form(thin[:150]), y[:150])
        for form in (np.array, sparse.csr_array)
    ]
    expected = models[0].predict(thin[150:])
    for model in models:
        for form in (np.array, sparse.csr_array, sparse.csc_array):
            found = model.predict(form(thin[150:]))
            np.testing.assert_allclose(found, expected, atol=1e-6 * np.ptp(y))


def test_sparse_rows_of_few_columns_have_the_search_of_dense_ones():
    for given in ({"scale": "quantile"}, {"metric": "full"}, {"metric": "diagonal"}):
        dense, thin = (
            KernelRegressor(random_state=0, **given).fit(form(X), Y)
            for form in (np.array, sparse.csr_array)
        )
        assert type(thin.kernel_.kernel) is type(dense.kernel_.kernel)
        np.testing.assert_allclose(thin.predict(NEW), dense.predict(NEW), atol=1e-4)
    dense, thin = (
        KernelRegressor(random_state=0).fit(form(X), Y) for form in (np.array, sparse.csr_array)
    )
    for name in ("kernel", "factor", "scale", "metric"):
        assert (dense.search_results_[name] == thin.search_results_[name]).all()


@pytest.mark.parametrize("given", [{"scale": "quantile"}, {"metric": "full"}])
def test_wide_sparse_rows_refuse_what_would_make_them_dense(given):
    wide = sparse.random_array((60, 1001), density=0.01, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="sparse rows of more than 1,000 columns dense: use"):
        KernelRegressor(**given).fit(wide, np.arange(60.0))


def test_classes_and_rankings_of_sparse_rows():
    labels, query = np.where(np.median(Y) > Y, "low", "high"), np.repeat(np.arange(24), 10)
    for model, more in ((KernelClassifier, (labels,)), (KernelRanker, (Y, query))):
        dense, thin = (
            model(random_state=0).fit(form(X), *more) for form in (np.array, sparse.csr_array)
        )
        for form in (np.array, sparse.csc_array):
            np.testing.assert_allclose(
                thin._decide(form(NEW)), dense._decide(NEW), atol=1e-4 * np.ptp(dense._decide(NEW))
            )


def test_intervals_and_deviations_of_sparse_rows():
    model = KernelRegressor("gaussian", random_state=0, intervals="cv+").fit(X, Y)
    expected, found = (model.predict_interval(form(NEW)) for form in (np.array, sparse.csr_array))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian("median"), Polynomial(2)], ids=["gaussian", "poly"])
def test_batches_of_any_form_are_those_of_one(kernel):
    how = {"metric": None, "scale": "standard", "alpha": 1e-4, "random_state": 0}
    forms = (np.array, sparse.csr_array)
    found = []
    for first in forms:
        for second in forms:
            model = KernelRegressor(kernel, Landmarks(50), **how)
            model.partial_fit(first(X[:120]), Y[:120]).partial_fit(second(X[120:]), Y[120:])
            model.forget(first(X[130:150]), Y[130:150])
            found.append(model.predict(NEW))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_a_saved_model_of_sparse_rows_is_the_same(kernel, tmp_path):
    model = KernelRegressor(kernel, random_state=0, scale="standard").fit(sparse.csr_array(X), Y)
    again = load(save(model, tmp_path / "model"))
    for form in (np.array, sparse.csr_array):
        np.testing.assert_array_equal(again.predict(form(NEW)), model.predict(form(NEW)))


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_an_exported_model_of_sparse_rows_is_the_same(kernel):
    pytest.importorskip("onnx", reason="graphs are built by onnx, which is not installed")
    from onnx.reference import ReferenceEvaluator

    from mercer import to_onnx

    how = {"scale": "standard", "metric": None, "alpha": 1e-4}
    model = KernelRegressor(kernel, random_state=0, **how).fit(sparse.csr_array(X), Y)
    graph = ReferenceEvaluator(to_onnx(model))
    (found,) = graph.run(None, {graph.input_names[0]: NEW})[:1]
    np.testing.assert_allclose(np.ravel(found), model.predict(NEW), atol=1e-6)


def test_gaps_of_sparse_rows_are_filled_like_those_of_dense_ones():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    dense, thin = (
        KernelRegressor("gaussian", random_state=0).fit(form(gaps), Y)
        for form in (np.array, sparse.csr_array)
    )
    assert thin.columns_.encoding_ == dense.columns_.encoding_
    for rows in (gaps, NEW):
        for model in (dense, thin):
            found = model.predict(sparse.csr_array(rows))
            np.testing.assert_allclose(found, dense.predict(rows), atol=1e-6)
    with pytest.raises(ValueError, match="NaN"):
        KernelRegressor("gaussian", missing="error").fit(sparse.csr_array(gaps), Y)


def test_sparse_rows_of_a_table_with_encoded_columns():
    table = frame(X).assign(same=1.0, age=np.where(np.arange(240) % 5, X[:, 3], np.nan))
    model = KernelRegressor("gaussian", random_state=0).fit(table, Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(sparse.csr_array(table.to_numpy()))
    np.testing.assert_allclose(found, model.predict(table), atol=1e-6)


@pytest.mark.filterwarnings("ignore:X has feature names, but")
@pytest.mark.parametrize("missing", ["fill", "error"])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_columns_that_had_no_names_are_taken_by_their_place(form, missing, tmp_path):
    model = KernelRegressor("gaussian", missing=missing, random_state=0).fit(form(X), Y)
    expected = model.predict(NEW)
    for rows in (frame(NEW), csv_file(tmp_path, NEW)[0], parquet_file(tmp_path, NEW)[0]):
        np.testing.assert_allclose(model.predict(rows), expected, atol=1e-9)
    explanation = model.explain(frame(NEW[:3]))
    np.testing.assert_allclose(explanation.effect, model.explain(NEW[:3]).effect)


# -- a bandwidth in numbers --------------------------------------------------------------------


def flights(n_rows, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "carrier": rng.choice(["AA", "B6", "UA"], n_rows),
            "day": pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 365, n_rows), "D"),
            "distance": rng.uniform(100.0, 3000.0, n_rows),
        }
    )
    delay = table["distance"] / 100 + 5 * (table["carrier"] == "AA") + rng.standard_normal(n_rows)
    return table, delay.to_numpy()


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(1.5, 3.0), LaplacianL1(4.0)], ids=str)
def test_one_bandwidth_for_encoded_columns_is_in_standard_deviations(kernel):
    model = KernelRegressor(kernel, random_state=0).fit(*flights(600, 0))
    assert model.score(*flights(300, 1)) > 0.95
    assert model.kernel_.kernel.bandwidth == kernel.bandwidth
    np.testing.assert_allclose(model.kernel_.metric.scaling.scale[-1], 850, rtol=0.05)


def test_bandwidths_in_the_units_of_columns_keep_them():
    table, delay = flights(300, 0)
    kept = [(X, Gaussian(2.0)), (sparse.csr_array(X), Gaussian(2.0)), (frame(X), Gaussian(2.0))]
    width = KernelRegressor("gaussian").fit(table, delay).columns_.encoding_.feature_names
    kept.append((table, Gaussian(np.full(len(width), 2.0))))  # one for each column has its unit
    kept.append((table, Cosine()))
    for rows, kernel in kept:
        y = Y if rows.shape[0] == len(Y) else delay
        assert not isinstance(KernelRegressor(kernel, alpha=1e-3).fit(rows, y).kernel_, InMetric)
    plain = KernelRegressor(Gaussian(2.0), scale=None, alpha=1e-3).fit(table, delay)
    assert not isinstance(plain.kernel_, InMetric)
