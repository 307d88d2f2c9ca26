"""Leverage scores are those at the penalty of the fit, whenever it is set and however chosen."""

import numpy as np
import pytest

from mercer import (
    KCGM,
    Gaussian,
    GradientDescent,
    KernelRegressor,
    Landmarks,
    StopAfter,
    StopAtPenalty,
    recipe,
)
from mercer.models import load, save
from mercer.sampling.leverage import exact_scores

RNG = np.random.default_rng(0)
X = np.vstack([RNG.standard_normal((280, 2)), RNG.uniform(-8, 8, (20, 2))])  # some stand alone
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(300)
KERNEL, SIZE = Gaussian(0.7), 25
LEVERAGE = ["KRR-Nystroem leverage", "DNystroem leverage", "Nystroem KCGM leverage"]
SUITED = "leverage scores at a penalty suited to their number"


def made(name, **settings):
    shards = {"shards": 3, "shuffle": False} if name.startswith("D") else {}
    settings = {"kernel": KERNEL, "n_components": SIZE, "random_state": 0, **shards, **settings}
    return recipe(name, **settings)


def landmarks_of(model):
    points = model.fit_.basis.landmarks_
    return points[np.lexsort(points.T)]


def drawn_at(penalty, name=LEVERAGE[0], alpha=1.0, **settings):
    """The landmarks of a fit whose basis is told at which penalty to score."""
    model = made(name, alpha=alpha, **settings).set_params(basis__alpha=penalty)
    return landmarks_of(model.fit(X, Y))


@pytest.mark.parametrize("name", LEVERAGE[:2])
@pytest.mark.parametrize("solver", ["ridge", "pcg"])
def test_scores_follow_the_alpha_of_the_model(name, solver):
    parts = {"basis__sampling": "bless"} if solver == "pcg" else {}
    model = made(name, alpha=1e-2, solver=solver, **parts)
    for alpha in (1e-2, 1e-4):
        found = model.set_params(alpha=alpha).fit(X, Y)
        expected = drawn_at(alpha, name, alpha=alpha, solver=solver, **parts)
        assert np.array_equal(landmarks_of(found), expected)
        assert f"drawn by leverage scores at alpha={alpha:g}" in str(found.summary())
    assert model.basis.alpha is None
    assert not np.array_equal(drawn_at(1e-2, name), drawn_at(1e-4, name))


def test_rows_that_stand_alone_are_drawn_as_their_scores_ask():
    """At the penalty suited to M they are drawn too seldom: that is nearly uniform."""
    scores = exact_scores(KERNEL, X, 1e-3)
    asked = scores[280:].sum() / scores.sum()
    shares = {}
    for alpha in (None, "size"):
        drawn = [
            made(LEVERAGE[0], alpha=1e-3, random_state=seed, basis__alpha=alpha).fit(X, Y)
            for seed in range(12)
        ]
        outside = [np.any(np.abs(landmarks_of(m)) > 3.2, axis=1).mean() for m in drawn]
        shares[alpha] = np.mean(outside)
    alone = np.any(np.abs(X[280:]) > 3.2, axis=1).mean()
    assert abs(shares[None] - alone * asked) < 0.04
    assert abs(shares["size"] - alone * asked) > 0.04


@pytest.mark.parametrize("solver", ["ridge", "pcg"])
@pytest.mark.parametrize("name", LEVERAGE[:2])
def test_an_open_alpha_is_chosen_before_the_scores(name, solver):
    model = made(name, solver=solver).fit(X, Y)
    scored = model.fit_.basis.alpha
    assert f"leverage scores at alpha={scored:.3g}" in str(model.summary())
    if name == "DNystroem leverage" or solver == "pcg":  # one choice, for scores and fit
        assert scored == model.alpha_
    else:  # chosen again, with the landmarks drawn
        exact = KernelRegressor(
            KERNEL, Landmarks(sampling=landmarks_of(model)), solver="ridge", selection="gcv",
            metric=None, scale=None, columns=None, fit_intercept=False,
        ).fit(X, Y)  # fmt: skip
        assert model.alpha_ == pytest.approx(exact.alpha_, rel=1e-6)
        assert model.fit_.seconds["choose alpha"] > 0


def test_steps_have_no_alpha_unless_they_are_given_one():
    model = made(LEVERAGE[2], solver=KCGM(StopAfter(5))).fit(X, Y)
    assert SUITED in str(model.summary())
    assert np.array_equal(landmarks_of(model), drawn_at("size"))
    model = made(LEVERAGE[2], solver=KCGM(StopAfter(5)), alpha=1e-3).fit(X, Y)
    assert np.array_equal(landmarks_of(model), drawn_at(1e-3))
    model = made(LEVERAGE[2], solver=GradientDescent(StopAtPenalty(1e-3))).fit(X, Y)
    assert np.array_equal(landmarks_of(model), drawn_at(1e-3))


def test_the_penalty_suited_to_the_size_has_a_name():
    model = made(LEVERAGE[0], alpha=1e-3).set_params(basis__alpha="size").fit(X, Y)
    assert SUITED in str(model.summary())
    outside = Landmarks(SIZE, "leverage", kernel=KERNEL, random_state=0).fit(X)
    named = Landmarks(SIZE, "leverage", kernel=KERNEL, random_state=0, alpha="size").fit(X)
    assert np.array_equal(outside.landmarks_, named.landmarks_)
    with pytest.raises(ValueError, match="alpha of Landmarks"):
        Landmarks(SIZE, "leverage", alpha="M").fit(X)


def test_a_file_keeps_the_penalty_of_the_scores(tmp_path):
    model = made(LEVERAGE[0]).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    read = load(tmp_path / "model.mercer")
    assert read.basis.alpha is None
    assert np.array_equal(read.predict(X), model.predict(X))
