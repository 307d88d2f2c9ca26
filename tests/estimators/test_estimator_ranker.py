"""Ranking is the explicit problem of all pairs, in time linear in the rows."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import mercer.moments.by_fold
import mercer.plan.moments_or_products
import mercer.plan.plan
from mercer import (
    KCGM,
    Gaussian,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LeaveOneOut,
    PreconditionedCG,
    RandomFeatures,
    StopAfter,
)
from mercer.metrics import ndcg, pairwise_error
from pairs import over_pairs

RNG = np.random.default_rng(0)
N = 90
X = RNG.random((N, 2))
QID = RNG.integers(0, 9, N)
QID[0] = 99  # a query of a single row
Y = np.round(4 * X[:, 0] + RNG.random(N)) + 20.0 * (QID % 4)
WEIGHT = RNG.integers(1, 4, N).astype(float)
NEW = RNG.random((20, 2))
KERNEL, POINTS, ALPHA = Gaussian(0.5), X[::6], 1e-3


def of_all_pairs(qid, weight, weighting):
    """Solve the problem as it is written, with a row for every pair; return scores of NEW."""
    rows, targets, weights = [], [], []
    H = KERNEL(X, POINTS)
    queries = [q for q in np.unique(qid) if np.sum(qid == q) > 1]
    total = {q: weight[qid == q].sum() for q in queries}
    for q in queries:
        at = np.flatnonzero(qid == q)
        share = 1.0 if weighting == "pair" else 1.0 / total[q] ** 2
        for i in at:
            for k in at:
                rows.append(H[i] - H[k])
                targets.append(Y[i] - Y[k])
                weights.append(share * weight[i] * weight[k])
    D, t, w = np.array(rows), np.array(targets), np.array(weights)
    w = w / (sum(total[q] ** 2 for q in queries) if weighting == "pair" else len(queries))
    A = D.T @ (w[:, None] * D) + ALPHA * KERNEL(POINTS)
    return KERNEL(NEW, POINTS) @ np.linalg.solve(A, D.T @ (w * t))


def ranker(**settings):
    settings = {"alpha": ALPHA, "dtype": "float64", "random_state": 0, **settings}
    return KernelRanker(**{"kernel": KERNEL, "basis": Landmarks(sampling=POINTS), **settings})


@pytest.mark.parametrize("weighting", ["pair", "query"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_problem_of_all_pairs(weighting, weighted):
    weight = WEIGHT if weighted else np.ones(N)
    model = ranker(pair_weighting=weighting).fit(X, Y, QID, weight if weighted else None)
    wanted = of_all_pairs(QID, weight, weighting)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(model.predict(NEW), wanted, rtol=0, atol=1e-9 * scale)
    assert model.n_queries_ == 10
    assert model.n_skipped_queries_ == 1


def test_without_queries_it_is_regression_at_half_of_alpha():
    model = ranker().fit(X, Y)
    wanted = of_all_pairs(np.zeros(N), np.ones(N), "pair")
    np.testing.assert_allclose(model.predict(NEW), wanted, rtol=1e-7, atol=1e-8)
    half = KernelRegressor(
        KERNEL, Landmarks(sampling=POINTS), ALPHA / 2, dtype="float64", random_state=0
    ).fit(X, Y)
    np.testing.assert_allclose(
        model.predict(NEW), half.predict(NEW) - half.intercept_[0], rtol=1e-9, atol=1e-10
    )
    one = ranker().fit(X, Y, np.zeros(N))  # a single query
    np.testing.assert_allclose(one.predict(NEW), model.predict(NEW), rtol=1e-8, atol=1e-9)
    assert model.alpha_ == ALPHA


@pytest.mark.parametrize("rows", [512, 700])
def test_queries_longer_than_a_block(rows, monkeypatch):
    rng = np.random.default_rng(1)
    X, qid = rng.random((4000, 2)), np.sort(rng.choice([0, 1, 1, 1, 2, 7], 4000))
    y = X[:, 0] + 5 * qid
    wanted = ranker().fit(X, y, qid).predict(NEW)
    monkeypatch.setattr(mercer.plan.plan, "BLOCK_ENTRIES", rows * len(POINTS))
    monkeypatch.setattr(mercer.plan.plan, "SUMMED_ROWS", 512)
    model = ranker().fit(X, y, qid)
    assert model.fit_.plan.block_rows <= max(512, rows)
    np.testing.assert_allclose(model.predict(NEW), wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("basis", [RandomFeatures(40), Landmarks(25)], ids=str)
def test_the_order_of_rows_and_the_type_of_queries_do_not_matter(basis, dtype):
    basis = RandomFeatures(40) if isinstance(basis, RandomFeatures) else Landmarks(sampling=POINTS)
    order = RNG.permutation(N)
    names = np.array([f"query {q}" for q in QID])
    one = ranker(basis=basis, dtype=dtype).fit(X, Y, QID)
    two = ranker(basis=basis, dtype=dtype).fit(X[order], Y[order], names[order])
    np.testing.assert_allclose(two.predict(NEW), one.predict(NEW), rtol=1e-3, atol=1e-3)


def test_levels_of_queries_do_not_matter():
    one = ranker().fit(X, Y, QID)
    two = ranker().fit(X, Y + 100.0 * QID, QID)
    np.testing.assert_allclose(two.predict(NEW), one.predict(NEW), rtol=1e-6, atol=1e-6)


def test_weight_two_is_the_row_twice():
    again = np.arange(1, 30)  # not the row that is a query of its own: twice, it has a pair
    weight = np.where(np.isin(np.arange(N), again), 2.0, 1.0)
    twice = np.r_[np.arange(N), again]
    one = ranker().fit(X, Y, QID, weight)
    two = ranker().fit(X[twice], Y[twice], QID[twice])
    np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), rtol=1e-7, atol=1e-8)
    zero = np.where(np.arange(N) < 30, 0.0, 1.0)
    one, two = ranker().fit(X, Y, QID, zero), ranker().fit(X[30:], Y[30:], QID[30:])
    np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("selection", ["gcv", "kfold"])
@pytest.mark.parametrize("qid", [None, QID], ids=["all", "queries"])
def test_alpha_is_chosen(selection, qid):
    model = ranker(alpha="auto", selection=selection).fit(X, Y, qid)
    assert len(model.cv_results_["alpha"]) == 20
    assert model.alpha_ in model.cv_results_["alpha"]
    again = ranker(alpha=model.alpha_).fit(X, Y, qid)
    np.testing.assert_allclose(again.predict(NEW), model.predict(NEW), rtol=1e-6, atol=1e-6)
    assert f"{model.alpha_:.4g}" in str(model.summary())


@pytest.mark.parametrize("weighting", ["pair", "query"])
@pytest.mark.parametrize("rows", [None, 7])
def test_leaving_out_a_query_is_a_fit_without_it(weighting, rows, monkeypatch):
    """With the same total penalty, as in leave-one-out of rows."""
    alphas = np.array([1e-4, 1e-2, 1.0])
    if rows is not None:  # queries longer than a block
        monkeypatch.setattr(mercer.plan.plan, "BLOCK_ENTRIES", 1)
        original = mercer.moments.by_fold.checked_blocks

        def few(source, targets, _, **more):
            return original(source, targets, rows, **more)

        monkeypatch.setattr(mercer.moments.by_fold, "checked_blocks", few)
    settings = {"pair_weighting": weighting, "basis": Landmarks(sampling=POINTS[:6])}
    model = ranker(alpha="auto", alphas=alphas, selection="loo", **settings)
    found = model.fit(X, Y, QID, WEIGHT).cv_results_["mean_squared_error"]

    def mass(weight):  # of one query
        return weight.sum() ** 2 if weighting == "pair" else 1.0

    queries = [q for q in np.unique(QID) if np.sum(q == QID) > 1]
    whole = sum(mass(WEIGHT[q == QID]) for q in queries)
    wanted = np.zeros(3)
    for q in queries:
        own = q == QID
        share = mass(WEIGHT[own]) / whole
        for number, alpha in enumerate(alphas):
            left = ranker(alpha=alpha / (1 - share), **settings)
            left.fit(X[~own], Y[~own], QID[~own], WEIGHT[~own])
            residual = Y[own] - left.predict(X[own])
            residual = residual - np.average(residual, weights=WEIGHT[own])
            wanted[number] += share * np.average(residual**2, weights=WEIGHT[own])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    sampled = ranker(alpha="auto", selection=LeaveOneOut(3), **settings).fit(X, Y, QID)
    assert sampled.alpha_ in sampled.cv_results_["alpha"]


def test_the_full_kernel_is_centered_by_query():
    model = ranker(basis="full").fit(X, Y, QID, WEIGHT)
    same = ranker(basis=Landmarks(sampling=X)).fit(X, Y, QID, WEIGHT)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-5, atol=1e-6)


@over_pairs(
    keep=[True, False], weighting=["pair", "query"], basis=["landmarks", "features", "full"]
)
def test_products_are_centered_by_query(basis, weighting, keep, monkeypatch):
    """With queries that go on in other blocks, too."""
    monkeypatch.setattr(mercer.plan.moments_or_products, "BLOCK_ENTRIES", 1)
    rng = np.random.default_rng(1)
    X, qid = rng.random((3000, 2)), rng.choice([0, 1, 1, 1, 2, 7, *range(10, 40)], 3000)
    y, weight = X[:, 0] + np.sin(4 * X[:, 1]) + 5 * qid, rng.integers(1, 3, 3000)
    if basis == "full":
        X, qid, y, weight = X[:200], qid[:200], y[:200], weight[:200]
    chosen = {"landmarks": Landmarks(sampling=POINTS), "features": RandomFeatures(30)}
    settings = {"basis": chosen.get(basis, "full"), "pair_weighting": weighting, "alpha": 1e-2}
    direct = ranker(**settings).fit(X, y, qid, weight)
    tolerance = 1e-7 if basis == "full" else 1e-10
    solver = PreconditionedCG(tolerance=tolerance, max_steps=200, keep=keep)
    model = ranker(solver=solver, **settings).fit(X, y, qid, weight)
    assert model.fit_.plan.block_rows < len(X) or basis == "full"
    np.testing.assert_allclose(model.predict(NEW), direct.predict(NEW), rtol=1e-5, atol=1e-6)
    rough = PreconditionedCG(keep=keep)
    open_alpha = ranker(**{**settings, "alpha": "auto", "solver": rough}).fit(X, y, qid)
    assert open_alpha.score(X, y - 5 * qid, qid) > 0.97


def test_folds_are_of_whole_queries():
    model = ranker(alpha="auto", selection="kfold").fit(X, Y, QID)
    folds = model.fit_.folds
    assert sum(fold.rows for fold in folds) == N - 1
    # A fold's moments are those of its queries alone: no mean is left over.
    for fold in folds:
        assert np.all(fold.sum_h == 0)


def test_other_solvers():
    model = ranker(solver=KCGM(StopAfter(8)), alpha="auto").fit(X, Y, QID)
    assert model.score(X, np.round(4 * X[:, 0]), QID) > 0.9


def test_scores():
    relevance = np.round(4 * X[:, 0])
    model = KernelRanker(alpha=1e-3, random_state=0).fit(X, relevance, QID)
    assert model.score(X, relevance, QID) == ndcg(relevance, model.predict(X), QID)
    assert model.score(X, relevance) == 1 - pairwise_error(relevance, model.predict(X))
    assert model.score(X, relevance - 2, QID) == 1 - pairwise_error(
        relevance - 2, model.predict(X), QID
    )


def test_it_is_an_estimator():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = clone(ranker(kernel="gaussian")).fit(frame, Y, pd.Series(QID))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.predict(frame).shape == (N,)
    search = GridSearchCV(
        ranker(), {"kernel__bandwidth": [0.3, 1.0], "alpha": [1e-3, 1e-1]}, cv=GroupKFold(3)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search.estimator.set_fit_request(qid=True).set_score_request(qid=True)
        assert search.fit(X, 4 * X[:, 0] + QID, groups=QID, qid=QID).best_score_ > 0.9
    with pytest.raises(AttributeError, match="all rows at once"):
        model.partial_fit(X, Y)


REFUSED = {
    "qid": ((X, Y, QID[:5]), {}),
    "single row": ((X, Y, np.arange(N)), {}),
    "NaN": ((X, np.where(Y > 3, np.nan, Y), QID), {"unlabelled": "use"}),
    "one number per row": ((X, np.c_[Y, Y], QID), {}),
    "pair_weighting": ((X, Y, QID), {"pair_weighting": "row"}),
    "precomputed": ((np.eye(N), Y, QID), {"kernel": "precomputed", "basis": Landmarks(5)}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_is_refused(said):
    arguments, settings = REFUSED[said]
    with pytest.raises(ValueError, match=said):
        ranker(**settings).fit(*arguments)
