"""Random features that are chosen among candidates, by labels or by leverage."""

import numpy as np
import pytest

import reference_features as slow
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Linear,
    Matern,
    PreconditionedCG,
    RandomFeatures,
    load,
    recipe,
    save,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (400, 6))
Y = np.sin(4 * X[:, 0]) + 0.1 * RNG.standard_normal(400)
CLASSES = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]
NEW = RNG.uniform(-2, 2, (300, 6))
KERNEL = Gaussian(0.7)


def scored(sampling, alpha):
    """Return the candidates of seed 0, and their scores as they are written."""
    plain = RandomFeatures(100, kernel=KERNEL, random_state=0).fit(X)
    Z = plain.evaluate(X)
    if sampling == "labels":
        return Z, ((Y - Y.mean()) @ Z) ** 2
    G = Z.T @ Z / len(X)
    return Z, np.diagonal(G @ np.linalg.inv(G + alpha * np.eye(100)))


@pytest.mark.parametrize("sampling", ["labels", "leverage"])
def test_chosen_features_are_candidates_with_high_scores(sampling):
    Z, scores = scored(sampling, 1e-3)
    counts = np.zeros(100)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        chosen = rng.choice(100, size=20, replace=False, p=scores / scores.sum())
        counts[chosen] += 1
    basis = RandomFeatures(20, kernel=KERNEL, sampling=sampling, random_state=0).fit(X, Y)
    assert basis.size == 20
    H = basis.evaluate(X) * np.sqrt(20 / 100)
    which = [int(np.argmin(np.abs(Z - column[:, None]).max(axis=0))) for column in H.T]
    np.testing.assert_allclose(Z[:, which], H, atol=1e-10)
    assert len(set(which)) == 20
    assert counts[which].mean() > counts.mean() * (1.5 if sampling == "labels" else 0.9)


@pytest.mark.parametrize("sampling", ["labels", "leverage"])
def test_unbiased_weights_keep_the_kernel(sampling):
    rows = X[:6]
    found = [
        RandomFeatures(
            50, kernel=KERNEL, sampling=sampling, weighting="unbiased", random_state=seed
        ).fit(X, Y)
        for seed in range(300)
    ]
    products = np.array([Z @ Z.T for Z in (basis.evaluate(rows) for basis in found)])
    error = products.std(axis=0) / np.sqrt(len(products))
    assert np.all(np.abs(products.mean(axis=0) - KERNEL(rows)) < 5 * error + 1e-12)


#: 13, 87 and 300 rows.
UNEQUAL = np.repeat([0, 1, 2], [13, 87, 300])


def psi(basis, rows):
    """sqrt(2) cos(w'x + b) of a plain basis or of what was drawn, without any weight."""
    features = getattr(basis.features_, "part", basis.features_)
    return np.sqrt(2) * np.cos(2 * np.pi * (rows @ features.turns + features.phase))


def drawn_from(basis, candidates):
    """The position among the candidates of each feature that was drawn."""
    phase = basis.features_.part.phase
    which = np.argmin(np.abs(candidates.features_.phase[:, None] - phase), axis=0)
    np.testing.assert_array_equal(candidates.features_.turns[:, which], basis.features_.part.turns)
    return which


def test_the_recipe_is_equation_14_of_the_paper():
    """Features by the labels of all shards, weights p/q, and the mean of the shards' models."""
    y = Y + 3.0  # the paper does not center
    model = recipe(
        "DKRR-RF data-dependent",
        n_components=40,
        kernel=KERNEL,
        alpha=1e-3,
        shards=None,
        fit_intercept=False,
        dtype="float64",
        random_state=0,
    ).fit(X, y, shard_labels=UNEQUAL)
    candidates = RandomFeatures(200, kernel=KERNEL, random_state=0).fit(X)
    drawn = drawn_from(model.basis_, candidates)
    assert len(drawn) == 40
    assert len(set(drawn)) < 40  # with replacement
    q = slow.shares(psi(candidates, X), y)
    phi = slow.weighted_features(psi(candidates, X), q, drawn)
    np.testing.assert_allclose(model.basis_.evaluate(X), phi, rtol=1e-10, atol=1e-12)
    wanted = slow.average_of_ridge(phi, y, UNEQUAL, 1e-3)
    new = slow.weighted_features(psi(candidates, NEW), q, drawn) @ wanted
    error = np.linalg.norm(model.predict(NEW) - new) / np.linalg.norm(new)
    assert error < 1e-10


