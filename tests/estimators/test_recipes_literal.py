"""Each recipe against the formula of its paper, written out, on shards of unequal sizes."""

import numpy as np
import pytest

import reference_recipes as paper
from cases import sketch_matrix
from mercer import (
    KCGM,
    Gaussian,
    GradientDescent,
    PreconditionedCG,
    StopAfter,
    StopAtPenalty,
    recipe,
)
from mercer.bases import Landmarks, Sketch
from mercer.recipes import RECIPES

RNG = np.random.default_rng(0)
SIZES = [12, 18, 23, 37]
SHARD = RNG.permutation(np.repeat(np.arange(4), SIZES))
X = RNG.uniform(-1, 1, (90, 2))
Y = np.sin(3 * X[:, 0]) + X[:, 1] + 2 + 0.1 * RNG.standard_normal(90)  # not centered
NEW = RNG.uniform(-1, 1, (15, 2))
SIGMA, LAM, M, STEPS = 0.7, 1e-2, 8, 3
K = paper.gaussian(X, X, SIGMA)
K_NEW = paper.gaussian(NEW, X, SIGMA)
PARTS = [np.flatnonzero(number == SHARD) for number in range(4)]


def made(name, **settings):
    """The recipe with a Gaussian kernel, in float64."""
    if RECIPES[name].combine is not None:
        settings["shards"] = None  # labels say them
    if name not in EXACT:
        settings.setdefault("n_components", M)
    settings = {"kernel": Gaussian(SIGMA), "dtype": "float64", "random_state": 1, **settings}
    return recipe(name, **settings)


def fitted(name, *rows, **settings):
    """The recipe, fitted to these or all rows, in the shards."""
    labels = {} if RECIPES[name].combine is None else {"shard_labels": SHARD}
    return made(name, **settings).fit(*(rows or (X, Y)), **labels)


def features(model, rows):
    """The random features of a fitted model, a function and a row at a time."""
    drawn = model.basis_.features_
    return paper.fourier_features(rows, 2 * np.pi * drawn.turns, 2 * np.pi * drawn.phase)


def at(points):
    """K at all rows, at new rows and at points themselves."""
    return (paper.gaussian(rows, points, SIGMA) for rows in (X, NEW, points))


# -- in one place ----------------------------------------------------------------------------------


def krr():
    return fitted("KRR", alpha=LAM), K_NEW @ paper.kernel_ridge(K, Y, LAM)


def krr_rf():
    model = fitted("KRR-RF", alpha=LAM)
    w = paper.feature_ridge(features(model, X), Y, LAM)
    return model, features(model, NEW) @ w


def krr_nystroem(name="KRR-Nystroem", **settings):
    model = fitted(name, alpha=LAM, **settings)
    assert len(model.basis_.landmarks_) == M
    K_nM, K_new, K_MM = at(model.basis_.landmarks_)
    return model, K_new @ paper.nystroem(K_nM, K_MM, Y, LAM)


def kcgm():
    model = fitted("KCGM", solver=KCGM(StopAfter(STEPS)))
    return model, K_NEW @ paper.kcgm(K, Y, STEPS)


def nystroem_kcgm(name="Nystroem KCGM"):
    model = fitted(name, solver=KCGM(StopAfter(STEPS)))
    K_nM, K_new, K_MM = at(model.basis_.landmarks_)
    return model, K_new @ paper.projected_kcgm(K_nM, K_MM, Y, STEPS)


def sketched_kcgm():
    model = fitted("sketched KCGM", solver=KCGM(StopAfter(STEPS)))
    G = sketch_matrix(model.basis_)
    assert G.shape == (M, 90)
    return model, K_NEW @ G.T @ paper.projected_kcgm(K @ G.T, G @ K @ G.T, Y, STEPS)


def gradient_descent():
    model = fitted("GD", solver=GradientDescent(StopAfter(20), step_size=0.5))
    phi = features(model, X)
    g = paper.descent(phi.T @ phi / 90, phi.T @ Y / 90, 0.5, 20)
    return model, features(model, NEW) @ g


# -- over shards -----------------------------------------------------------------------------------


def dkrr():
    model = fitted("DKRR", alpha=LAM)
    local = []
    for rows in PARTS:
        a = paper.kernel_ridge(K[np.ix_(rows, rows)], Y[rows], LAM)
        local.append(K_NEW[:, rows] @ a)
    return model, paper.averaged(local, SIZES)


def dnystroem():
    model = fitted("DNystroem", alpha=LAM)
    K_nM, K_new, K_MM = at(model.basis_.landmarks_)
    beta = [paper.nystroem(K_nM[rows], K_MM, Y[rows], LAM) for rows in PARTS]
    return model, K_new @ paper.averaged(beta, SIZES)


def dkrr_rf():
    model = fitted("DKRR-RF", alpha=LAM)
    phi = features(model, X)
    w = [paper.feature_ridge(phi[rows], Y[rows], LAM) for rows in PARTS]
    return model, features(model, NEW) @ paper.averaged(w, SIZES)


