"""A fit at another scale of X, y, weights or alpha is the same, or is refused with the cause."""

import warnings

import numpy as np
import pytest

from mercer import KernelClassifier, KernelRegressor, RandomFeatures
from mercer.columns import ColumnSums

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1]
W = rng.uniform(0.5, 2.0, len(X))
NEW = rng.normal(size=(9, 2))

FIXED = {"kernel": "gaussian", "alpha": 1e-3, "random_state": 0}
#: Learners by what looks at the scale of rows.
LEARNERS = {
    "full": {**FIXED, "basis": "full", "scale": None, "metric": None},
    "landmarks": {**FIXED, "basis": "landmarks", "scale": "standard", "metric": None},
    "features": {**FIXED, "basis": RandomFeatures(200), "scale": None, "metric": None},
    "laplacian": {
        **FIXED,
        "kernel": "laplacian_l1",
        "basis": "full",
        "scale": None,
        "metric": None,
    },
    "chosen alpha": {**FIXED, "alpha": "auto", "basis": "full", "scale": None, "metric": None},
    "shards": {**FIXED, "scale": "standard", "metric": None, "shards": 2, "combine": "average"},
    "search": {"random_state": 0},
}
POWERS = [-323, -310, -300, -250, -200, -151, -100, -20, 20, 100, 149, 200, 300, 307]
SCALES = [float(f"1e{power}") for power in POWERS]
#: What a refusal says.
CAUSES = {
    "x": r"largest absolute value of X must be 0 or between 1e-300 and 1e\+300, got .*change the",
    "y": r"largest absolute value of y must be 0 or between 1e-150 and 1e\+150, got .*change the",
    "weight": r"sample_weight must be at (most 1e\+100|least 1e-100), got .*divide all weights",
}


def learner(name):
    return KernelRegressor(**LEARNERS[name])


def predicted(name, *, x=1.0, y=1.0, weight=1.0):
    with np.errstate(all="ignore"):
        scaled = X * x, Y * y, W * weight, NEW * x
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "weights are not whole numbers")
        model = learner(name).fit(*scaled[:2], sample_weight=scaled[2])
        return model.predict(scaled[3]) / y


def refused(what, scale):
    """Whether the largest value, or the sum of the weights, is out of range."""
    with np.errstate(over="ignore", under="ignore"):
        largest = {"x": np.abs(X), "y": np.abs(Y), "weight": W}[what].max() * scale
        smallest = W.sum() * scale if what == "weight" else largest
    limit = {"x": 1e300, "y": 1e150, "weight": 1e100}[what]
    return largest > limit or smallest < 1 / limit


@pytest.fixture(scope="module")
def at_one():
    return {name: predicted(name) for name in LEARNERS}


def cases():
    """Return learners, what is scaled, and scales; a search takes longer, and gets fewer scales."""
    return [
        (name, what, scale)
        for name in LEARNERS
        for what in ("x", "y", "weight")
        for scale in (SCALES[::2] if name == "search" else SCALES)
    ]


@pytest.mark.parametrize(("name", "what", "scale"), cases())
def test_a_fit_at_another_scale_is_the_same_or_is_refused(name, what, scale, at_one):
    if refused(what, scale):
        with pytest.raises(ValueError, match=CAUSES[what]):
            predicted(name, **{what: scale})
        return
    found = predicted(name, **{what: scale})
    np.testing.assert_allclose(found, at_one[name], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "search"])
def test_one_weight_may_be_tiny_beside_the_others(name):
    tiny, none = W.copy(), W.copy()
    tiny[3], none[3] = 1e-320, 1e-30
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "weights are not whole numbers")
        found = [learner(name).fit(X, Y, sample_weight=w).predict(NEW) for w in (tiny, none)]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["full", "landmarks", "features", "shards"])
def test_alpha_may_be_as_small_as_floats_go_but_not_as_large(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isfinite(learner(name).set_params(alpha=1e-320).fit(X, Y).predict(NEW)).all()
        large = learner(name).set_params(alpha=1e150).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(large, Y.mean(), atol=1e-6)
    with pytest.raises(ValueError, match=r"alpha must be at most 1e\+150, got 1e\+308"):
        learner(name).set_params(alpha=1e308).fit(X, Y)


def test_alphas_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match=r"alphas must be at most 1e\+150, got 1e\+308"):
        learner("chosen alpha").set_params(alphas=[1.0, 1e308]).fit(X, Y)


@pytest.mark.parametrize("shards", [None, 2])
def test_a_late_row_of_y_that_is_too_large_is_refused(shards):
    y = Y.copy()
    y[-1] = 1e200
    with pytest.raises(ValueError, match=r"y must be 0 or between .*got 1e\+200"):
        learner("landmarks").set_params(shards=shards).fit(X, y)


@pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0])
@pytest.mark.parametrize("estimator", [KernelRegressor(), KernelClassifier()])
def test_weights_that_are_no_weights_are_refused(estimator, weight):
    weights = W.copy()
    weights[3] = weight
    with pytest.raises(ValueError, match="sample_weight"):
        estimator.fit(X, Y > 0, sample_weight=weights)


def test_the_spread_of_columns_of_very_different_scales():
    scales = np.array([1e-290, 1e-160, 1.0, 1e160, 1e290])
    rows = rng.normal(size=(40, 1)) * scales + scales
    parts = ColumnSums.of(rows[:11]) + ColumnSums.of(rows[11:])
    expected = (rows / scales).std(axis=0)
    np.testing.assert_allclose(parts.scale / scales, expected, rtol=1e-12)
    np.testing.assert_allclose(parts.mean / scales, (rows / scales).mean(axis=0), rtol=1e-12)
