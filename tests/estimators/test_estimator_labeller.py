"""Rows to label: their probabilities, their weights, and that both do what they promise."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from labeller_cases import ALPHA, BASES, RNG, N, X, Y, labeller
from mercer import (
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    open_rows,
    write_svmlight,
)
from mercer.rows import ArraySource, NpySource
from pairs import over_each


def features(basis, rows):
    """Coordinates with the Gram matrix as inner product."""
    H, Gamma = basis.evaluate(rows).astype(float), basis.gram()
    if Gamma is None:
        return H
    values, vectors = np.linalg.eigh(Gamma)
    return H @ (vectors / np.sqrt(values))


def scores_of(basis, rows, alpha):
    """The definition: phi'(Sigma + alpha)^-1 phi and what phi misses, a row at a time."""
    phi = features(basis, rows)
    inverse = np.linalg.inv(phi.T @ phi / len(phi) + alpha * np.eye(phi.shape[1]))
    scores = np.array([row @ inverse @ row for row in phi])
    if basis.gram() is None:  # random features: phi is the whole vector
        return scores
    missed = np.maximum(basis.kernel_.diag(rows) - np.sum(phi**2, axis=1), 0.0)
    return scores + missed / (alpha + missed / len(rows))


# -- probabilities and weights ---------------------------------------------------------------------


@over_each(alpha=[1e-4, 1e-2, 1.0], basis=BASES)
def test_probabilities_are_their_definition(basis, alpha):
    found = labeller(basis, alpha=alpha).fit(X)
    c = scores_of(found.basis_, X, alpha)
    np.testing.assert_allclose(found.probability_, (c + c.mean()) / (2 * c.sum()), rtol=1e-8)
    assert found.probability_.sum() == pytest.approx(1)
    assert found.effective_dimension_ == pytest.approx(c.mean(), rel=1e-8)
    assert found.alpha_ == alpha


@pytest.mark.parametrize("basis", ["auto", "full", "sketch"])
def test_any_basis_will_do(basis):
    found = labeller(basis).fit(X)
    c = scores_of(found.basis_, X, ALPHA)
    np.testing.assert_allclose(found.probability_, (c + c.mean()) / (2 * c.sum()), rtol=1e-5)


@pytest.mark.parametrize("basis", BASES)
def test_weights_are_counts_over_probabilities(basis):
    found = labeller(basis, budget=200).fit(X)
    assert found.count_.sum() == found.n_draws_ == 200
    assert np.all(np.diff(found.indices_) > 0)
    assert found.count_.min() >= 1
    wanted = found.count_ / (N * found.probability_[found.indices_])
    np.testing.assert_allclose(found.sample_weight_, wanted, rtol=1e-12)
    w = found.sample_weight_
    assert found.effective_sample_size_ == pytest.approx(w.sum() ** 2 / (w @ w))
    assert 1 <= found.effective_sample_size_ <= len(w)
    assert w.max() <= 2 * found.count_.max()  # q is at least 1 / (2 N)


def test_single_precision_is_close():
    wide, narrow = labeller().fit(X), labeller(dtype="float32").fit(X.astype(np.float32))
    np.testing.assert_allclose(narrow.probability_, wide.probability_, rtol=1e-3)


def test_weighted_moments_are_unbiased_and_others_are_not():
    pool, size, budget = X[:60], 3, 15
    upper = np.triu_indices(size)
    weighted, plain = [], []
    for seed in range(60):
        found = labeller(RandomFeatures(size, random_state=0), budget=budget, random_state=seed)
        phi = features(found.fit(pool).basis_, pool)
        products = np.einsum("ij,ik->ijk", phi, phi)[:, *upper]
        before, wanted = np.zeros((2, products.shape[1])), products.mean(axis=0)
        for _ in range(10):  # what a round adds to the sums of all rounds is a sample of its own
            rows = products[found.indices_]
            now = np.stack([found.sample_weight_ @ rows, found.count_ @ rows]) / budget
            weighted.append(now[0] - before[0] - wanted)
            plain.append(now[1] - before[1] - wanted)
            before = now
            found.select()
    for sample, unbiased in ((np.array(weighted), True), (np.array(plain), False)):
        error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
        distance = np.abs(sample.mean(axis=0)) / error
        assert (distance.max() < 4) == unbiased, distance


