"""Landmarks by leverage scores at a given penalty, of some rows or of all of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import reference_nystroem as reference
from mercer import Gaussian, KernelRegressor, Landmarks, Linear, load, open_rows, recipe, save
from mercer.engines import ThreadEngine
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.rows.shards import cut
from mercer.sampling import DICTIONARIES, Dictionary, scores_of_all, scores_of_rows
from pairs import over_each

KERNEL, ALPHA, SCORED = Gaussian(1.0), 1e-3, [*DICTIONARIES]
N, M = 1200, 12


def rows_of_groups(seed=0):
    """A crowd, a thin cloud around it, and rows that stand alone."""
    rng = np.random.default_rng(seed)
    alone = 10.0 + 8.0 * np.stack(np.meshgrid(np.arange(6), np.arange(5)), -1).reshape(-1, 2)
    parts = [rng.normal(0, 0.3, (N - 230, 2)), rng.normal(0, 2.0, (200, 2)), alone]
    order = rng.permutation(N)
    return np.vstack(parts)[order], np.repeat([0, 1, 2], [N - 230, 200, 30])[order]


X, GROUP = rows_of_groups()
Y = np.sin(X[:, 0]) + X[:, 1] / 10
EXACT = reference.leverage_scores(KERNEL(X), ALPHA)


@pytest.fixture
def few_candidates(monkeypatch):
    """Dictionaries from a sample of 300 rows, so that most rows are not in it."""
    monkeypatch.setattr("mercer.sampling.landmark_rows.LEAST", 300)


def landmarks(sampling="leverage", size=M, **settings):
    settings = {"alpha": ALPHA, "candidates": "all", "random_state": 0, **settings}
    return Landmarks(size, sampling, kernel=KERNEL, **settings)


@over_each(how=SCORED, seed=range(3))
def test_scores_of_all_rows_through_a_sample_are_those_of_the_paper(how, seed):
    rng = np.random.default_rng(seed)
    at = rng.choice(N, 400, replace=False)
    dictionary = DICTIONARIES[how](KERNEL, X[at], np.random.default_rng(seed), alpha=ALPHA)
    rng = np.random.default_rng(seed)
    found = scores_of_all(how, KERNEL, X[at], at, ArraySource(X), M, rng, ALPHA)
    ratio = found / EXACT
    low, high = np.quantile(ratio, [0.05, 0.95])
    assert 1 / 2.5 < low < 1 < high < 2.5, (low, high)
    assert found.sum() == pytest.approx(EXACT.sum(), rel=0.35)
    np.testing.assert_allclose(ratio[GROUP == 2], 1.0, rtol=1e-6)  # in the sample or not
    # The same alpha, relative to the sample: the same but for the factor.
    within = dictionary.scores(X)
    small = np.setdiff1d(np.flatnonzero(within < 0.2), at[dictionary.indices])
    np.testing.assert_allclose(within[small] / 3, (found / (1 - found))[small], rtol=1e-6)


def test_own_scores_are_those_of_the_dictionary_without_the_point():
    points, p = X[:40], np.linspace(0.1, 1.0, 40)
    whole = Dictionary(KERNEL, points, p, ALPHA * N, np.arange(40), counted=False)
    for j in (0, 7, 39):
        rest = np.arange(40) != j
        without = Dictionary(KERNEL, points[rest], p[rest], ALPHA * N, np.arange(39), counted=False)
        assert whole.own_scores()[j] == pytest.approx(without.scores(points[[j]])[0], rel=1e-6)


def test_a_dictionary_of_all_rows_has_the_scores_of_the_paper():
    whole = Dictionary(KERNEL, X, np.ones(N), ALPHA * N, np.arange(N))
    np.testing.assert_allclose(scores_of_rows(ArraySource(X), whole), EXACT, rtol=1e-6)
    np.testing.assert_array_equal(whole.of_more_rows(1.0).probability, np.ones(N))


def group_shares(alpha, pool):
    """Share of each group in the scores of equation (4), for the rows of uniform pools."""
    found = np.zeros(3)
    for seed in range(1 if pool == N else 40):
        at = np.random.default_rng(seed).choice(N, pool, replace=False)
        probability = reference.sampling_probabilities(KERNEL(X[at]), alpha)
        found += np.bincount(GROUP[at], probability, minlength=3)
    return found / found.sum()


@over_each(how=SCORED, candidates=["all", 60, None], alpha=[1e-1, 1e-2, 1e-3])
def test_rows_are_drawn_with_the_probabilities_of_the_paper(how, candidates, alpha, few_candidates):
    """By group, in 100 draws of a few rows. Candidates alone are scored at ``alpha P``."""
    wanted = group_shares(alpha, {"all": N, 60: 240, None: 300}[candidates])
    counts = np.zeros(3)
    for seed in range(100):
        basis = landmarks(how, 4, random_state=seed, candidates=candidates, alpha=alpha).fit(X)
        counts += np.bincount(GROUP[basis.indices_], minlength=3)
        assert len(set(basis.indices_)) == 4
    assert np.abs(counts / counts.sum() - wanted).max() < 0.09
    assert np.abs(np.bincount(GROUP) / N - wanted).max() > 0.15


@pytest.mark.parametrize("how", SCORED)
def test_without_a_penalty_nothing_has_changed(how):
    wanted = Landmarks(M, how, kernel=KERNEL, random_state=0).fit(X)
    for candidates in (None, "all"):  # all rows are candidates already
        found = landmarks(how, alpha=None, candidates=candidates).fit(X)
        np.testing.assert_array_equal(found.indices_, wanted.indices_)
    few = landmarks(how, alpha=None, candidates=2).fit(X)
    assert few._n_read == 2 * M


@over_each(how=SCORED, shards=[1, 3], alpha=[None, ALPHA])
def test_all_rows_of_shards_and_files_are_scored(how, shards, alpha, few_candidates, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    frame.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=170)
    basis = Landmarks(M, how, alpha=alpha, candidates="all")
    settings = {"kernel": KERNEL, "basis": basis, "alpha": 1e-3, "random_state": 0}
    settings |= {"metric": None, "scale": None}
    whole = KernelRegressor(**settings).fit(X, Y)
    more = {"shuffle": False, "engine": ThreadEngine(workers=2)} if shards > 1 else {}
    parts = KernelRegressor(shards=shards, **settings, **more).fit(X, Y)
    read = KernelRegressor(shards=shards, **settings, **more)
    read.fit(open_rows(tmp_path / "rows.parquet", "y"))
    np.testing.assert_array_equal(whole.basis_.landmarks_, X[whole.basis_.indices_])
    for model in (parts, read):
        np.testing.assert_array_equal(model.basis_.landmarks_, X[model.basis_.indices_])
        np.testing.assert_array_equal(model.basis_.indices_, whole.basis_.indices_)
    sent = {exchange.what: exchange for exchange in parts.communication_.exchanges}
    assert sent["leverage scores"].from_shard == N // shards
    assert sent["landmarks"].from_shard < N // shards * 2  # the sample, and the landmarks


def test_scores_of_shards_are_those_of_one_place():
    dictionary = DICTIONARIES["leverage"](KERNEL, X, np.random.default_rng(0), alpha=ALPHA)
    wanted = scores_of_rows(ArraySource(X), dictionary)
    np.testing.assert_allclose(wanted, dictionary.scores(X), rtol=1e-8)
    shards = RowSet.over_shards(ThreadEngine(workers=2), cut(ArraySource(X), 5), lambda _: None)
    np.testing.assert_allclose(scores_of_rows(shards, dictionary), wanted, rtol=1e-8)


def test_a_row_that_is_not_finite_is_named():
    wrong = X.copy()
    wrong[321, 1] = np.nan
    dictionary = Dictionary(KERNEL, X[:9], np.ones(9), ALPHA * N, np.arange(9))
    with pytest.raises(ValueError, match="NaN at row 321, column 1"):
        scores_of_rows(ArraySource(wrong), dictionary)
    shards = cut(ArraySource(wrong), 4)
    parts = RowSet.over_shards(ThreadEngine(workers=2), shards, lambda _: None)
    with pytest.raises(ValueError, match=r"shard 1 .*NaN at row 21, column 1"):
        scores_of_rows(parts, dictionary)


REFUSED = {
    "no penalty": ({"alpha": 0.0}, "alpha of Landmarks must be a finite number greater than 0"),
    "a negative penalty": ({"alpha": -1e-3}, "greater than 0, got -0.001"),
    "a word": ({"alpha": "auto"}, "unknown alpha of Landmarks 'auto'"),
    "of uniform rows": (
        {"sampling": "uniform", "candidates": None},
        r"alpha .*\['leverage', 'bless'\], got alpha=0.001 with sampling='uniform'",
    ),
    "of pivots": ({"sampling": "rpcholesky", "alpha": None}, "candidates of Landmarks is for"),
    "of given points": ({"sampling": X[:5]}, "with sampling=an array: leave alpha None"),
    "no candidates": ({"candidates": 0}, "candidates of Landmarks must be at least 1"),
    "some": ({"candidates": "some"}, "'all' or None, got 'some'"),
    "a word that is none": ({"sampling": "leverge"}, "unknown sampling 'leverge'.*leverage"),
    "half a row": ({"candidates": 2.5}, "candidates of Landmarks must be an integer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_use_is_refused(case):
    settings, said = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match=said):
        landmarks().set_params(**settings).fit(X)


def test_rows_with_few_functions_have_as_many_landmarks(few_candidates):
    basis = Landmarks(30, "leverage", kernel=Linear(), alpha=1e-4, candidates="all")
    assert basis.fit(np.repeat(X[:3], 400, axis=0)).size == 2
    basis.set_params(n_components=5)
    assert basis.fit(np.zeros((500, 2))).size == 0


# -- models and recipes ----------------------------------------------------------------------------


def test_parameters_are_cloned_and_saved(tmp_path):
    basis = clone(Landmarks(M, "bless", alpha=ALPHA, candidates=30))
    model = KernelRegressor(KERNEL, basis, 1e-3, random_state=0).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    found = load(tmp_path / "model.mercer")
    assert (found.basis_.alpha, found.basis_.candidates) == (ALPHA, 30)
    np.testing.assert_allclose(found.predict(X[:20]), model.predict(X[:20]), rtol=1e-10)


def test_the_recipe_is_the_average_of_the_paper(few_candidates):
    """Unequal shards, given the landmarks; these are of all rows, scored at alpha."""
    shard = np.searchsorted([100, 350, 800], np.arange(N), side="right")
    model = recipe(
        "DNystroem leverage",
        n_components=60,
        shards=None,
        alpha=1e-3,
        kernel=KERNEL,
        fit_intercept=False,
        random_state=0,
        dtype="float64",
    )
    model.fit(X, Y, shard_labels=shard)
    assert (model.basis.alpha, model.basis_.alpha) == (None, 1e-3)
    assert model.communication_.shards == 4
    assert model.basis_.size == 60
    parts = [(X[shard == number], Y[shard == number]) for number in range(4)]
    slow = reference.dnystroem(KERNEL, model.basis_.landmarks_, parts, 1e-3)
    np.testing.assert_allclose(model.predict(X), slow(X), atol=1e-6)
    wanted = GROUP[model.basis_.indices_]
    exact = reference.sampling_probabilities(KERNEL(X), 1e-3)
    assert np.mean(wanted == 2) > 0.6 * exact[GROUP == 2].sum() > 3 * 30 / N


def test_the_recipe_scores_all_rows_at_the_alpha_of_the_fit():
    basis = recipe("DNystroem leverage", shards=2, alpha=0.5).basis
    assert (basis.alpha, basis.candidates) == (None, "all")
