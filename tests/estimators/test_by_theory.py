"""Sizes, stopping levels and penalties by theory: numbers of theorems, and what is refused."""

import numpy as np
import pytest

from mercer import (
    KCGM,
    Gaussian,
    ImportanceLabeller,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    Sketch,
    StopAtDiscrepancy,
    load,
    save,
)
from mercer.bases import BasisTransformer
from mercer.labelling.pool_penalty import TargetFacts, capacity
from mercer.labelling.pool_scores import PoolDimension
from mercer.rates import Exponents
from mercer.rates.krylov_rates import discrepancy
from mercer.rates.labelling_rates import Labelling, labelling_penalty
from mercer.systems import Spectrum

RNG = np.random.default_rng(0)
X = RNG.random((600, 2))
y = np.sin(6 * X[:, 0]) + 0.1 * RNG.standard_normal(600)


@pytest.mark.parametrize(
    ("basis", "worst"),
    [(Landmarks("theory"), 25), (RandomFeatures("theory"), 25), (Sketch("theory"), 25)],
)
def test_outside_an_estimator_the_worst_case_holds(basis, worst):
    """The square root of n: r = 1/2 and gamma = 1."""
    assert basis.wanted_size(625) == worst
    fitted = basis.set_params(kernel=Gaussian(0.5), random_state=0).fit(X)
    assert fitted.size == 25


@pytest.mark.parametrize("basis", [Landmarks("theory"), RandomFeatures("theory"), Sketch("theory")])
def test_inside_an_estimator_exponents_are_estimated(basis, tmp_path):
    model = KernelRegressor(Gaussian(0.3), basis, random_state=0).fit(X, y)
    reason = model.fit_.plan.reason
    assert reason.startswith("by theory for r = ")
    assert reason.endswith("estimated")
    assert 1 <= model.basis_.size <= 600
    assert "by theory" in str(model.summary())
    assert model.basis.n_components == "theory"  # the parameter stays as it is
    path = save(model, tmp_path / "model")
    np.testing.assert_allclose(load(path).predict(X), model.predict(X))


def test_leverage_needs_fewer_landmarks_than_uniform_draws():
    e = Exponents(r=0.5, gamma=0.4, alpha=0.9)
    uniform, scored = Landmarks().theory_size(10_000, e), Landmarks(None, "leverage")
    assert uniform == int(np.ceil(10_000 ** (0.9 / 1.4)))
    assert scored.theory_size(10_000, e) == int(np.ceil(10_000 ** (0.4 / 1.4)))


def test_where_a_theorem_does_not_hold_all_rows_are_landmarks():
    assert Landmarks().theory_size(500, Exponents(r=0.05, gamma=0.1, alpha=1.0)) == 500


def test_few_rows_and_rankings_have_the_worst_case():
    few = KernelRegressor(Gaussian(0.3), Landmarks("theory"), random_state=0).fit(X[:100], y[:100])
    assert few.basis_.size == 10
    assert "the worst case" in few.fit_.plan.reason
    ranker = KernelRanker(Gaussian(0.3), Landmarks("theory"), random_state=0).fit(X, y)
    assert ranker.basis_.size == 25


def test_a_constant_target_is_fitted_all_the_same():
    model = KernelRegressor(Gaussian(0.3), Landmarks("theory"), random_state=0)
    np.testing.assert_allclose(model.fit(X, np.full(600, 3.0)).predict(X), 3.0)


def test_shards_estimate_exponents_too():
    model = KernelRegressor(Gaussian(0.3), Landmarks("theory"), shards=3, random_state=0)
    assert model.fit(X, y).fit_.plan.reason.startswith("by theory")


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="must be a number, 'theory' or None, got 'many'"):
        KernelRegressor(Gaussian(0.3), Landmarks("many")).fit(X, y)
    with pytest.raises(ValueError, match="no theorem says how many functions BasisTransformer"):
        BasisTransformer().theory_size(10, Exponents(0.5, 1.0))


# -- the discrepancy rule ----------------------------------------------------------------------