def test_the_penalty_goes_with_the_budget():
    """The effective dimension is a fifth of the budget, and the penalty falls as it grows."""
    alphas = []
    for budget in (20, 50, 100):
        found = labeller(RandomFeatures(80, random_state=0), alpha="auto", budget=budget).fit(X)
        alphas.append(found.alpha_)
        c = scores_of(found.basis_, X, found.alpha_)
        assert c.mean() == pytest.approx(found.effective_dimension_, rel=1e-6)
        assert budget / 5 * 0.8 < found.effective_dimension_ <= budget / 5
    assert alphas[0] > alphas[1] > alphas[2]
    assert labeller(alpha="auto", budget=1).fit(X).alpha_ > 0
    few = labeller(RandomFeatures(3, random_state=0), alpha="auto", budget=N).fit(X)
    assert few.effective_dimension_ == pytest.approx(3)


# -- rounds and seeds ------------------------------------------------------------------------------


def test_rounds_return_a_row_once_and_weigh_all_of_them():
    found = labeller(budget=40).fit(X)
    seen, draws = set(found.indices_), 40
    first = dict(zip(found.indices_, found.count_, strict=True))
    for budget in (None, 100, 1, 300):
        new = found.select(budget)
        draws += 40 if budget is None else budget
        assert not seen & set(new)
        assert np.all(np.diff(new) > 0)
        seen |= set(new)
        assert set(found.indices_) == seen
        assert found.count_.sum() == found.n_draws_ == draws
        wanted = found.count_ / (N * found.probability_[found.indices_])
        np.testing.assert_allclose(found.sample_weight_, wanted)
    later = dict(zip(found.indices_, found.count_, strict=True))
    assert all(later[row] >= count for row, count in first.items())
    assert len(found.fit(X).indices_) <= 40  # a fit begins anew
    assert found.n_draws_ == 40


def test_draws_are_a_matter_of_the_seed():
    one, same, other = (labeller(random_state=seed).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.indices_, same.indices_)
    np.testing.assert_array_equal(one.select(30), same.select(30))
    np.testing.assert_array_equal(one.sample_weight_, same.sample_weight_)
    assert set(one.indices_) != set(other.indices_)
    for make in (np.random.RandomState, np.random.default_rng):
        a, b = (labeller(random_state=make(3)).fit(X) for _ in range(2))
        np.testing.assert_array_equal(a.indices_, b.indices_)


@pytest.mark.parametrize("basis", BASES)
def test_a_basis_with_a_seed_keeps_to_it(basis):
    """As in the other estimators: only a basis without one takes the estimator's."""
    one, other = (labeller(basis, random_state=seed).fit(X) for seed in (0, 1))
    np.testing.assert_array_equal(one.basis_.evaluate(X), other.basis_.evaluate(X))


def test_all_rows_are_drawn_in_the_end():
    found = labeller().fit(X[:300])
    found.select(100_000)
    np.testing.assert_array_equal(found.indices_, np.arange(300))
    np.testing.assert_allclose(found.sample_weight_ / found.n_draws_ * 300, 1.0, rtol=0.6)
    assert len(found.select(10)) == 0


# -- pools of every kind ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["npy", "mapped", "parquet", "source", "frame", "list", "svm"])
def test_a_pool_may_be_anything(kind, tmp_path):
    wanted = labeller().fit(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.save(tmp_path / "X.npy", X)
    frame.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=70)
    write_svmlight(tmp_path / "rows.svm", X, np.zeros(N))
    pool = {
        "npy": lambda: NpySource(tmp_path / "X.npy"),
        "mapped": lambda: np.load(tmp_path / "X.npy", mmap_mode="r"),
        "parquet": lambda: tmp_path / "rows.parquet",
        "source": lambda: ArraySource(X, Y),
        "frame": lambda: frame,
        "list": lambda: X.tolist(),
        "svm": lambda: str(tmp_path / "rows.svm"),
    }[kind]()
    found = labeller().fit(pool)
    np.testing.assert_allclose(found.probability_, wanted.probability_, rtol=1e-9)
    np.testing.assert_array_equal(found.indices_, wanted.indices_)
    assert found.n_features_in_ == 3
    if kind in ("parquet", "frame"):
        assert list(found.feature_names_in_) == ["a", "b", "c"]


def test_sparse_pools():
    thin = X * (np.abs(X) > 1)
    found = labeller().fit(sparse.csr_array(thin))
    np.testing.assert_allclose(found.probability_, labeller().fit(thin).probability_, rtol=1e-9)


