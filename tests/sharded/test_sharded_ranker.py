"""Ranking over shards: queries that are whole, and queries that are not."""

import numpy as np
import pytest

from mercer import (
    Average,
    ConjugateRounds,
    Gaussian,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    NewtonRounds,
    RandomFeatures,
)
from mercer.validation import MercerWarning
from pairs import over_pairs
from shard_cases import NEW, POINTS, WEIGHT, X, Y, labels

KERNEL, ALPHA = Gaussian(1.5), 1e-3
RNG = np.random.default_rng(3)
QID = np.array([f"q{number}" for number in RNG.integers(0, 40, len(X))])
QID[0] = "alone"
RELEVANCE = Y[:, 0] + 7.0 * RNG.random(41)[np.unique(QID, return_inverse=True)[1]]
BASES = {"landmarks": Landmarks(sampling=POINTS), "features": RandomFeatures(40, random_state=5)}


def ranker(basis="landmarks", **settings):
    settings = {"alpha": ALPHA, "dtype": "float64", "random_state": 0, **settings}
    return KernelRanker(**{"kernel": KERNEL, "basis": BASES.get(basis, basis), **settings})


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


@over_pairs(
    shards=[1, 2, 7, 40],
    qid=[None, QID],
    weighting=["pair", "query"],
    engine=["threads", "dask"],
    indirect=["engine"],
)
def test_the_sum_is_exact_for_queries_that_are_split(shards, qid, weighting, engine):
    whole = ranker(pair_weighting=weighting).fit(X, RELEVANCE, qid, WEIGHT)
    parts = ranker(pair_weighting=weighting, engine=engine).fit(
        X, RELEVANCE, qid, WEIGHT, shard_labels=labels(shards)
    )
    assert relative(parts.predict(NEW), whole.predict(NEW)) < 1e-9
    assert parts.alpha_ == whole.alpha_ == ALPHA
    assert parts.n_queries_ == whole.n_queries_ == (1 if qid is None else 41)
    assert parts.n_skipped_queries_ == whole.n_skipped_queries_


@pytest.mark.parametrize("selection", ["gcv", "kfold"])
def test_alpha_is_that_of_one_place(selection):
    settings = {"alpha": "auto", "selection": selection}
    whole = ranker(**settings).fit(X, RELEVANCE, QID)
    parts = ranker(**settings).fit(X, RELEVANCE, QID, shard_labels=labels(7))
    np.testing.assert_allclose(
        parts.cv_results_["mean_squared_error"],
        whole.cv_results_["mean_squared_error"],
        rtol=1e-4,
    )
    assert parts.alpha_ == pytest.approx(whole.alpha_)


@over_pairs(
    qid=[None, QID],
    basis=BASES,
    combine=["newton", "conjugate"],
    engine=["threads", "dask"],
    indirect=["engine"],
)
def test_rounds_lead_to_the_problem_of_all_pairs(qid, basis, combine, engine):
    whole = ranker(basis).fit(X, RELEVANCE, qid)
    parts = ranker(basis, shards=3, combine=combine, rounds=60, engine=engine)
    parts.fit(X, RELEVANCE, qid)
    assert relative(parts.predict(NEW), whole.predict(NEW)) < 1e-6
    average = ranker(basis, shards=3, combine="average").fit(X, RELEVANCE, qid)
    assert relative(average.predict(NEW), whole.predict(NEW)) > 1e-3


@pytest.mark.parametrize("shards", [2, 7, 30, 60])
def test_queries_stay_whole_where_rows_are_cut(shards):
    model = ranker(shards=shards, combine="conjugate", rounds=2).fit(X, RELEVANCE, QID)
    assert model.communication_.shards == min(shards, 41)
    if shards == 7:  # shards of like size
        contiguous = ranker(shards=7, shuffle=False, combine="conjugate").fit(X, RELEVANCE, QID)
        assert contiguous.communication_.shards == 7


def test_rounds_refuse_queries_that_are_split():
    for combine in ("newton", "conjugate"):
        with pytest.raises(ValueError, match=r"in several, the first one q.*combine='sum'"):
            ranker(combine=combine).fit(X, RELEVANCE, QID, shard_labels=labels(4))


def systems(split, features, alpha):
    """Return H_j, b_j and n_j of the paper's shards, as it writes them."""
    found = []
    for shard in np.unique(split):
        Phi, y = features[split == shard], RELEVANCE[split == shard]
        n = len(y)
        center = np.eye(n) - np.ones((n, n)) / n
        H = Phi.T @ center @ Phi / n + alpha / 2 * np.eye(Phi.shape[1])
        found.append((H, Phi.T @ center @ y / n, n))
    return found


def test_the_average_is_that_of_the_paper():
    """f = sum_j |D_j|^2 / sum_k |D_k|^2 f_j, the weights of pairs."""
    split = labels(5)
    split[split == 0] = 1  # no shard of a single row
    model = ranker("features", combine=Average()).fit(X, RELEVANCE, shard_labels=split)
    parts = systems(split, model.basis_.evaluate(X), ALPHA)
    shares = np.array([n**2.0 for *_, n in parts])
    wanted = sum(
        w * np.linalg.solve(H, b) for w, (H, b, _) in zip(shares / shares.sum(), parts, strict=True)
    )
    assert relative(model.dual_coef_[:, 0], wanted) < 1e-9


