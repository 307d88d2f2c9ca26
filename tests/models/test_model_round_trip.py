"""A loaded model is the saved one: predictions to the bit, summary, path of alphas, labels."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from cases import DTYPES
from mercer import (
    ArcCosine,
    FullKernel,
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    KFold,
    Landmarks,
    LaplacianL1,
    LaplacianL2,
    LeaveOneOut,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    RandomFeatures,
    Ridge,
    Sketch,
    Sobolev,
    load,
    save,
)
from pairs import over_each

rng = np.random.default_rng(0)
X = rng.random((90, 3))
Y = np.column_stack([np.sin(5 * X[:, 0]) + X[:, 1], 1e6 + 3e4 * X[:, 2]])
NEW = rng.random((300, 3))

KERNELS = {
    "gaussian": Gaussian(),
    "gaussian by column": Gaussian(np.array([0.5, 1.0, 2.0])),
    "gaussian, a numpy number": Gaussian(np.float32(0.7)),
    "laplacian l1": LaplacianL1(),
    "laplacian l2 by column": LaplacianL2(np.array([0.5, 1.0, 2.0])),
    "matern": Matern(2.5),
    "polynomial": Polynomial(),
    "linear": Linear(),
    "threshold units": ArcCosine(0),
    "rectified units": ArcCosine(1),
    "spline": PeriodicSpline(3.0),
    "spline of infinite order": PeriodicSpline(np.inf),
    "sobolev": Sobolev(),
    "sum": Gaussian() + Linear(),
    "product": Gaussian() * Matern(),
    "sum in a product": (Gaussian() + Sobolev()) * Polynomial(2),
}
BASES = {
    "full": FullKernel(),
    "landmarks": Landmarks(20),
    "given points": Landmarks(sampling=np.asfortranarray(X[:20])),
    "random features": RandomFeatures(32),
    "sketch": Sketch(20),
    "sketch by a matrix": Sketch(20, "rademacher"),
}
WITHOUT_FEATURES = ("polynomial", "sobolev", "sum in a product")


def assert_same(saved, loaded, rows):
    assert type(loaded) is type(saved)
    np.testing.assert_array_equal(loaded.predict(rows), saved.predict(rows))
    assert loaded.predict(rows).dtype.kind == saved.predict(rows).dtype.kind
    assert str(loaded.summary()) == str(saved.summary())
    assert repr(loaded.kernel_) == repr(saved.kernel_)
    assert loaded.alpha_ == saved.alpha_
    assert loaded.n_iter_ == saved.n_iter_
    assert loaded.n_features_in_ == saved.n_features_in_
    np.testing.assert_array_equal(loaded.dual_coef_, saved.dual_coef_)
    np.testing.assert_array_equal(loaded.intercept_, saved.intercept_)
    assert (loaded.cv_results_ is None) == (saved.cv_results_ is None)
    if saved.cv_results_ is not None:
        assert loaded.cv_results_.keys() == saved.cv_results_.keys()
        for key, values in saved.cv_results_.items():
            np.testing.assert_array_equal(loaded.cv_results_[key], values)


@over_each(
    kernel=KERNELS,
    basis=product(BASES, DTYPES),
    allowed=lambda kernel, basis: basis[0] != "random features" or kernel not in WITHOUT_FEATURES,
)
def test_every_kernel_and_basis(kernel, basis, tmp_path):
    basis, dtype = basis
    model = KernelRegressor(KERNELS[kernel], BASES[basis], dtype=dtype, random_state=0).fit(X, Y)
    assert_same(model, load(save(model, tmp_path / "model")), NEW)


@pytest.mark.parametrize(
    "kernel", ["threshold units", "rectified units", "spline", "linear", "sum", "product"]
)
def test_every_kind_of_random_feature(kernel, tmp_path):
    model = KernelRegressor(KERNELS[kernel], RandomFeatures(32), random_state=0).fit(X, Y)
    assert_same(model, load(save(model, tmp_path / "model")), NEW)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["red", "dark blue", "grün"]),
        np.array(["red", "dark blue", "grün"], dtype=object),
        np.array([3, -1, 7]),
        np.array([3, 1, 7], dtype=np.uint8),
        np.array([5.0, 1.0, -2.0], dtype=np.float32),
        np.array([2, 1, 3], dtype=">i4"),
        np.array([True, False]),
        np.array(["2020-01-01", "2021-05-01"], dtype="M8[D]"),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_class_labels(labels, tmp_path):
    y = labels[np.arange(len(X)) % len(labels)]
    model = KernelClassifier(basis=Landmarks(20), random_state=0).fit(X, y)
    loaded = load(save(model, tmp_path / "model"))
    assert_same(model, loaded, NEW)
    assert loaded.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


@over_each(
    selection=["gcv", "kfold", "loo", KFold(3), LeaveOneOut(40)],
    alpha=["auto", 1e-3, np.float64(1e-3), 0],
)
def test_selection_and_alpha(selection, alpha, tmp_path):
    model = KernelRegressor(
        basis=Landmarks(20),
        selection=selection,
        alpha=alpha,
        alphas=(1e-4, 1e-2, 1.0),
        solver=Ridge("eigen"),
        random_state=np.int64(3),
    ).fit(X, Y[:, 0])
    loaded = load(save(model, tmp_path / "model"))
    assert_same(model, loaded, NEW)
    assert repr(loaded.get_params(deep=False)) == repr(model.get_params(deep=False))
    assert loaded.predict(NEW).shape == (len(NEW),)


def test_one_column_of_two_dimensions(tmp_path):
    model = KernelRegressor(fit_intercept=False).fit(X, Y[:, :1])
    assert load(save(model, tmp_path / "model")).predict(NEW).shape == (len(NEW), 1)


@pytest.mark.parametrize("basis", [FullKernel(), Landmarks(20), Sketch(20)])
def test_precomputed(basis, tmp_path):
    kernel = Gaussian(0.6)
    model = KernelRegressor("precomputed", basis, random_state=0).fit(kernel(X), Y)
    assert_same(model, load(save(model, tmp_path / "model")), kernel(NEW, X))


@pytest.mark.parametrize("basis", [FullKernel(), Landmarks(20), RandomFeatures(32), Sketch(20)])
def test_sparse_rows(basis, tmp_path):
    rows = sparse.random_array((60, 8), density=0.3, rng=rng, format="csr")
    model = KernelRegressor(basis=basis, random_state=0).fit(rows, np.arange(60.0))
    assert_same(model, load(save(model, tmp_path / "model")), rows)


def test_column_names_of_frames_and_files(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["height", "width", "über"])
    model = KernelRegressor(basis=Landmarks(20), random_state=0).fit(frame, Y)
    loaded = load(save(model, tmp_path / "model"))
    assert_same(model, loaded, frame)
    assert loaded.feature_names_in_.tolist() == ["height", "width", "über"]
    found = loaded.predict(frame[["width", "height", "über"]])
    np.testing.assert_array_equal(found, model.predict(frame))

    frame.assign(y=Y[:, 0], note="text").to_csv(tmp_path / "rows.csv", index=False)
    model = KernelRegressor(basis=Landmarks(20), random_state=0).fit(frame, Y[:, 0])
    loaded = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(
        loaded.predict(tmp_path / "rows.csv"), model.predict(tmp_path / "rows.csv")
    )


def test_effective_dimension_of_the_full_kernel_and_a_given_alpha(tmp_path):
    model = KernelRegressor(alpha=1e-3).fit(X, Y)
    loaded = load(save(model, tmp_path / "model", moments=True))
    assert loaded.effective_dimension_ == model.effective_dimension_


def test_saving_changes_nothing_and_loading_twice_gives_two_models(tmp_path):
    points = X[:20].copy()
    model = KernelRegressor(basis=Landmarks(sampling=points)).fit(X, Y)
    before = model.predict(NEW)
    path = save(model, tmp_path / "model")
    one, two = load(path), load(path)
    one.dual_coef_[:] = 0.0
    np.testing.assert_array_equal(two.predict(NEW), before)
    np.testing.assert_array_equal(model.predict(NEW), before)
    np.testing.assert_array_equal(points, X[:20])


def test_a_loaded_model_can_be_saved_fitted_and_cloned(tmp_path):
    from sklearn.base import clone

    model = KernelClassifier(basis=Landmarks(20), random_state=0).fit(X, X[:, 0] > 0.5)
    loaded = load(save(model, tmp_path / "one"))
    again = load(save(loaded, tmp_path / "two"))
    assert_same(model, again, NEW)
    np.testing.assert_array_equal(clone(loaded).fit(X, X[:, 0] > 0.5).dual_coef_, model.dual_coef_)


@pytest.mark.parametrize("qid", [None, np.arange(90) % 9], ids=["all", "queries"])
def test_a_ranker(qid, tmp_path):
    model = KernelRanker(basis=Landmarks(20), pair_weighting="query", random_state=0)
    model.fit(X, Y[:, 0], qid)
    again = load(save(model, tmp_path / "ranker"))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert (again.n_queries_, again.n_skipped_queries_) == (1 if qid is None else 9, 0)
    assert again.get_params()["pair_weighting"] == "query"
    assert again.alpha_ == model.alpha_
    assert str(again.summary()) == str(model.summary())
    again = load(save(model, tmp_path / "sums", moments=True))
    assert again.effective_dimension_ == pytest.approx(model.effective_dimension_)