def test_labels_in_a_file_are_not_looked_at(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    wanted = labeller().fit(X)
    for labels in (Y, np.full(N, np.nan), np.array(["yes", "no"] * (N // 2))):
        path = tmp_path / "rows.parquet"
        frame.assign(label=labels).to_parquet(path, index=False)
        found = labeller().fit(open_rows(path, "label"))
        np.testing.assert_array_equal(found.indices_, wanted.indices_)
        assert found.n_features_in_ == 3
    weighted = ArraySource(X, np.full(N, np.nan), weight=RNG.random(N))
    np.testing.assert_array_equal(labeller().fit(weighted).indices_, wanted.indices_)
    np.testing.assert_array_equal(labeller().fit(X, Y).indices_, wanted.indices_)


def test_a_label_column_that_is_named_is_no_feature(tmp_path):
    """``fit(path, "label")`` is how the other estimators say which column is which."""
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=Y).to_parquet(path, index=False)
    try:
        found = labeller().fit(path, "label")
    except (TypeError, ValueError):
        return  # to refuse it is as good
    assert found.n_features_in_ == 3


# -- what is refused -------------------------------------------------------------------------------

REFUSED = {
    "no budget": ({"budget": 0}, "budget must be at least 1"),
    "half a row": ({"budget": 1.5}, "an integer"),
    "more than the pool": ({"budget": N + 1}, "at most the 400 rows of the pool"),
    "no penalty": ({"alpha": 0}, "alpha must be a finite number greater than 0"),
    "a negative penalty": ({"alpha": -1.0}, "alpha must be a finite number greater than 0"),
    "NaN": ({"alpha": np.nan}, "alpha must be a finite number greater than 0"),
    "a word": ({"alpha": "gcv"}, "'auto' or 'theory', got 'gcv'"),
    "None": ({"alpha": None}, "alpha must be a number"),
    "precomputed": ({"kernel": "precomputed"}, "precomputed kernel has no rows to draw"),
    "a basis": ({"basis": "landmark"}, "landmarks"),
    "a precision": ({"dtype": "float16"}, "dtype"),
    "no shards": ({"shards": 0}, "shards"),
    "memory": ({"memory_limit": "much"}, "memory_limit"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(case):
    settings, said = REFUSED[case]
    found = labeller().fit(X)
    before, state = found.indices_.copy(), dict(found.__dict__)
    found.set_params(**settings)
    with pytest.raises((ValueError, TypeError), match=said):
        found.fit(X)
    for name, value in state.items():
        if name not in settings:
            assert found.__dict__[name] is value
    np.testing.assert_array_equal(found.indices_, before)
    assert found.set_params(**{name: state[name] for name in settings}).select(5) is not None


@over_each(wrong=[np.nan, np.inf], basis=BASES)
def test_a_row_that_is_not_finite_is_named(basis, wrong, tmp_path):
    rows = X.copy()
    rows[321, 1] = wrong
    np.save(tmp_path / "X.npy", rows)
    for pool in (rows, NpySource(tmp_path / "X.npy")):
        found = labeller(basis, columns=None)
        with pytest.raises(ValueError, match=r"(NaN|inf).* at row 321, column 1"):
            found.fit(pool)
        assert not hasattr(found, "probability_")
        assert not hasattr(found, "n_features_in_")


def test_a_round_before_the_fit_or_of_nothing_is_refused():
    with pytest.raises(NotFittedError):
        labeller().select(5)
    found = labeller().fit(X)
    before = found.sample_weight_
    for wrong in (0, -3, 2.5, "all"):
        with pytest.raises((ValueError, TypeError), match="budget"):
            found.select(wrong)
    assert found.sample_weight_ is before
    assert found.n_draws_ == 50


def test_functions_that_are_0_everywhere_have_no_scores():
    with pytest.raises(ValueError, match="no row has a positive score"):
        labeller("landmarks", kernel="linear").fit(np.zeros((60, 2)))


@pytest.mark.parametrize("n", [1, 2])
def test_small_pools(n):
    found = labeller("auto", budget=n).fit(X[:n])
    assert found.probability_.sum() == pytest.approx(1)
    assert found.count_.sum() == n


# -- what it is for --------------------------------------------------------------------------------


def test_importance_beats_chance_where_rows_differ_and_noise_is_low():
    """A linear problem of heavy tails: excess errors over the pool, of as many labels each."""
    errors = []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        pool = rng.standard_t(2.2, (3000, 8))
        truth = pool @ rng.standard_normal(8)
        y = truth + 0.05 * rng.standard_normal(3000)
        found = labeller(Landmarks(25), kernel="linear", alpha=1e-3, budget=40, random_state=seed)
        chosen = found.fit(pool).indices_
        by_chance = rng.choice(3000, len(chosen), replace=False)
        row = []
        for at, weight in ((chosen, found.sample_weight_), (by_chance, None)):
            model = KernelRegressor("linear", "full", 1e-6, fit_intercept=False)
            row.append(np.mean((model.fit(pool[at], y[at], weight).predict(pool) - truth) ** 2))
        errors.append(row)
    by_importance, by_chance = np.median(errors, axis=0)
    assert by_importance < by_chance / 1.5