@pytest.mark.parametrize("rounds", [1, 2, 4, 8])
def test_newton_rounds_are_algorithm_1_of_the_paper(rounds):
    """The paper's pairs are those within shards: each shard is a query."""
    split = labels(5)
    split[split == 0] = 1
    alpha = 0.2  # enough for rounds from zero to converge
    model = ranker("features", alpha=alpha, combine=NewtonRounds(rounds, start="zero"))
    model.fit(X, RELEVANCE, qid=split, shard_labels=split)
    parts = systems(split, model.basis_.evaluate(X), alpha)
    shares = np.array([n**2.0 for *_, n in parts])
    shares /= shares.sum()
    g = np.zeros(40)
    for _ in range(rounds):
        gradient = sum(w * (H @ g - b) for w, (H, b, _) in zip(shares, parts, strict=True))
        g = g - sum(
            w * np.linalg.solve(H, gradient) for w, (H, *_) in zip(shares, parts, strict=True)
        )
    assert relative(model.dual_coef_[:, 0], g) < 1e-8


@over_pairs(
    start=["zero", "average"],
    queries=[False, True],
    rounds=[1, 3],
    engine=["threads", "dask"],
    indirect=["engine"],
)
def test_rounds_in_function_space_are_those_of_a_basis_at_points(rounds, queries, start, engine):
    """DRank-C: with a function at every row, shared, the same rounds are made in coordinates."""
    split = np.unique(QID, return_inverse=True)[1] % 3
    alpha, combine = 0.2, NewtonRounds(rounds, start=start)
    pairs = "all" if queries else "within_shards"
    own = NewtonRounds(rounds, start=start, pairs=pairs)
    apart = ranker("full", alpha=alpha, combine=own, engine=engine)
    apart.fit(X, RELEVANCE, QID if queries else None, WEIGHT, shard_labels=split)
    shared = ranker(Landmarks(sampling=X), alpha=alpha, combine=combine)
    # With shards as queries, its pairs are those within shards.
    shared.fit(X, RELEVANCE, QID if queries else split, WEIGHT, shard_labels=split)
    assert relative(apart.predict(NEW), shared.predict(NEW)) < 1e-5
    assert apart.dual_coef_.shape == (600, 1)
    assert apart.communication_.exchanges[0].what == "points"


def test_rounds_in_function_space_of_a_regression():
    settings = {"fit_intercept": False, "alpha": 0.1, "random_state": 0}
    combine = NewtonRounds(30, start="zero")
    apart = KernelRegressor(KERNEL, "full", combine=combine, **settings)
    apart.fit(X, Y, WEIGHT, shard_labels=labels(3))
    whole = KernelRegressor(KERNEL, "full", **settings).fit(X, Y, WEIGHT)
    assert relative(apart.predict(NEW), whole.predict(NEW)) < 1e-6
    with pytest.raises(ValueError, match="cannot fit an intercept"):
        KernelRegressor(KERNEL, "full", shards=3, combine="newton").fit(X, Y)
    with pytest.raises(ValueError, match="need a positive alpha"):
        ranker("full", alpha=0, shards=3, combine="newton").fit(X, RELEVANCE)


def test_conjugate_rounds_converge_where_newton_rounds_do_not():
    whole = ranker("features", alpha=1e-6).fit(X, RELEVANCE)
    with pytest.warns(MercerWarning, match="diverge"):
        ranker("features", alpha=1e-6, shards=40, combine="newton").fit(X, RELEVANCE)
    rounds = ranker("features", alpha=1e-6, shards=40, combine=ConjugateRounds(60))
    assert relative(rounds.fit(X, RELEVANCE).predict(NEW), whole.predict(NEW)) < 1e-6


@pytest.mark.parametrize("basis", ["full", Landmarks(30)], ids=["full", "landmarks"])
def test_models_of_functions_of_their_own_are_averaged(basis):
    split = np.unique(QID, return_inverse=True)[1] % 3
    model = ranker(basis, combine=Average(local_basis=True))
    model.fit(X, RELEVANCE, QID, shard_labels=split)
    parts = [
        ranker(basis).fit(X[split == j], RELEVANCE[split == j], QID[split == j]) for j in range(3)
    ]
    sizes = [np.unique(QID[split == j], return_counts=True)[1] for j in range(3)]
    shares = np.array([np.sum(size[size > 1] ** 2.0) for size in sizes])
    shares /= shares.sum()
    if basis == "full":
        wanted = sum(w * part.predict(NEW) for w, part in zip(shares, parts, strict=True))
        assert relative(model.predict(NEW), wanted) < 1e-6
    assert model.dual_coef_.shape[0] == (600 if basis == "full" else 90)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    folder = tmp_path / "kept"
    settings = {"checkpoint": folder, "combine": "sum"}
    one = ranker(**settings).fit(X, RELEVANCE, QID, shard_labels=labels(7))
    two = ranker(**settings).fit(X, RELEVANCE, QID, shard_labels=labels(7))
    np.testing.assert_array_equal(two.predict(NEW), one.predict(NEW))
    with pytest.raises(ValueError, match="another"):
        ranker(**settings).fit(X, RELEVANCE, QID[::-1], shard_labels=labels(7))
