"""Rows to label by their variance: which they are, that they count once, and what is refused."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor

import reference
from labeller_cases import ALPHA, N, X, Y, labeller
from mercer import ActiveLearner, Gaussian, KernelRegressor, Landmarks, MercerWarning
from mercer.rows import NpySource
from pairs import over_each
from reference_variance_draws import greedy_variance

BOTH = ["variance", "random_variance"]
PLAIN = {
    "gaussian": (Gaussian(2.0), lambda x, z: reference.gaussian(x, z, 2.0)),
    "linear": ("linear", reference.linear),
}
SMALL = X[:80]


def by_variance(basis="landmarks", **settings):
    return labeller(basis, **{"sampling": "variance", "budget": 20, **settings})


# -- which rows ------------------------------------------------------------------------------------


@over_each(kernel=PLAIN, alpha=[1e-2, "auto"], basis=["landmarks", "full", "auto"])
def test_rows_are_those_of_the_definition(kernel, alpha, basis):
    """However many landmarks there are: what they miss belongs to the variance."""
    given, plain = PLAIN[kernel]
    found = by_variance(basis, kernel=given, alpha=alpha).fit(SMALL)
    K = reference.matrix(plain, SMALL)
    rows, variances = greedy_variance(K, 20, 20 * found.alpha_)
    assert found.indices_.tolist() == sorted(rows)
    order = np.argsort(rows)
    np.testing.assert_allclose(found.variance_, np.array(variances)[order], rtol=1e-6, atol=1e-12)


def test_random_features_have_a_variance_of_their_own():
    found = by_variance("features").fit(SMALL)
    H = found.basis_.evaluate(SMALL).astype(float)
    rows, variances = greedy_variance(H @ H.T, 20, 20 * ALPHA)
    assert found.indices_.tolist() == sorted(rows)
    np.testing.assert_allclose(found.variance_, np.array(variances)[np.argsort(rows)], rtol=1e-6)


def test_the_first_row_has_the_largest_prior_variance():
    longest = int(np.argmax(np.sum(X**2, axis=1)))
    assert by_variance(kernel="linear", budget=1).fit(X).indices_.tolist() == [longest]
    assert by_variance(budget=1).fit(X).indices_.tolist() == [0]  # all are 1: the first of them


def test_rows_with_labels_are_conditioned_on_and_not_drawn():
    known = [70, 3, 11]
    found = by_variance().fit(SMALL, labelled=known)
    K = reference.matrix(PLAIN["gaussian"][1], SMALL)
    rows, _ = greedy_variance(K, 20, 23 * ALPHA, tuple(known))  # 23 labels in all
    assert found.indices_.tolist() == sorted(rows)
    assert found.n_draws_ == 20
    assert not set(known) & set(found.select(57))
    assert sorted([*found.indices_, *known]) == list(range(80))


def test_duplicates_are_drawn_once():
    spots = 10 * np.random.default_rng(0).standard_normal((8, 3))
    crowd = np.repeat(spots, [300, 1, 40, 2, 1, 7, 1, 100], axis=0)
    for how in BOTH:
        found = by_variance(sampling=how, alpha=1e-6, budget=8, random_state=1).fit(crowd)
        drawn = np.unique(crowd[found.indices_], axis=0)
        assert len(drawn) == len(found.indices_) == 8
    # Labelled already, the largest crowd is left alone.
    found = by_variance(alpha=1e-6, budget=7).fit(crowd, labelled=[5])
    assert found.indices_.min() >= 300


@pytest.mark.parametrize("how", BOTH)
def test_rounds_go_on_as_if_they_had_not_stopped(how):
    settings = {"sampling": how, "random_state": 4}
    parts = by_variance(**settings, budget=15, alpha=0.03 / 15).fit(X)
    new = [parts.select(10), parts.select(5)]
    whole = by_variance(**settings, budget=30, alpha=0.03 / 30).fit(X)
    np.testing.assert_array_equal(parts.indices_, whole.indices_)
    np.testing.assert_allclose(parts.variance_, whole.variance_, rtol=1e-9)
    assert [len(rows) for rows in new] == [10, 5]
    assert parts.n_draws_ == len(parts.indices_) == 30


def test_only_random_draws_are_a_matter_of_the_seed():
    one, other = (by_variance(random_state=seed).fit(X).indices_ for seed in (0, 1))
    np.testing.assert_array_equal(one, other)
    first, same, third = (
        by_variance(sampling="random_variance", random_state=seed).fit(X).indices_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert set(first) != set(third)


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", BOTH)
def test_rows_count_once_and_have_no_probability(how):
    found = by_variance(sampling=how).fit(X)
    found.select(30)
    assert found.probability_ is None
    np.testing.assert_array_equal(found.sample_weight_, np.ones(50))
    np.testing.assert_array_equal(found.count_, np.ones(50))
    assert found.effective_sample_size_ == pytest.approx(50)
    assert found.n_pool_ == N
    assert "draws" in found.seconds_


def test_a_fit_without_weights_is_as_it_should_be():
    chosen = by_variance().fit(X).indices_
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        KernelRegressor(Gaussian(2.0), alpha=1e-3, scale=None, metric=None).fit(
            X[chosen], Y[chosen]
        )
    assert labeller().fit(X).variance_ is None  # drawn by leverage


# -- pools of every kind ---------------------------------------------------------------------------


def test_files_sparse_rows_and_shards_draw_the_same(tmp_path):
    thin = X * (np.abs(X) > 0.5)
    np.save(tmp_path / "X.npy", thin)
    pd.DataFrame(thin, columns=["a", "b", "c"]).to_parquet(
        tmp_path / "rows.parquet", row_group_size=70, index=False
    )
    for how in BOTH:
        wanted = by_variance(sampling=how).fit(thin)
        pools = [NpySource(tmp_path / "X.npy"), tmp_path / "rows.parquet", sparse.csr_array(thin)]
        for pool in pools:
            found = by_variance(sampling=how).fit(pool)
            np.testing.assert_array_equal(found.indices_, wanted.indices_)
            np.testing.assert_allclose(found.variance_, wanted.variance_, rtol=1e-8)
        for shards in (1, 3):
            found = by_variance(sampling=how, shards=shards).fit(thin)
            np.testing.assert_array_equal(found.indices_, wanted.indices_)


def test_a_table_is_encoded():
    kinds = np.array(["red", "green", "blue"])[np.arange(N) % 3]
    frame = pd.DataFrame({"size": X[:, 0], "color": kinds})
    found = by_variance("auto", kernel="gaussian", budget=12).fit(frame)
    assert set(frame.color[found.indices_]) == {"red", "green", "blue"}
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.select(5), found.select(5))
    np.testing.assert_array_equal(again.variance_, found.variance_)


# -- candidates ------------------------------------------------------------------------------------


def test_candidates_keep_rows_that_stand_alone():
    rng = np.random.default_rng(0)
    crowd, alone = 0.05 * rng.standard_normal((1990, 3)), 6 * rng.standard_normal((10, 3))
    pool = np.concatenate([crowd, alone])
    for shards in (None, 4):
        settings = {"alpha": 1e-3, "budget": 12, "shards": shards}
        found = by_variance(Landmarks(40), candidates=20, **settings).fit(pool)
        assert np.sum(found.indices_ >= 1990) == 10
        assert len(found._draws.rows) == 240
    exact = by_variance(Landmarks(40), candidates="all", budget=12).fit(pool)
    assert len(exact._draws.rows) == 2000
    default = by_variance(Landmarks(40), budget=12).fit(pool)  # at least 10,000 rows
    np.testing.assert_array_equal(default.indices_, exact.indices_)


def test_labelled_rows_are_always_looked_at():
    known = np.arange(0, 400, 40)
    found = by_variance(candidates=2, budget=10).fit(X, labelled=known)
    assert set(known) <= set(found._draws.rows)
    assert len(found._draws.rows) == 40
    assert not set(known) & set(found.indices_)
    with pytest.raises(ValueError, match=r"at most the 20 candidates .* set more candidates"):
        found.select(21)
    assert found.n_draws_ == 10


def test_memory_limits_the_candidates():
    pool = np.random.default_rng(0).standard_normal((9000, 3))
    small = by_variance(Landmarks(5), budget=40, memory_limit="1MB").fit(pool)
    assert 80 <= len(small._draws.rows) == 1_000_000 // (8 * 46)
    with pytest.raises(ValueError, match="two candidates per label, over the memory_limit"):
        by_variance(Landmarks(5), budget=400, memory_limit="1MB").fit(pool)


# -- with a model ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [KNeighborsRegressor(3), KernelRegressor(Gaussian(2.0))])
def test_an_active_learner_needs_no_weights(model):
    found = ActiveLearner(by_variance(), model).fit(X, Y)
    drawn = by_variance().fit(X)
    np.testing.assert_array_equal(found.indices_, drawn.indices_)
    wanted = clone(model).fit(X[drawn.indices_], Y[drawn.indices_])
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-10)
    before = found.labeller_
    found.label_more(X, Y, budget=7)
    np.testing.assert_array_equal(found.indices_, np.union1d(drawn.indices_, drawn.select(7)))
    assert before.n_draws_ == 20  # an interrupted round would have gone on from here
    with pytest.raises(TypeError, match="must take sample_weight"):
        ActiveLearner(labeller(), KNeighborsRegressor(3)).fit(X, Y)


# -- what is refused -------------------------------------------------------------------------------

REFUSED = {
    "a name": ({"sampling": "variances"}, {}, "unknown sampling 'variances'.*variance"),
    "no name": ({"sampling": None}, {}, "unknown sampling None"),
    "candidates by leverage": (
        {"sampling": "leverage", "candidates": 5}, {}, "candidates are for sampling='variance'"
    ),
    "labels by leverage": ({"sampling": "leverage"}, {"labelled": [1]}, "labelled rows are for"),
    "some candidates": ({"candidates": "some"}, {}, "'all' or None, got 'some'"),
    "no candidates": ({"candidates": 0}, {}, "candidates must be at least 1"),
    "half a candidate": ({"candidates": 0.5}, {}, "candidates must be an integer"),
    "more than the pool": ({"budget": N + 1}, {}, "at most the 400 rows of the pool"),
    "more than is left": ({"budget": N - 1}, {"labelled": [0, 1]}, "at most the 398 rows"),
    "a row twice": ({}, {"labelled": [4, 4]}, "different rows of the pool"),
    "a row outside": ({}, {"labelled": [N]}, "labelled must be from 0 to 399, got 400"),
    "a mask": ({}, {"labelled": np.ones(N, dtype=bool)}, r"np.flatnonzero\(mask\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case):
    settings, given, said = REFUSED[case]
    found = by_variance(**settings)
    with pytest.raises((ValueError, TypeError, IndexError), match=said):
        found.fit(X, **given)
    assert not hasattr(found, "indices_")


def test_a_round_of_more_than_is_left_changes_nothing():
    found = by_variance(sampling="random_variance").fit(SMALL)
    kept = found.indices_
    with pytest.raises(ValueError, match="at most the 60 rows of the pool that have no label"):
        found.select(61)
    assert found.indices_ is kept
    assert len(found.select(60)) == 60
