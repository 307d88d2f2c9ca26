"""Criteria are the same from a tridiagonal form as from eigenvectors."""

from types import SimpleNamespace

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, KFold, Landmarks, LeaveOneOut
from mercer.leaving_out.one_at_a_time import REPAID, needs_vectors
from mercer.selection import AutoSelection
from mercer.systems.spectrum import Spectrum
from mercer.systems.tridiagonal import Tridiagonal

AUTO = AutoSelection(500)
CRITERIA = [AUTO, "gcv", KFold(3), LeaveOneOut(500)]


def rows(number=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (number, 3))
    Y = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1] * X[:, 2]])
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


def fitted(criterion, monkeypatch, smallest, dtype="float64", **settings):
    monkeypatch.setattr("mercer.systems.direct.TRIDIAGONAL_FROM", smallest)
    model = KernelRegressor(
        Gaussian(0.3),
        Landmarks(450),
        selection=criterion,
        dtype=dtype,
        metric=None,
        scale=None,
        intervals=None,
        random_state=1,
    )
    return model.set_params(**settings).fit(*rows())


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_alpha_and_predictions_are_the_same(criterion, intercept, monkeypatch):
    monkeypatch.setattr("mercer.leaving_out.rests_of_moments.PRECISION", 1e-7)
    known = fitted(criterion, monkeypatch, 10**6, fit_intercept=intercept)
    found = fitted(criterion, monkeypatch, 100, fit_intercept=intercept)
    assert found.fit_.solution.reason == "tridiagonal form"
    assert known.fit_.solution.reason == "eigendecomposition"
    np.testing.assert_allclose(
        found.cv_results_["mean_squared_error"],
        known.cv_results_["mean_squared_error"],
        rtol=1e-8,
    )
    assert found.alpha_ == pytest.approx(known.alpha_, rel=1e-8)
    assert found.effective_dimension_ == pytest.approx(known.effective_dimension_, rel=1e-8)
    X, _ = rows(50, seed=1)
    np.testing.assert_allclose(found.predict(X), known.predict(X), atol=1e-7)


def test_float32_scores_are_close_to_float64(monkeypatch):
    alphas = np.geomspace(1e-5, 1e-2, 8)
    rough = {"kernel": Gaussian(0.1), "alphas": alphas}  # no direction is below rounding
    known = fitted(AUTO, monkeypatch, 10**6, **rough)
    found = fitted(AUTO, monkeypatch, 100, dtype="float32", **rough)
    assert found.fit_.solution.reason == "tridiagonal form"
    np.testing.assert_allclose(
        found.cv_results_["mean_squared_error"],
        known.cv_results_["mean_squared_error"],
        rtol=1e-4,
    )


def test_rows_without_a_label(monkeypatch):
    X, Y = rows()
    Y[::7] = np.nan
    scores = []
    for smallest in (10**6, 100):
        model = fitted(AUTO, monkeypatch, smallest).fit(X, Y)
        scores.append(model.cv_results_["mean_squared_error"])
    np.testing.assert_allclose(*scores, rtol=1e-8)


def test_no_eigenvectors_are_computed_for_a_fit_with_intervals(monkeypatch):
    def refused(A, b, cutoff=False):
        assert len(A) < 400, "an eigendecomposition of the system"
        return found(A, b, cutoff)

    found = Spectrum.of
    monkeypatch.setattr(Spectrum, "of", refused)
    model = fitted(AUTO, monkeypatch, 100, intervals="cv+")
    assert model.effective_dimension_ > 0
    assert model.predict(rows(5)[0], return_std=True)[1].shape[0] == 5


def test_eigenvectors_are_computed_for_many_rows_and_for_queries(monkeypatch):
    whitener, targets = SimpleNamespace(size=1000), SimpleNamespace(pairs=None)
    again = SimpleNamespace(rows=SimpleNamespace(n_rows=10_000), targets=targets)
    system = SimpleNamespace(again=again, whitener=whitener)
    assert needs_vectors(system, None)
    assert needs_vectors(system, REPAID * 1000 + 1)
    assert not needs_vectors(system, REPAID * 1000)
    targets.pairs = object()
    assert needs_vectors(system, 10)
    assert not needs_vectors(SimpleNamespace(again=None), None)
    reduced = []
    monkeypatch.setattr(Tridiagonal, "of_regular", lambda *args: reduced.append(1))
    fitted(LeaveOneOut(), monkeypatch, 100)
    assert not reduced


@pytest.mark.parametrize("given", [None, np.geomspace(1e-6, 1e-1, 5)], ids=["path", "given"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("wide", [1e-9, 1.0], ids=["one by one", "by change"])
def test_folds_by_every_way_are_folds_by_eigenvectors(
    given, intercept, weighted, wide, monkeypatch
):
    X, Y = rows()
    Y[::7] = np.nan  # labels are fewer than rows
    weight = np.random.default_rng(1).integers(0, 4, len(X)) if weighted else None
    settings = {"fit_intercept": intercept, "alphas": given, "unlabelled": "use"}
    monkeypatch.setattr("mercer.leaving_out.rests_of_moments.PRECISION", 1e-7)
    found = []
    for smallest, share in ((10**6, 1e-9), (100, wide)):
        monkeypatch.setattr("mercer.leaving_out.errors_on_folds.WIDE", share)
        model = fitted(KFold(5), monkeypatch, smallest, **settings)
        found.append(model.fit(X, Y, sample_weight=weight))
    for name in ["mean_squared_error", *(f"split{k}_squared_error" for k in range(5))]:
        known, ours = (model.cv_results_[name] for model in found)
        np.testing.assert_allclose(ours, known, rtol=1e-8)
    assert found[0].alpha_ == pytest.approx(found[1].alpha_, rel=1e-8)
