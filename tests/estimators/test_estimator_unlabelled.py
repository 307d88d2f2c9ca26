"""Rows without labels enter A and not b."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import (
    KCGM,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    LeaveOneOut,
    MercerWarning,
    RandomFeatures,
    StopAfter,
    StopByFolds,
    StopOnHeldOut,
)
from mercer.selection import AutoSelection

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 2))
Y = np.sin(3 * X[:, 0]) + X[:, 1] + 4
KNOWN = RNG.random(300) < 0.2
WEIGHT = RNG.integers(1, 4, 300).astype(float)
NEW = RNG.uniform(-1, 1, (40, 2))
KERNEL, POINTS, ALPHA = Gaussian(0.8), X[::12], 1e-3
PARTLY = np.where(KNOWN, Y, np.nan)


def model(cls=KernelRegressor, **settings):
    settings = {"basis": Landmarks(sampling=POINTS), "alpha": ALPHA, **settings}
    settings = {"unlabelled": "use", **settings}
    return cls(KERNEL, dtype="float64", random_state=0, **settings)


def by_hand(weight, intercept):
    """Solve with A of all rows and b of the labelled ones, each by its own weight."""
    H, w, own = KERNEL(X, POINTS), weight, weight * KNOWN
    y = np.where(KNOWN, Y, 0.0)
    m, m_own = w @ H / w.sum(), own @ H / own.sum()
    mean = own @ y / own.sum()
    A, b = H.T @ (w[:, None] * H) / w.sum(), H.T @ (own * y) / own.sum()
    if intercept:
        A, b = A - np.outer(m, m), b - m_own * mean
    c = np.linalg.solve(A + ALPHA * KERNEL(POINTS), b)
    return KERNEL(NEW, POINTS) @ c + (mean - m @ c if intercept else 0.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_all_rows_are_in_A_and_labelled_rows_in_b(weighted, intercept):
    weight = WEIGHT if weighted else np.ones(300)
    found = quietly(model(fit_intercept=intercept), X, PARTLY, WEIGHT if weighted else None)
    np.testing.assert_allclose(found.predict(NEW), by_hand(weight, intercept), rtol=1e-6, atol=1e-8)
    assert found.moments_.target_rows == KNOWN.sum()
    assert found.moments_.rows == 300


def quietly(estimator, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return estimator.fit(*arguments, **more)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_rows_without_labels_may_come_apart(kind):
    make = {"array": np.asarray, "frame": lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
            "sparse": sparse.csr_matrix}[kind]  # fmt: skip
    dropping = model(unlabelled="drop")  # only rows whose label is missing, not these
    apart = quietly(dropping, make(X[KNOWN]), Y[KNOWN], X_unlabelled=make(X[~KNOWN]))
    together = quietly(model(), make(X), PARTLY)
    np.testing.assert_allclose(apart.predict(make(NEW)), together.predict(make(NEW)), rtol=1e-7)
    if kind == "frame":
        assert apart.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"]], ids=["numbers", "text"])
def test_classes_stay_what_they_are(labels):
    classes = np.array(labels)[np.digitize(X[:, 0], [-0.3, 0.4])]
    found = quietly(model(KernelClassifier), X[KNOWN], classes[KNOWN], X_unlabelled=X[~KNOWN])
    assert found.classes_.tolist() == labels
    assert found.classes_.dtype.kind == classes.dtype.kind
    assert found.score(X, classes) > 0.85
    mixed = classes.astype(object)
    mixed[~KNOWN] = None
    again = quietly(model(KernelClassifier), X, mixed)
    np.testing.assert_allclose(again.decision_function(NEW), found.decision_function(NEW))


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_files_may_leave_labels_empty(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=PARTLY)
    frame.to_parquet(tmp_path / "rows.parquet")
    found = model().fit(tmp_path / "rows.parquet", "y")
    np.testing.assert_allclose(found.predict(NEW), model().fit(X, PARTLY).predict(NEW), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@pytest.mark.parametrize("selection", ["gcv", "kfold"])
@pytest.mark.parametrize("basis", ["auto", RandomFeatures(60)], ids=["auto", "features"])
def test_alpha_is_chosen(basis, selection):
    found = model(basis=basis, alpha="auto", selection=selection).fit(X, PARTLY)
    assert np.sqrt(np.mean((found.predict(X) - Y) ** 2)) < 0.5  # A and b are of other rows: not 0
    steps = model(basis=basis, solver=KCGM(StopAfter(8)), alpha="auto").fit(X, PARTLY)
    assert np.sqrt(np.mean((steps.predict(X) - Y) ** 2)) < 0.5


@pytest.mark.parametrize("labels", ["numbers", "classes"])
def test_rows_without_labels_are_left_out_by_default(labels, tmp_path):
    y, cls = PARTLY, KernelRegressor
    if labels == "classes":
        y, cls = np.where(KNOWN, np.where(X[:, 0] > 0, "a", "b"), None), KernelClassifier
    expected = model(cls).fit(X[KNOWN], y[KNOWN], WEIGHT[KNOWN])
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(w=WEIGHT, y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    inputs = [
        (X, y, WEIGHT),
        *((tmp_path / f"rows.{kind}", "y", "w") for kind in ("parquet", "csv")),
    ]
    for given in inputs:
        for shards in (None, 3):
            with pytest.warns(MercerWarning, match=f"{(~KNOWN).sum()} of 300 rows have no label"):
                found = model(cls, unlabelled="drop", shards=shards).fit(*given)
            assert found.moments_.rows == KNOWN.sum()
            np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_rows_come_and_go():
    found = model().partial_fit(X[:200], PARTLY[:200]).partial_fit(X[200:], PARTLY[200:])
    np.testing.assert_allclose(found.predict(NEW), model().fit(X, PARTLY).predict(NEW), rtol=1e-6)


REFUSED = {
    "no row has a label": ({}, (X, np.full(300, np.nan)), {}),
    "unlabelled rows need moments": ({"solver": "pcg"}, (X, PARTLY), {}),
    "2 columns of X": ({}, (X, Y), {"X_unlabelled": X[:, :1]}),
    "must be rows": ({}, (X, Y), {"X_unlabelled": X[0]}),
    "infinity": ({}, (X, np.where(KNOWN, np.inf, Y)), {}),
    "NaN at row": ({}, (X, np.c_[Y, PARTLY]), {}),
}


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_is_refused(said):
    settings, rows, more = REFUSED[said]
    with pytest.raises(ValueError, match=said):
        model(**settings).fit(*rows, **more)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_folds_without_labels_are_left_out():
    """Few labels do not reach all folds: those without have no error, which is not a NaN."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 6, np.sin(2 * rows[:, 0]), np.nan)
    settings = {"basis": Landmarks(20), "random_state": 0}
    by_steps = KernelRegressor(solver=KCGM(StopByFolds(5)), **settings).fit(rows, y)
    assert np.isfinite(by_steps.validation_curve_).all()
    by_alpha = KernelRegressor(selection="kfold", **settings).fit(rows, y)
    assert np.isfinite(by_alpha.cv_results_["mean_squared_error"]).all()
    held_out = KCGM(StopOnHeldOut(0.05))
    y[1:] = np.nan
    with pytest.raises(ValueError, match="needs training and held-out rows"):
        KernelRegressor(solver=held_out, **settings).fit(rows, y)


def test_leave_one_out_leaves_out_labels_and_keeps_rows():
    """Without landmarks at rows, it is what the default does on all of them."""
    found = []
    for selection in (LeaveOneOut(), AutoSelection(len(X))):
        model = KernelRegressor(basis=RandomFeatures(50), selection=selection, random_state=0)
        model.set_params(unlabelled="use", metric=None, scale=None, intervals=None).fit(X, PARTLY)
        found.append(model.cv_results_["mean_squared_error"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
