"""Rows that no landmark is near are drawn as often as the exact kernel says, not less."""

from functools import cache

import numpy as np
import pytest

from mercer import Gaussian, ImportanceLabeller, Landmarks, RandomFeatures, Sketch
from mercer.labelling.pool_scores import PoolDimension
from mercer.rows import NpySource
from mercer.sampling import exact_scores
from mercer.systems import Spectrum
from pairs import over_each

KERNEL, N, ALONE = Gaussian(1.0), 1500, 30
SEEDS = range(4)


@cache
def pool(seed):
    """A crowd, and thirty rows far from it and from each other at the end."""
    rng = np.random.default_rng(seed)
    far = 12.0 * rng.permutation(np.stack(np.meshgrid(*[np.arange(1, 5)] * 3), -1).reshape(-1, 3))
    return np.vstack([0.5 * rng.standard_normal((N - ALONE, 3)), far[:ALONE]])


def labeller(basis=None, **settings):
    settings = {"budget": 150, "random_state": 0, "dtype": "float64", **settings}
    basis = Landmarks(100) if basis is None else basis
    return ImportanceLabeller(**{"kernel": KERNEL, "basis": basis, **settings})


def exact_probability(rows, alpha, kernel=KERNEL):
    c = len(rows) * exact_scores(kernel, rows, alpha)
    return (c + c.mean()) / (2 * c.sum()), c.mean()


def share(probability):
    return probability[-ALONE:].sum()


@over_each(alpha=["auto", 1e-3, 1e-2], seed=SEEDS)
def test_their_probability_is_that_of_the_exact_kernel(alpha, seed):
    found = labeller(alpha=alpha, random_state=seed).fit(pool(seed))
    exact, dimension = exact_probability(pool(seed), found.alpha_)
    assert 1 / 1.3 < share(found.probability_) / share(exact) < 1.3
    assert found.effective_dimension_ == pytest.approx(dimension, rel=0.1)
    assert share(exact) > 4 * ALONE / N  # the uniform half of q alone would be ALONE / N / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_they_are_drawn_more_often_than_the_crowd(seed):
    found = labeller(random_state=seed).fit(pool(seed))
    least, crowd = found.probability_[-ALONE:].min(), found.probability_[:-ALONE].mean()
    assert least > 5 * crowd
    counts = np.bincount(found.indices_, found.count_, minlength=N)
    assert counts[-ALONE:].mean() > 5 * counts[:-ALONE].mean()


def test_random_features_agree_without_a_residual():
    found = labeller(RandomFeatures(1000), alpha=1e-2).fit(pool(0))
    exact, _ = exact_probability(pool(0), 1e-2)
    assert share(found.probability_) == pytest.approx(share(exact), rel=0.1)


@over_each(basis=[Landmarks(N), Sketch(N), "full"], alpha=["auto", 1e-6, 1e-2])
def test_scores_are_exact_if_all_rows_are_landmarks(basis, alpha):
    """Also where rows are there twice, so that the kernel matrix is singular."""
    rows = np.vstack([pool(0)[-250:], pool(0)[-20:]])
    found = labeller(basis, alpha=alpha, budget=100)
    if not isinstance(basis, str):
        found.set_params(basis__n_components=len(rows))
    found.fit(rows)
    exact, dimension = exact_probability(rows, found.alpha_)
    np.testing.assert_allclose(found.probability_, exact, rtol=1e-6)
    assert found.effective_dimension_ == pytest.approx(dimension, rel=1e-6)


def test_dependent_landmarks_leave_the_same_residual():
    """Of landmarks that are there three times, two are dropped."""
    chosen = pool(0)[:: N // 40]
    once = labeller(Landmarks(sampling=chosen), alpha=1e-3).fit(pool(0))
    thrice = labeller(Landmarks(sampling=np.tile(chosen, (3, 1))), alpha=1e-3).fit(pool(0))
    assert thrice.basis_.n_dropped_ >= 2 * len(chosen)
    np.testing.assert_allclose(thrice.probability_, once.probability_, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_is_no_residual(dtype):
    """A smooth kernel in the span of few landmarks: all that is left is rounding."""
    rows, kernel = pool(0)[:-ALONE], Gaussian(6.0)
    found = labeller(kernel=kernel, alpha=1e-8, dtype=dtype).fit(rows)
    assert found.effective_dimension_ < found.basis_.size
    if dtype == "float64":
        exact, dimension = exact_probability(rows, 1e-8, kernel)
        assert found.effective_dimension_ == pytest.approx(dimension, rel=0.02)
        np.testing.assert_allclose(found.probability_, exact, rtol=0.2)


@over_each(alpha=["auto", 1e-3], shards=[2, 7], kind=["threads", "file"])
def test_shards_score_as_one_place_does(alpha, shards, kind, tmp_path):
    rows = pool(0)
    np.save(tmp_path / "rows.npy", rows)
    source = NpySource(tmp_path / "rows.npy") if kind == "file" else rows
    whole, parts = labeller(alpha=alpha), labeller(alpha=alpha, shards=shards)
    whole.fit(rows)
    parts.fit(source)
    assert parts.alpha_ == pytest.approx(whole.alpha_)
    assert parts.effective_dimension_ == pytest.approx(whole.effective_dimension_)
    np.testing.assert_allclose(parts.probability_, whole.probability_, rtol=1e-8)
    np.testing.assert_array_equal(parts.indices_, whole.indices_)


@pytest.mark.parametrize("budget", [3, 30, 300])
def test_the_automatic_penalty_counts_what_landmarks_miss(budget):
    found = labeller(Landmarks(20), budget=budget).fit(pool(1))
    assert budget / 5 * 0.85 < found.effective_dimension_ <= budget / 5 * (1 + 1e-12)
    c = (2 * found.probability_ * N - 1) * found.effective_dimension_
    assert c.mean() == pytest.approx(found.effective_dimension_)


def test_rows_that_are_all_alone_need_a_penalty_above_every_eigenvalue():
    found = labeller(Landmarks(5), budget=50).fit(100.0 * np.arange(400.0)[:, None])
    assert found.alpha_ > 10 * 1 / 400  # the eigenvalues of the identity, over N
    assert 8.5 < found.effective_dimension_ <= 10
    np.testing.assert_allclose(found.probability_, 1 / 400, rtol=1e-8)


def test_a_negligible_residual_leaves_the_penalty_as_it_is():
    values = np.array([0.01, 0.1, 1.0])
    spectrum = Spectrum(values, np.eye(3), np.zeros((3, 1)))
    alone = PoolDimension(spectrum).alpha_at(1.5)
    assert PoolDimension(spectrum, np.full(50, 1e-9)).alpha_at(1.5) == alone
    assert PoolDimension(spectrum, np.full(50, 0.5)).alpha_at(1.5) > alone
    empty = Spectrum(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 1)))
    assert PoolDimension(empty).alpha_at(1.5) == 1.0
    assert PoolDimension(empty, np.ones(50)).effective_dimension(0.5) == pytest.approx(1 / 0.52)
