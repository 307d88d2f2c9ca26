"""DRank and its kin over shards of unequal size, against the formulas of their paper."""

import numpy as np
import pytest

import reference_ranking as slow
from mercer import (
    ConjugateRounds,
    Gaussian,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    MercerWarning,
    NewtonRounds,
    RandomFeatures,
    recipe,
)
from mercer.contracts import Status
from pairs import over_pairs
from shard_cases import NEW, WEIGHT, X, Y

KERNEL, ALPHA = Gaussian(1.5), 0.2
RELEVANCE = Y[:, 0]
#: 30, 70, 1, 200 and 299 rows.
SPLIT = np.random.default_rng(4).permutation(np.repeat(np.arange(5), [30, 70, 1, 200, 299]))
SHARDS = [np.flatnonzero(shard == SPLIT) for shard in range(5)]
QID = np.random.default_rng(5).integers(0, 40, len(X))
SETTINGS = {"kernel": KERNEL, "alpha": ALPHA, "dtype": "float64", "random_state": 0}


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def fitted(name, size=None, **settings):
    """The recipe, fitted over the shards."""
    size = {} if size is None else {"n_components": size}
    model = recipe(name, **size, **{**SETTINGS, "shards": None, **settings})
    return model.fit(X, RELEVANCE, shard_labels=SPLIT)


def ranker(combine, basis=None, **settings):
    basis = RandomFeatures(40, random_state=5) if basis is None else basis
    return KernelRanker(basis=basis, combine=combine, **{**SETTINGS, **settings})


def within(rounds=None, **settings):
    return NewtonRounds(rounds, **{"pairs": "within_shards", "unstopped": True, **settings})


def test_drank_rf_is_equation_4():
    for alpha in (ALPHA, 1e-3):
        model = fitted("DRank-RF", 40, alpha=alpha)
        wanted = slow.drank_rf(model.basis_.evaluate(X), RELEVANCE, SHARDS, alpha)
        assert relative(model.predict(NEW), model.basis_.evaluate(NEW) @ wanted) < 1e-12


def test_drank_is_equation_2():
    model = fitted("DRank")
    wanted = KERNEL(NEW, X) @ slow.drank(KERNEL(X), RELEVANCE, SHARDS, ALPHA)
    assert relative(model.predict(NEW), wanted) < 1e-12


@pytest.mark.parametrize("engine", ["threads", "dask"], indirect=True)
@pytest.mark.parametrize("rounds", [1, 2, 8])
def test_drank_rf_c_is_algorithm_1(rounds, engine):
    model = fitted("DRank-RF-C", 40, rounds=rounds, engine=engine)
    wanted = slow.drank_rf_c(model.basis_.evaluate(X), RELEVANCE, SHARDS, ALPHA, rounds)[-1]
    assert relative(model.predict(NEW), model.basis_.evaluate(NEW) @ wanted) < 1e-12
    assert relative(model.dual_coef_[:, 0], wanted) < 1e-12
    assert model.n_iter_ == rounds
    assert model.fit_.solution.status.succeeded
    sent = {e.what: e for e in model.communication_.exchanges}
    assert sent["solve"].times == rounds
    assert sent["solve"].to_shard == sent["solve"].from_shard == 40  # there is no constant


@pytest.mark.parametrize("engine", ["threads", "dask"], indirect=True)
def test_drank_c_counts_the_same_pairs(engine):
    """With the exact kernel, from the average, in shards that exchange rows."""
    model = fitted("DRank-C", rounds=3, engine=engine)
    wanted = KERNEL(NEW, X) @ slow.drank_c(KERNEL(X), RELEVANCE, SHARDS, ALPHA, 3)[-1]
    assert relative(model.predict(NEW), wanted) < 1e-12
    assert model.fit_.solution.steps == 3