def dc_ny(monkeypatch):
    local, drawn = [], recorded(monkeypatch, Landmarks, "landmarks_")
    model = fitted("DC-NY", alpha=LAM)
    for rows in PARTS:
        (points,) = (found for found in drawn if contained(found, X[rows]))
        assert len(points) == M
        K_nM, K_new, K_MM = at(points)
        local.append(K_new @ paper.nystroem(K_nM[rows], K_MM, Y[rows], LAM))
    return model, paper.averaged(local, SIZES)


def dc_sketch(monkeypatch):
    local, bases = [], recorded(monkeypatch, Sketch)
    model = fitted("DC-Sketch", alpha=LAM)
    for rows in PARTS:
        (basis,) = (found for found in bases if contained(found.points_, X[rows]))
        np.testing.assert_array_equal(basis.points_, X[rows])
        a = paper.sketched_ridge(sketch_matrix(basis), K[np.ix_(rows, rows)], Y[rows], LAM)
        local.append(K_NEW[:, rows] @ a)
    return model, paper.averaged(local, SIZES)


def recorded(monkeypatch, basis, attribute=None):
    """Every basis of a kind that is fitted from now on, or an attribute of each."""
    found, fit = [], basis.fit_source

    def recording(self, *arguments, **more):
        result = fit(self, *arguments, **more)
        found.append(result if attribute is None else getattr(result, attribute))
        return result

    monkeypatch.setattr(basis, "fit_source", recording)
    return found


def contained(points, rows):
    return set(map(tuple, points)) <= set(map(tuple, rows))


def semi_supervised():
    known = np.random.default_rng(5).random(90) < 0.4
    model = fitted("DKRR-RF semi-supervised", X, np.where(known, Y, np.nan), alpha=LAM)
    phi, w = features(model, X), []
    for rows in PARTS:
        w.append(paper.feature_ridge(phi[rows], paper.with_zeros(Y[rows], known[rows]), LAM))
    labelled = [int(known[rows].sum()) for rows in PARTS]
    assert len(set(labelled)) > 1
    assert min(labelled) > 0
    return model, features(model, NEW) @ paper.averaged(w, labelled)


# -- importance labelling --------------------------------------------------------------------------

BUDGET = 40


def draws(learner):
    """The rows of all draws, one that was drawn twice twice, and their probabilities."""
    rows = np.repeat(learner.indices_, learner.labeller_.count_)
    assert len(rows) == BUDGET > len(learner.indices_)
    return rows, learner.labeller_.probability_[rows]


def cred():
    model = fitted("CRED", alpha=LAM, budget=BUDGET)
    rows, q = draws(model)
    expected = paper.probabilities(paper.kernel_contributions(K, LAM))
    np.testing.assert_allclose(model.labeller_.probability_, expected, rtol=1e-7)
    a = paper.weighted_kernel_ridge(K[np.ix_(rows, rows)], Y[rows], q, 90, LAM)
    return model, K_NEW[:, rows] @ a


def cred_gd(**settings):
    model = fitted("CRED-GD", alpha=LAM, budget=BUDGET, **settings)
    rows, q = draws(model)
    own = K[np.ix_(rows, rows)]
    eta = model.model.solver.step_size
    eta = 1 / paper.kernel_norm(own, q, 90) if eta == "auto" else eta
    steps = paper.steps_for(eta, LAM)
    assert model.model_.best_step_ == steps
    return model, K_NEW[:, rows] @ paper.kernel_descent(own, Y[rows], q, 90, eta, steps)


def rf_cred_gd(**settings):
    model = fitted("RF-CRED-GD", alpha=LAM, budget=BUDGET, **settings)
    rows, q = draws(model)
    phi = features(model.labeller_, X)  # those of the scores
    expected = paper.probabilities(paper.contributions(phi, LAM))
    np.testing.assert_allclose(model.labeller_.probability_, expected, rtol=1e-8)
    A, b = paper.weighted_moments(phi[rows], Y[rows], q, 90)
    eta = model.model.solver.step_size
    eta = 1 / np.linalg.eigvalsh(A)[-1] if eta == "auto" else eta
    steps = paper.steps_for(eta, LAM)
    assert model.model_.best_step_ == steps
    return model, features(model.labeller_, NEW) @ paper.descent(A, b, eta, steps)


def in_steps_of_a_size(method):
    """The same with eta given."""
    return lambda: method(solver=GradientDescent(StopAtPenalty(), step_size=0.3))


# -- baselines and rankings ------------------------------------------------------------------------


def ktr3():
    model = fitted("KTR3", alpha=LAM, random_state=3)
    assert 20 < len(model.used_) < 60  # or n and k would be hard to tell apart
    Y_largest = np.abs(Y).max()
    f = K_NEW @ paper.truncated_ridge(K, Y, model.used_, LAM)
    return model, np.array([min(Y_largest, max(-Y_largest, value)) for value in f])


