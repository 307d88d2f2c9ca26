"""Ill-posed problems have finite answers: never NaN, never an error from deep inside.

A sum of squares and a penalty is at most what the constant alone gives, so no fit with an intercept
is worse on its own rows than their mean: that is asserted of every fit, whatever its data.
"""

from itertools import product

import numpy as np
import pytest

from cases import DTYPES, classifier, regressor
from mercer import (
    KCGM,
    ArcCosine,
    CutOff,
    Gaussian,
    GradientDescent,
    Landmarks,
    LaplacianL1,
    Linear,
    Matern,
    PeriodicSpline,
    Polynomial,
    RandomFeatures,
    Sketch,
    Sobolev,
    StopAfter,
)
from mercer.contracts import Status
from pairs import over_each, over_pairs

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::mercer.MercerWarning"),
]

RNG = np.random.default_rng(0)
PLAIN = RNG.random((24, 3))
SMOOTH = np.sin(4 * PLAIN.sum(axis=1)) + 0.1 * RNG.standard_normal(24)
NEW = np.vstack([RNG.random((6, 3)), [[100.0, -100.0, 0.0]]])
SCALES = np.array([1e-6, 1.0, 1e6])

#: name -> rows, targets, new rows
PROBLEMS = {
    "plain": (PLAIN, SMOOTH, NEW),
    "duplicated rows": (np.vstack([PLAIN[:8]] * 3), SMOOTH, NEW),
    "constant columns": (PLAIN * [1.0, 0.0, 0.0] + [0.0, 7.0, 0.0], SMOOTH, NEW),
    "all rows equal": (np.tile(PLAIN[:1], (24, 1)), SMOOTH, NEW),
    "all rows zero": (np.zeros((24, 3)), SMOOTH, NEW),
    "rows far from zero": (PLAIN + 1e6, SMOOTH, NEW + 1e6),
    "columns of wild scales": (PLAIN * SCALES, SMOOTH, NEW * SCALES),
    "one row": (PLAIN[:1], SMOOTH[:1], NEW),
    "two rows": (PLAIN[:2], SMOOTH[:2], NEW),
    "fewer rows than functions": (PLAIN[:5], SMOOTH[:5], NEW),
    "y constant": (PLAIN, np.full(24, 3.7), NEW),
    "y zero": (PLAIN, np.zeros(24), NEW),
    "y far from zero": (PLAIN, SMOOTH + 1e9, NEW),
    "y tiny": (PLAIN, 1e-30 * SMOOTH, NEW),
    "y huge": (PLAIN, 1e30 * SMOOTH, NEW),
    "an outlier in X": (np.vstack([PLAIN[:-1], [[1e8, 0.0, 0.0]]]), SMOOTH, NEW),
    "an outlier in y": (PLAIN, np.append(SMOOTH[:-1], 1e12), NEW),
}
BASES = {
    "full": lambda: "full",
    "landmarks": lambda: Landmarks(8, random_state=0),
    "duplicated landmarks": lambda: Landmarks(sampling=np.vstack([PLAIN[:4], PLAIN[:4]])),
    "random features": lambda: RandomFeatures(20, random_state=0),
    "sketch": lambda: Sketch(8, random_state=0),
}
ALPHAS = [0.0, 1e-12, 1e-6, 1.0, 1e6, "auto"]
SHORT = [0.0, 1e-6, "auto"]
OF_TWO_ROWS = [name for name in PROBLEMS if name != "one row"]
over_bases = pytest.mark.parametrize("basis", BASES)
over_dtypes = pytest.mark.parametrize("dtype", DTYPES)


def assert_finite(model, *parts):
    for rows in parts:
        assert np.isfinite(model.predict(rows)).all()
    assert np.isfinite(model.dual_coef_).all()


def assert_sane(model, X, y, new, slack):
    """Predictions are finite, and on the rows of the fit no worse than the mean, or zero."""
    assert_finite(model, X, new)
    spread = np.sqrt(np.mean((y - (y.mean() if model.fit_intercept else 0.0)) ** 2))
    error = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert error <= (1 + slack) * spread + 1e-6 * np.abs(y).max()
    if model.fit_.path is None:
        assert np.isfinite(model.effective_dimension_)


@over_pairs(name=PROBLEMS, basis=BASES, dtype=DTYPES, alpha=ALPHAS, intercept=[True, False])
def test_every_fit_is_finite_and_no_worse_than_the_mean(name, basis, dtype, alpha, intercept):
    X, y, new = PROBLEMS[name]
    model = regressor(
        basis=BASES[basis](), alpha=alpha, dtype=dtype, fit_intercept=intercept, random_state=0
    )
    assert_sane(model.fit(X, y), X, y, new, 1e-6 if dtype == "float64" else 1e-2)
    status = model.fit_.solution.status
    assert status.succeeded or (dtype == "float32" and status is Status.COARSE)


@over_pairs(name=OF_TWO_ROWS, basis=BASES, selection=["loo", "kfold"])
def test_every_criterion_chooses_a_fit_that_is_finite(name, basis, selection):
    X, y, new = PROBLEMS[name]
    model = regressor(basis=BASES[basis](), selection=selection, random_state=0)
    assert_sane(model.fit(X, y), X, y, new, 1e-6)
    assert not np.isnan(model.cv_results_["mean_squared_error"]).any()


SOLVERS = {
    "cut-off": CutOff(),
    "kcgm": KCGM(StopAfter(6)),
    "kcgm to the end": KCGM(StopAfter(60)),
    "kcgm by discrepancy": KCGM("discrepancy"),
    "gradient descent": GradientDescent(StopAfter(50)),
    "accelerated": GradientDescent(StopAfter(50), accelerated=True),
}


