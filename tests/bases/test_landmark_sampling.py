"""Landmarks by every way to choose them, in every place that they are used."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    Polynomial,
    open_rows,
)
from mercer.bases.landmarks import SAMPLINGS
from mercer.engines import ThreadEngine
from mercer.validation import MercerWarning
from pairs import over_each

BY_ROWS = [name for name in SAMPLINGS if name != "kmeans"]
BY_KERNEL = [name for name in BY_ROWS if name != "uniform"]
RNG = np.random.default_rng(0)
N, M = 500, 30
X = RNG.standard_normal((N, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
WEIGHT = RNG.uniform(0.5, 2.0, N)
KERNEL = Gaussian(1.5)


def landmarks(sampling, size=M, **settings):
    return Landmarks(size, sampling, **{"kernel": KERNEL, "random_state": 0, **settings})


def check_rows(basis, rows, size=M):
    """Landmarks are distinct rows, those that ``indices_`` says."""
    assert len(np.unique(basis.indices_)) == len(basis.indices_) == basis.size == size
    np.testing.assert_array_equal(basis.landmarks_, rows[basis.indices_])


@pytest.mark.parametrize("sampling", BY_ROWS)
def test_landmarks_are_distinct_rows(sampling):
    basis = landmarks(sampling).fit(X)
    check_rows(basis, X)
    again, other = landmarks(sampling).fit(X), landmarks(sampling, random_state=1).fit(X)
    np.testing.assert_array_equal(again.indices_, basis.indices_)
    assert set(other.indices_) != set(basis.indices_)


@pytest.mark.parametrize("sampling", BY_ROWS)
def test_landmarks_of_more_rows_than_are_looked_at(sampling):
    rows = np.random.default_rng(1).standard_normal((10_500, 2))
    check_rows(landmarks(sampling, 20).fit(rows), rows, 20)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_single_precision_and_sparse_rows(sampling):
    narrow = X.astype(np.float32)
    basis = landmarks(sampling).fit(narrow)
    thin = X * [1.0, 1.0, 0.0]
    from_sparse = landmarks(sampling).fit(sparse.csr_array(thin))
    assert from_sparse.transform(sparse.csr_array(thin)).shape == (N, M)
    if sampling != "kmeans":
        check_rows(basis, narrow)
        check_rows(from_sparse, thin)
        from_dense = landmarks(sampling).fit(thin)
        np.testing.assert_array_equal(from_sparse.indices_, from_dense.indices_)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_median_distance_is_that_of_rows(sampling):
    basis = landmarks(sampling, kernel=Gaussian()).fit(X)
    wanted = landmarks("uniform", kernel=Gaussian()).fit(X).kernel_.bandwidth
    assert basis.kernel_.bandwidth == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize("sampling", BY_KERNEL)
def test_parameters_that_are_left_open_are_those_of_the_fit(sampling):
    """One over the columns, for the values that rows are chosen by as well."""
    found = landmarks(sampling, 8, kernel=Polynomial(2)).fit(X)
    wanted = landmarks(sampling, 8, kernel=Polynomial(2, gamma=1 / 3)).fit(X)
    np.testing.assert_array_equal(found.indices_, wanted.indices_)


@over_each(weight=[None, WEIGHT], sampling=SAMPLINGS)
def test_estimators_fit_with_any_landmarks(sampling, weight):
    settings = {"kernel": KERNEL, "basis": Landmarks(60, sampling), "random_state": 0}
    regressor = KernelRegressor(alpha=1e-5, **settings).fit(X, Y, weight)
    assert regressor.score(X, Y) > 0.9
    classifier = KernelClassifier(alpha=1e-5, **settings).fit(X, Y > 0, weight)
    assert classifier.score(X, Y > 0) > 0.9
    ranker = KernelRanker(alpha=1e-5, **settings).fit(X, Y, np.arange(N) // 10, weight)
    assert ranker.score(X, Y, np.arange(N) // 10) > 0.9
    if sampling != "kmeans":
        for model in (regressor, classifier, ranker):
            assert set(map(tuple, model.basis_.landmarks_)) <= set(map(tuple, X))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_shards_share_landmarks(sampling):
    settings = {"kernel": KERNEL, "basis": Landmarks(M, sampling), "alpha": 1e-4}
    settings |= {"random_state": 0, "dtype": "float64"}
    whole = KernelRegressor(**settings).fit(X, Y)
    parts = KernelRegressor(shards=3, shuffle=False, engine=ThreadEngine(workers=2), **settings)
    parts.fit(X, Y)
    assert parts.communication_.shards == 3
    np.testing.assert_allclose(parts.score(X, Y), whole.score(X, Y), atol=0.1)
    if sampling != "kmeans":
        check_rows(parts.basis_, X)


@over_each(shards=[None, 3], sampling=SAMPLINGS)
def test_landmarks_from_a_file(sampling, shards, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    frame.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=60)
    settings = {"kernel": KERNEL, "basis": Landmarks(M, sampling), "alpha": 1e-4}
    model = KernelRegressor(random_state=0, shards=shards, **settings)
    model.fit(open_rows(tmp_path / "rows.parquet", "y"))
    assert model.basis_.size == M
    if sampling != "kmeans":
        check_rows(model.basis_, X)
        if shards is None:
            wanted = KernelRegressor(random_state=0, **settings).fit(X, Y)
            np.testing.assert_array_equal(model.basis_.indices_, wanted.basis_.indices_)


@pytest.mark.parametrize("sampling", BY_ROWS)
def test_more_landmarks_than_rows_are_all_rows(sampling):
    with pytest.warns(MercerWarning, match="more than the 40 rows"):
        basis = landmarks(sampling, 100).fit(X[:40])
    check_rows(basis, X[:40], 40)
    for n in (1, 2):
        check_rows(landmarks(sampling, None).fit(X[:n]), X, n)


@pytest.mark.parametrize("sampling", [name for name in SAMPLINGS if name != "uniform"])
def test_precomputed_kernels_have_no_points(sampling):
    K = KERNEL(X[:50])
    with pytest.raises(ValueError, match=r"no points .* Landmarks\(sampling='uniform'\)"):
        KernelRegressor("precomputed", Landmarks(5, sampling), 1e-3).fit(K, Y[:50])
    with pytest.raises(ValueError, match=r"no points .* Landmarks\(sampling='uniform'\)"):
        Landmarks(5, sampling, kernel="precomputed").fit(K)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"unknown sampling 'leverge'.*leverage"):
        landmarks("leverge").fit(X)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_rows_that_are_not_finite_are_named(sampling):
    wrong = X.copy()
    wrong[321, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 321, column 1"):
        KernelRegressor(KERNEL, Landmarks(M, sampling), 1e-3, missing="error").fit(wrong, Y)


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("sampling", BY_ROWS)
def test_rows_that_say_little_do_not_break(sampling, kernel):
    """Duplicates and constants span less than M functions: the others are dropped."""
    repeated = np.repeat(X[:4], 150, axis=0)
    basis = landmarks(sampling, kernel=kernel).fit(repeated)
    assert 1 <= basis.size <= 4
    np.testing.assert_array_equal(basis.landmarks_, repeated[basis.indices_])
    assert landmarks(sampling, kernel=kernel).fit(np.ones((600, 2))).size == 1
    if kernel == "linear":
        assert landmarks(sampling, kernel=kernel).fit(np.zeros((600, 2))).size == 0


def uneven():
    """A large cluster, and twelve small ones far from it and from each other."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-40, 40, (12, 3))
    small = np.vstack([center + rng.normal(0, 0.2, (4, 3)) for center in centers])
    rows = np.vstack([rng.normal(0, 0.5, (3000, 3)), small])
    return rows, np.r_[np.full(3000, -1), np.repeat(np.arange(12), 4)]


def test_small_clusters_are_covered_by_what_looks_at_the_kernel():
    rows, cluster = uneven()
    covered = {}
    for sampling in BY_ROWS:
        found = [
            landmarks(sampling, 150, kernel=Gaussian(1.0), random_state=seed).fit(rows)
            for seed in range(4)
        ]
        shares = [len(set(cluster[basis.indices_]) - {-1}) / 12 for basis in found]
        covered[sampling] = np.mean(shares)
    assert covered["uniform"] < 0.35
    assert covered["leverage"] > 0.6
    assert covered["bless"] > 0.75
    assert covered["rpcholesky"] > 0.95