def test_all_pairs_are_another_problem():
    """The rounds of all pairs lead to the ranking of all rows, those within shards do not."""
    whole = ranker("sum").fit(X, RELEVANCE).predict(NEW)
    found = {
        pairs: ranker(ConjugateRounds(60, pairs=pairs)).fit(X, RELEVANCE, shard_labels=SPLIT)
        for pairs in ("all", "within_shards")
    }
    assert relative(found["all"].predict(NEW), whole) < 1e-7
    # The minimizer over pairs within shards, by its own normal equations.
    phi = found["within_shards"].basis_.evaluate(X)
    H, right = (
        sum(w * part for w, part in zip(slow.pair_shares(SHARDS), parts, strict=True))
        for parts in zip(
            *(slow.shard_system(phi, RELEVANCE, D, ALPHA) for D in SHARDS), strict=True
        )
    )
    assert relative(found["within_shards"].dual_coef_[:, 0], np.linalg.solve(H, right)) < 1e-8
    assert relative(found["within_shards"].predict(NEW), whole) > 1e-3


@over_pairs(
    weighting=["pair", "query"],
    weight=[None, WEIGHT],
    basis=[RandomFeatures(40, random_state=5), "full"],
    start=["zero", "average"],
    engine=["threads", "dask"],
    indirect=["engine"],
)
def test_queries_may_be_split_where_only_pairs_within_shards_count(
    weighting, weight, basis, start, engine
):
    """The rows of a query in one shard are a query of their own: the same as naming them so."""
    parts = np.char.add(SPLIT.astype(str), np.char.add(" ", QID.astype(str)))
    settings = {"pair_weighting": weighting, "engine": engine}
    split = ranker(within(3, start=start), basis, **settings)
    split.fit(X, RELEVANCE, QID, weight, shard_labels=SPLIT)
    named = ranker(within(3, start=start), basis, **settings)
    named.fit(X, RELEVANCE, parts, weight, shard_labels=SPLIT)
    assert relative(split.predict(NEW), named.predict(NEW)) < 1e-12
    # Where all pairs of queries with such names count, other shares lead to the same solution.
    split.set_params(combine=within(60, start=start, unstopped=False))
    named.set_params(combine=NewtonRounds(60, start=start))
    split.fit(X, RELEVANCE, QID, weight, shard_labels=SPLIT)
    named.fit(X, RELEVANCE, parts, weight, shard_labels=SPLIT)
    assert relative(split.predict(NEW), named.predict(NEW)) < 1e-6


@pytest.mark.parametrize("pairs", ["all", "within_shards"])
def test_files_with_queries_in_no_order(pairs, tmp_path):
    """Arrays are sorted by query within shards; rows of files are taken as they come."""
    split = QID % 3
    paths = [tmp_path / f"{shard}.csv" for shard in range(3)]
    for shard, path in enumerate(paths):
        here = split == shard
        table = np.c_[X, RELEVANCE, QID][here]
        np.savetxt(path, table, "%.17g", ",", header="a,b,c,y,q", comments="")
    model = ranker(NewtonRounds(3, pairs=pairs), "full", scale=None, metric=None, columns=None)
    files = model.fit([str(path) for path in paths], "y", "q").predict(NEW)
    arrays = model.fit(X, RELEVANCE, QID, shard_labels=split).predict(NEW)
    assert relative(files, arrays) < 1e-10


def test_alpha_is_chosen_for_all_pairs():
    settings = {"alpha": "auto", "alphas": np.geomspace(1e-4, 1, 5), "selection": "gcv"}
    model = ranker(within(2), **settings).fit(X, RELEVANCE, shard_labels=SPLIT)
    whole = ranker("sum", **settings).fit(X, RELEVANCE, shard_labels=SPLIT)
    assert model.alpha_ == pytest.approx(whole.alpha_)


def test_weights_of_rows_are_repeats():
    repeated = np.repeat(np.arange(len(X)), WEIGHT.astype(int))
    one = ranker(within(3)).fit(X, RELEVANCE, None, WEIGHT, shard_labels=SPLIT)
    two = ranker(within(3)).fit(X[repeated], RELEVANCE[repeated], shard_labels=SPLIT[repeated])
    assert relative(one.predict(NEW), two.predict(NEW)) < 1e-10