@over_pairs(name=PROBLEMS, basis=BASES, dtype=DTYPES, solver=SOLVERS, alpha=["auto", 1e-3])
def test_every_solver_is_finite_and_no_worse_than_the_mean(name, basis, dtype, solver, alpha):
    X, y, new = PROBLEMS[name]
    model = regressor(
        basis=BASES[basis](), alpha=alpha, dtype=dtype, solver=SOLVERS[solver], random_state=0
    )
    assert_sane(model.fit(X, y), X, y, new, 1e-6 if dtype == "float64" else 1e-2)
    status = model.fit_.solution.status
    coarse = dtype == "float32" and status is Status.COARSE  # it was asked for, and says so
    assert status.succeeded or coarse or solver == "kcgm by discrepancy"


@over_pairs(
    name=OF_TWO_ROWS, basis=BASES, stop=["kfold", "held_out"], solver=[KCGM, GradientDescent]
)
def test_every_rule_chooses_steps_that_are_finite(name, basis, stop, solver):
    X, y, new = PROBLEMS[name]
    solver = solver(stop, max_steps=60)
    model = regressor(basis=BASES[basis](), solver=solver, random_state=0)
    assert_sane(model.fit(X, y), X, y, new, 1e-6)
    assert not np.isnan(model.validation_curve_).any()


@over_each(name=PROBLEMS, how=product(BASES, SHORT))
def test_weights_of_wild_scales_are_finite(name, how):
    (X, y, new), (basis, alpha) = PROBLEMS[name], how
    w = np.geomspace(1e-8, 1e8, len(X))
    model = regressor(basis=BASES[basis](), alpha=alpha, random_state=0).fit(X, y, w)
    assert_finite(model, X, new)


KERNELS = [
    LaplacianL1(),
    Matern(0.5),
    Matern(2.5),
    Polynomial(3),
    Linear(),
    ArcCosine(0),
    ArcCosine(1),
    PeriodicSpline(),
    Gaussian() + Linear(),
    Gaussian() * ArcCosine(1),
]


@over_pairs(name=PROBLEMS, kernel=KERNELS, basis=["full", "landmarks"], alpha=SHORT)
def test_every_kernel_is_finite(name, kernel, basis, alpha):
    X, y, new = PROBLEMS[name]
    assert_finite(regressor(kernel, BASES[basis](), alpha, random_state=0).fit(X, y), X, new)


def test_the_sobolev_kernel_without_a_penalty():
    X = np.vstack([PLAIN, PLAIN])
    for basis in ("full", "landmarks"):
        model = regressor(Sobolev(), BASES[basis](), 0.0, random_state=0)
        assert np.isfinite(model.fit(X, np.tile(SMOOTH, 2)).predict(PLAIN)).all()


@over_each(name=OF_TWO_ROWS, how=product(BASES, DTYPES, SHORT))
def test_every_classifier_is_finite(name, how):
    (X, y, new), (basis, dtype, alpha) = PROBLEMS[name], how
    labels = np.arange(len(y)) % 3
    model = classifier(basis=BASES[basis](), alpha=alpha, dtype=dtype, random_state=0)
    found = model.fit(X, labels).predict_proba(new)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)


@over_each(
    name=PROBLEMS,
    how=product(["landmarks", "duplicated landmarks", "random features"], DTYPES, SHORT),
)
def test_rows_that_come_and_go_leave_a_finite_fit(name, how):
    (X, y, new), (basis, dtype, alpha) = PROBLEMS[name], how
    model = regressor(basis=BASES[basis](), alpha=alpha, dtype=dtype, random_state=0)
    assert_finite(model.partial_fit(X, y).partial_fit(X, y).forget(X, y), X, new)


@pytest.mark.parametrize("basis", ["full", "landmarks"])
@over_dtypes
def test_values_that_overflow_are_refused_in_words(basis, dtype):
    X = 1e30 * PLAIN
    model = regressor(Polynomial(9), BASES[basis](), 1e-3, dtype=dtype, random_state=0)
    with pytest.raises(ValueError, match=r"overflow.*scale the columns of X"):
        model.fit(X, SMOOTH)


@over_bases
def test_predicting_far_away_is_finite(basis):
    model = regressor(basis=BASES[basis](), random_state=0).fit(PLAIN, SMOOTH)
    for distance in (1e3, 1e10, 1e100, 1e200):
        assert np.isfinite(model.predict(np.full((2, 3), distance))).all()


def test_rows_so_large_that_their_squares_overflow_are_fitted_all_the_same():
    X = 1e200 * PLAIN
    for basis in BASES.values():
        model = regressor(Gaussian(1e200), basis(), 1e-6, random_state=0).fit(X, SMOOTH)
        assert np.isfinite(model.predict(X)).all()


@over_dtypes
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_unit_of_y_does_not_matter(dtype, scale):
    for basis in BASES.values():
        settings = {"basis": basis(), "dtype": dtype, "random_state": 0}
        plain = regressor(**settings).fit(PLAIN, SMOOTH).predict(NEW)
        scaled = regressor(**settings).fit(PLAIN, scale * SMOOTH).predict(NEW)
        np.testing.assert_allclose(scaled / scale, plain, rtol=1e-4, atol=1e-4)


def test_interpolating_without_a_penalty():
    """A narrow kernel has a function for every row: without a penalty it goes through all."""
    for basis in ("full", Landmarks(sampling=PLAIN)):
        model = regressor(Gaussian(0.1), basis, 0.0).fit(PLAIN, SMOOTH)
        np.testing.assert_allclose(model.predict(PLAIN), SMOOTH, atol=1e-6)