def test_features_of_the_paper_are_drawn_by_their_share():
    """The mean share of what is drawn is sum_j q_j q_j, and that of its weights 1."""
    found = []
    for seed in range(200):
        settings = {"kernel": KERNEL, "random_state": seed}
        candidates = RandomFeatures(50, **settings).fit(X)
        q = slow.shares(psi(candidates, X[:50]), Y[:50] + 3)
        basis = RandomFeatures(10, sampling="labels", weighting="paper", **settings)
        drawn = drawn_from(basis.fit(X[:50], Y[:50] + 3), candidates)
        np.testing.assert_allclose(basis.features_.weights, 1 / (50 * q[drawn]), rtol=1e-10)
        found.append([q[drawn].mean() - q @ q, np.mean(1 / (50 * q[drawn])) - 1])
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0)) < 4 * error)


def test_features_by_labels_need_fewer():
    def error(sampling):
        errors = []
        for seed in range(5):
            basis = RandomFeatures(40, sampling=sampling, candidates=10)
            model = KernelRegressor(KERNEL, basis, 1e-3, random_state=seed).fit(X[:, :3], Y)
            errors.append(np.mean((model.predict(NEW[:, :3]) - np.sin(4 * NEW[:, 0])) ** 2))
        return np.mean(errors)

    assert error("labels") < 0.7 * error("plain")


@pytest.mark.parametrize("weighting", ["none", "unbiased", "paper"])
@pytest.mark.parametrize("sampling", ["labels", "leverage"])
def test_every_estimator_takes_them(sampling, weighting, tmp_path):
    basis = RandomFeatures(40, sampling=sampling, weighting=weighting)
    settings = {"basis": basis, "alpha": 1e-3, "random_state": 0}
    model = KernelRegressor(KERNEL, **settings).fit(X, Y)
    assert model.dual_coef_.shape == (40, 1)
    assert model.basis_.size == 40
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert KernelClassifier(KERNEL, **settings).fit(X, CLASSES).score(X, CLASSES) > 0.4
    ranked = KernelRanker(KERNEL, **settings).fit(X, Y, np.arange(400) % 20)
    assert ranked.basis_.size == 40
    products = KernelRegressor(
        KERNEL, **settings, solver=PreconditionedCG(tolerance=1e-9, max_steps=200), dtype="float64"
    ).fit(X, Y)
    direct = KernelRegressor(KERNEL, **settings, dtype="float64").fit(X, Y)
    np.testing.assert_allclose(products.predict(NEW), direct.predict(NEW), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sampling", ["labels", "leverage"])
@pytest.mark.parametrize("combine", ["sum", "average", "conjugate"])
def test_shards_choose_together(combine, sampling):
    basis = RandomFeatures(40, sampling=sampling)
    settings = {"alpha": 1e-2, "random_state": 0, "dtype": "float64"}
    one = KernelRegressor(KERNEL, basis, shards=1, combine=combine, **settings).fit(X, Y)
    many = KernelRegressor(KERNEL, basis, shards=4, combine=combine, **settings).fit(X, Y)
    np.testing.assert_allclose(
        many.basis_.evaluate(NEW), one.basis_.evaluate(NEW), rtol=1e-9, atol=1e-12
    )
    if combine != "average":
        np.testing.assert_allclose(many.predict(NEW), one.predict(NEW), rtol=1e-4, atol=1e-6)
    assert "scores of candidates" in str(many.communication_)


def test_what_cannot_be_is_refused():
    for basis, said in (
        (RandomFeatures(5, sampling="label"), "did you mean 'labels'"),
        (RandomFeatures(5, sampling="labels", weighting="some"), "weighting"),
        (RandomFeatures(5, sampling="labels", weighting="papers"), "did you mean 'paper'"),
        (RandomFeatures(5, sampling="labels", candidates=0), "candidates"),
        (RandomFeatures(5, sampling="leverage", alpha=0), "alpha of RandomFeatures"),
    ):
        with pytest.raises(ValueError, match=said):
            KernelRegressor(KERNEL, basis).fit(X, Y)
    for kernel in (Linear(), Gaussian() + Matern()):
        with pytest.raises(ValueError, match="cannot be chosen one by one"):
            KernelRegressor(kernel, RandomFeatures(5, sampling="labels")).fit(X, Y)
    with pytest.raises(ValueError, match="needs y"):
        RandomFeatures(5, sampling="labels").fit(X)
    with pytest.raises(ValueError, match="score of 0"):
        KernelRegressor(KERNEL, RandomFeatures(5, sampling="labels")).fit(X, np.ones(400))