@pytest.mark.parametrize(("zeta", "gamma"), [(0.5, 0.5), (0.1, 0.3), (1.0, 0.0), (0.0, 1.0)])
def test_the_threshold_is_equation_26(zeta, gamma):
    rule = StopAtDiscrepancy(zeta=zeta, gamma=gamma)
    n = 5000
    b = 1.0 if 2 * zeta + gamma > 1 else max(1.0, gamma * np.log(n))
    expected = (n ** (-1 / max(1, 2 * zeta + gamma)) * b) ** (zeta + 0.5)
    assert rule.threshold(n) == pytest.approx(expected)
    assert rule.threshold(n) == discrepancy(n, zeta=zeta, gamma=gamma)


def test_open_exponents_are_estimated_before_the_fit():
    rule = StopAtDiscrepancy(zeta="auto", gamma="auto")
    model = KernelRegressor(Gaussian(0.3), Landmarks(50), solver=KCGM(rule), random_state=0)
    model.fit(X, y)
    assert "discrepancy rule for zeta=" in model.fit_.solution.reason
    assert "auto" not in model.fit_.solution.reason
    assert model.solver.stop is rule
    assert rule.zeta == rule.gamma == "auto"
    with pytest.raises(ValueError, match="estimated by an estimator before its fit"):
        rule.threshold(100)


def test_one_exponent_can_be_given():
    rule = StopAtDiscrepancy(zeta="auto", gamma=0.3).known(0.7, 0.9)
    assert (rule.zeta, rule.gamma) == (0.7, 0.3)


# -- the penalty of a pool's scores ------------------------------------------------------------


def pool_of(values):
    values = np.sort(np.asarray(values, dtype=float))
    return PoolDimension(Spectrum(values, np.eye(len(values)), np.zeros((len(values), 1))), None)


def test_the_penalty_is_definition_4_2():
    pool = pool_of(np.arange(1, 400.0) ** -2)  # gamma = 1/2
    gamma = capacity(pool)
    assert gamma == pytest.approx(0.5, abs=0.06)
    trace = np.sum(np.arange(1, 400.0) ** (-2 * gamma))
    for n in (50, 500, 5000):
        found = TargetFacts(0.5, 0.2, 0.3).penalty(pool, n)
        wanted = labelling_penalty(
            n, Labelling(0.5, gamma, noise=0.2, trace=float(trace), radius=0.3)
        )
        assert found == pytest.approx(min(wanted, 1.0))


def test_less_noise_and_more_labels_lower_the_penalty():
    facts = {"r": 0.5, "noise": 0.1, "radius": 0.5}
    common = {"kernel": Gaussian(0.3), "alpha": "theory", "random_state": 0}
    found = ImportanceLabeller(budget=100, **common, **facts).fit(X)
    more = ImportanceLabeller(budget=400, **common, **facts).fit(X)
    quiet = ImportanceLabeller(budget=100, **common, **{**facts, "noise": 1e-4}).fit(X)
    assert more.alpha_ < found.alpha_
    assert quiet.alpha_ < found.alpha_


def test_a_pilot_stands_for_the_constants():
    rows = np.arange(0, 600, 10)
    labeller = ImportanceLabeller(Gaussian(0.3), alpha="theory", budget=100, random_state=0)
    found = labeller.fit(X, pilot=(X[rows], y[rows]))
    assert 0 < found.alpha_ < 1
    assert found._facts.r == 0.5  # too few rows for an estimate
    assert 0 < found._facts.noise < 0.5
    larger = labeller.fit(X, pilot=(X[:400], y[:400]))
    assert 0.01 <= larger._facts.r <= 1


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"alpha": "theory"}, {}, "needs r, noise, radius: pass r=, noise= and radius="),
        ({"alpha": "theory", "r": 0.5}, {}, "needs noise, radius"),
        ({"alpha": "theory", "r": 2, "noise": 1, "radius": 1}, {}, r"r must be in \(0, 1\], got 2"),
        ({"alpha": "theory"}, {"pilot": (X[:5], y[:5])}, "at least 10 rows with labels"),
        ({"alpha": "auto"}, {"pilot": (X, y)}, "a pilot is for alpha='theory'"),
        ({"alpha": "most"}, {}, "must be a positive number, 'auto' or 'theory'"),
    ],
)
def test_what_theory_lacks_is_said(settings, options, message):
    with pytest.raises(ValueError, match=message):
        ImportanceLabeller(Gaussian(0.3), **settings).fit(X, **options)