def sssr():
    labelled = np.arange(90) < 30
    model = recipe("SSSR", n_components=90, n_functions=5, kernel=Gaussian(SIGMA), random_state=1)
    model.fit(X[labelled], Y[labelled], X_unlabelled=X[~labelled])
    return model, K_NEW @ paper.eigenfunction_regression(K, Y, labelled, 5)


def ranking(name):
    def method():
        return fitted(name, alpha=LAM), K_NEW @ paper.pairwise_ridge(K, Y, LAM)

    return method


EXACT = {"KRR", "DKRR", "KCGM", "CRED", "CRED-GD", "KTR3", "LSRank", "MPRank"}
#: recipe -> the fitted recipe, and the predictions of its formula
LITERAL = {
    "KRR": krr,
    "KRR-RF": krr_rf,
    "KRR-Nystroem": krr_nystroem,
    "KRR-Nystroem leverage": lambda: krr_nystroem("KRR-Nystroem leverage"),
    "FALKON": lambda: krr_nystroem("FALKON", solver=PreconditionedCG(1e-12)),
    "KCGM": kcgm,
    "sketched KCGM": sketched_kcgm,
    "Nystroem KCGM": nystroem_kcgm,
    "Nystroem KCGM leverage": lambda: nystroem_kcgm("Nystroem KCGM leverage"),
    "GD": gradient_descent,
    "DKRR": dkrr,
    "DNystroem": dnystroem,
    "DC-NY": dc_ny,
    "DC-Sketch": dc_sketch,
    "DKRR-RF": dkrr_rf,
    "DKRR-RF semi-supervised": semi_supervised,
    "CRED": cred,
    "CRED-GD": cred_gd,
    "CRED-GD, eta given": in_steps_of_a_size(cred_gd),
    "RF-CRED-GD": rf_cred_gd,
    "RF-CRED-GD, eta given": in_steps_of_a_size(rf_cred_gd),
    "KTR3": ktr3,
    "SSSR": sssr,
    "LSRank": ranking("LSRank"),
    "MPRank": ranking("MPRank"),
}
#: Recipes whose formulas have tests of their own.
#: Tested in tests/bases/test_data_dependent_features.py, tests/bases/test_landmark_scores.py and
#: tests/sharded/test_sharded_ranking_papers.py.
ELSEWHERE = {"DKRR-RF data-dependent", "DKRR-RF unbiased", "DKRR-RF selected", "DNystroem leverage"}
ELSEWHERE |= {"DRank", "DRank-C", "DRank-RF", "DRank-RF-C"}
CLOSE = dict.fromkeys(LITERAL, 1e-8) | {"DKRR-RF semi-supervised": 1e-10}


@pytest.mark.parametrize("name", LITERAL)
def test_a_recipe_is_the_formula_of_its_paper(name, monkeypatch):
    method = LITERAL[name]
    model, expected = method(monkeypatch) if name in ("DC-NY", "DC-Sketch") else method()
    found = model.predict(NEW)
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE[name] * np.abs(expected).max())


def test_every_recipe_has_such_a_test():
    assert {name.split(", eta")[0] for name in LITERAL} >= set(RECIPES) - ELSEWHERE


@pytest.mark.parametrize(("least", "most", "share"), [(90, 110, 0.007), (50, 150, 0.036)])
def test_equal_weights_differ_from_those_by_rows_as_the_recipes_say(least, most, share):
    """Equation (7) has 1/m, the library n_j/n; c / sqrt(m) times the spread of the models."""
    sizes = np.linspace(least, most, 10).round().astype(int)
    measured, expected = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, new = rng.standard_normal((sizes.sum(), 3)), rng.standard_normal((200, 3))
        y = np.sin(rows.sum(axis=1)) + 0.3 * rng.standard_normal(len(rows))
        ends = np.cumsum(sizes)
        labels = np.searchsorted(ends, np.arange(len(rows)), side="right")
        settings = {"kernel": Gaussian(1.0), "alpha": 1e-3, "dtype": "float64", "shards": None}
        found = recipe("DKRR", **settings).fit(rows, y, shard_labels=labels).predict(new)
        f = np.empty((10, 200))
        for j, (start, end) in enumerate(zip(ends - sizes, ends, strict=True)):
            own, n = rows[start:end], end - start
            c = np.linalg.solve(paper.gaussian(own, own, 1.0) + n * 1e-3 * np.eye(n), y[start:end])
            f[j] = paper.gaussian(new, own, 1.0) @ c
        np.testing.assert_allclose(found, sizes / sizes.sum() @ f, rtol=1e-7, atol=1e-9)
        whole = np.linalg.norm(found)
        measured.append(np.linalg.norm(found - f.mean(axis=0)) / whole)
        spread = np.linalg.norm(f.std(axis=0)) / whole
        expected.append(sizes.std() / sizes.mean() / np.sqrt(10) * spread)
    assert np.mean(measured) == pytest.approx(share, rel=0.05)
    assert np.mean(measured) == pytest.approx(np.mean(expected), rel=0.2)
