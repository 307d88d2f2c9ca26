"""Float32 sums that hide what a fit needs: float64 takes over, or the status says so."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import mercer.forms
from mercer import Gaussian, KernelRegressor, Landmarks, MercerWarning, PreconditionedCG
from mercer.contracts import Status

RNG = np.random.default_rng(0)
X = RNG.random((2000, 2))
Y = np.sin(5 * X.sum(axis=1)) + 0.05 * RNG.standard_normal(2000)


@pytest.fixture
def noisy(monkeypatch):
    """Sums in float32 that are far noisier than they are: a large basis in a small one."""
    original = mercer.forms.sum_moments
    made = []

    def noisy_sums(rows, targets, basis, *rest):
        folds = original(rows, targets, basis, *rest)
        made.append(basis.precision_)
        if basis.precision_ == "float64":
            return folds
        noise = np.random.default_rng(1).standard_normal(folds[0].gram.shape) * 1e-3
        return [replace(fold, gram=fold.gram + (noise + noise.T) * fold.rows) for fold in folds]

    monkeypatch.setattr(mercer.forms, "sum_moments", noisy_sums)
    monkeypatch.setattr("mercer.plan.plan.FLOAT64_WORK", 0.0)
    return made


def model(**settings):
    return KernelRegressor(Gaussian(0.1), Landmarks(60), random_state=0, **settings)


@pytest.mark.parametrize("alpha", [1e-7, "auto"])
def test_float64_takes_over(noisy, alpha):
    found = model(alpha=alpha).fit(X, Y)
    assert noisy == ["float32", "float64"]
    assert found.basis_.precision_ == "float64"
    assert found.fit_.solution.status.succeeded
    known = model(alpha=alpha, dtype="float64").fit(X, Y)
    np.testing.assert_allclose(found.predict(X), known.predict(X), atol=1e-6)


def test_float32_that_was_asked_for_says_so(noisy):
    with pytest.warns(MercerWarning, match="hides"):
        found = model(alpha=1e-7, dtype="float32").fit(X, Y)
    assert noisy == ["float32"]
    assert found.fit_.solution.status is Status.COARSE


@pytest.mark.parametrize("solver", ["ridge", PreconditionedCG(0.03)], ids=str)
def test_float32_says_what_it_left_out_where_that_matters(solver):
    """Functions below its cut are dropped: a small alpha would have used them."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1500, 2))
    y = np.sin(rows.sum(axis=1)) + 0.01 * rng.standard_normal(1500)
    plain = {"metric": None, "scale": None, "columns": None, "intervals": None, "random_state": 0}
    for alpha, matters in ((1e-8, True), (1e-3, False)):
        common = {"kernel": Gaussian(1.5), "basis": Landmarks(40), "alpha": alpha, **plain}
        wide = KernelRegressor(**common, solver="ridge", dtype="float64").fit(rows, y)
        narrow = KernelRegressor(**common, solver="ridge", dtype="float32").fit(rows, y)
        apart = np.std(narrow.predict(rows) - wide.predict(rows))
        assert narrow.basis_.n_dropped_ > wide.basis_.n_dropped_
        assert (apart > 0.005) == matters
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = KernelRegressor(**common, solver=solver, dtype="float32").fit(rows, y)
        assert (found.fit_.solution.status is Status.COARSE) == matters
        assert any("were left out" in str(one.message) for one in caught) == matters