@pytest.mark.parametrize("engine", ["threads", "dask"], indirect=True)
@pytest.mark.parametrize("start", ["zero", "average"])
def test_unstopped_rounds_diverge_as_they_are_written(start, engine):
    alpha, many = 1e-5, np.arange(len(X)) % 30
    shards = [np.flatnonzero(many == shard) for shard in range(30)]
    model = ranker(within(6, start=start), alpha=alpha, engine=engine)
    with pytest.warns(MercerWarning, match=r"^the rounds diverge: .* the model is that of round 6"):
        model.fit(X, RELEVANCE, shard_labels=many)
    solution = model.fit_.solution
    assert (solution.status, solution.steps, model.n_iter_) == (Status.DIVERGED, 6, 6)
    assert len(solution.residuals) == 7
    assert solution.residuals[-1] > 10 * solution.residuals[0]
    if start == "zero":
        phi = model.basis_.evaluate(X)
        wanted = slow.drank_rf_c(phi, RELEVANCE, shards, alpha, 6)[-1]
        assert relative(model.dual_coef_[:, 0], wanted) < 1e-6  # what rounding has left of it
    # The same rounds that may stop keep the best of them, or the average.
    stopped = ranker(within(6, start=start, unstopped=False), alpha=alpha)
    with pytest.warns(MercerWarning, match=r"leads away.*the model is (that|the average)"):
        stopped.fit(X, RELEVANCE, shard_labels=many)
    assert stopped.fit_.solution.status is Status.DIVERGED
    assert np.linalg.norm(stopped.dual_coef_) < np.linalg.norm(model.dual_coef_)


@pytest.mark.parametrize("basis", [RandomFeatures(40, random_state=5), "full"], ids=str)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rounds_that_overflow_end_with_the_last_finite_one(basis):
    many = np.arange(len(X)) % 60
    model = ranker(within(5000), basis, alpha=1e-7)
    with pytest.warns(MercerWarning, match=r"overflows, and the model is that of round \d+\."):
        model.fit(X, RELEVANCE, shard_labels=many)
    assert model.fit_.solution.status is Status.DIVERGED
    assert 10 < model.n_iter_ < 5000
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.predict(NEW)).all()
    assert "diverge" in str(model.summary())


def test_unstopped_rounds_go_on_after_they_have_converged():
    model = ranker(within(40, start="zero"), alpha=10.0)
    model.fit(X, RELEVANCE, shard_labels=SPLIT)
    assert model.n_iter_ == 40
    assert model.fit_.solution.status is Status.CONVERGED
    assert (
        ranker(within(40, unstopped=False), alpha=10.0)
        .fit(X, RELEVANCE, shard_labels=SPLIT)
        .n_iter_
        < 40
    )


def test_unstopped_rounds_of_a_regression():
    settings = {**SETTINGS, "basis": Landmarks(20), "shards": 3}
    plain = KernelRegressor(**settings, combine=NewtonRounds(4)).fit(X, Y)
    same = KernelRegressor(**settings, combine=NewtonRounds(4, unstopped=True)).fit(X, Y)
    np.testing.assert_array_equal(same.predict(NEW), plain.predict(NEW))


def test_what_cannot_be_is_refused():
    for settings, said in (
        ({"pairs": "within"}, "did you mean 'within_shards'"),
        ({"pairs": "all", "unstopped": "yes"}, "unstopped of NewtonRounds"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            ranker(NewtonRounds(**settings)).fit(X, RELEVANCE, shard_labels=SPLIT)
    with pytest.raises(ValueError, match="pairs='within_shards' is for rankings"):
        KernelRegressor(basis=Landmarks(20), shards=3, combine=within()).fit(X, Y)
    with pytest.raises(ValueError, match=r"NewtonRounds\(pairs='within_shards'\)"):
        ranker("newton", "full").fit(X, RELEVANCE, shard_labels=SPLIT)
    with pytest.raises(ValueError, match="all 600 shards have a single row"):
        ranker(within()).fit(X, RELEVANCE, shard_labels=np.arange(600))
    with pytest.raises(ValueError, match="two rows of one query in one shard"):
        ranker(within()).fit(X, RELEVANCE, np.arange(600) // 2, shard_labels=np.arange(600) % 2)


def test_the_stop_of_a_recipe_can_be_set():
    model = recipe("DRank-RF-C", n_components=40, shards=3)
    assert model.get_params()["combine__unstopped"] is True
    model.set_params(combine__unstopped=False, combine__pairs="all")
    assert repr(model.combine) == "NewtonRounds(start='zero')"
    assert recipe("DRank-RF-C", shards=3).combine.unstopped
