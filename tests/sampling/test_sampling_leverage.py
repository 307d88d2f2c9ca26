"""Leverage scores: by definition, through dictionaries, and the dictionaries themselves."""

from functools import cache

import numpy as np
import pytest

from mercer import (
    ArcCosine,
    Gaussian,
    LaplacianL1,
    LaplacianL2,
    Linear,
    Matern,
    Polynomial,
    Sobolev,
    load_letter,
)
from mercer.sampling import (
    BY_KERNEL,
    Dictionary,
    bless,
    chosen_rows,
    exact_scores,
    pool_size,
    recursive_dictionary,
)
from pairs import over_each, over_pairs
from real_data import real

KERNELS = [
    Gaussian(0.7),
    LaplacianL1(2.0),
    LaplacianL2(2.0),
    Matern(2.5, 1.0),
    Polynomial(3, gamma=0.5),
    ArcCosine(),
    Sobolev(),
    Linear(),
]
BUILDERS = [recursive_dictionary, bless]
X = np.random.default_rng(0).random((120, 3))


def rng(seed=0):
    return np.random.default_rng(seed)


def by_inverse(K, alpha):
    """The definition, written out."""
    n = len(K)
    return np.diag(K @ np.linalg.inv(K + n * alpha * np.eye(n)))


def all_rows(kernel, rows, alpha):
    n = len(rows)
    return Dictionary(kernel, rows, np.ones(n), alpha * n, np.arange(n))


# -- the definition --------------------------------------------------------------------------------


@over_each(kernel=KERNELS, alpha=[1e-4, 1e-2, 1.0, 100.0])
def test_exact_scores_are_their_definition(kernel, alpha):
    found = exact_scores(kernel, X, alpha)
    K = kernel(X)
    np.testing.assert_allclose(found, by_inverse(K, alpha), rtol=1e-10, atol=1e-10)
    values = np.maximum(np.linalg.eigvalsh(K), 0.0)
    dimension = np.sum(values / (values + alpha * len(X)))
    assert found.sum() == pytest.approx(dimension, rel=1e-10)
    assert found.min() >= 0
    assert found.max() <= 1


@over_each(kernel=KERNELS, alpha=[1e-4, 1e-2, 1.0, 100.0])
def test_a_dictionary_of_all_rows_is_exact(kernel, alpha):
    found = all_rows(kernel, X, alpha).scores(X)
    rough = isinstance(kernel, LaplacianL2)  # the root of a rounded distance: 1e-8 / (alpha n)
    tolerance = 1e-8 / (alpha * len(X)) if rough else 1e-8
    np.testing.assert_allclose(found, exact_scores(kernel, X, alpha), atol=tolerance, rtol=1e-8)


def test_scores_of_new_rows_are_those_of_a_row_more_that_counts_nothing():
    """k(x, x) - k'(K + penalty)^-1 k, over the penalty, a row at a time."""
    kernel, alpha, new = Gaussian(0.7), 1e-3, rng(1).random((7, 3))
    penalty = alpha * len(X)
    inverse = np.linalg.inv(kernel(X) + penalty * np.eye(len(X)))
    wanted = [(1 - k @ inverse @ k) / penalty for k in kernel(new, X)]
    found = all_rows(kernel, X, alpha).scores(new)
    np.testing.assert_allclose(found, np.minimum(wanted, 1.0), rtol=1e-8)


def test_scores_come_in_blocks(monkeypatch):
    dictionary = all_rows(Gaussian(0.7), X, 1e-3)
    whole = dictionary.scores(X)
    monkeypatch.setattr("mercer.sampling.leverage.ENTRIES", 7 * len(X))
    np.testing.assert_allclose(dictionary.scores(X), whole, rtol=1e-9)
    assert len(dictionary.scores(X[:0])) == 0


# -- dictionaries ----------------------------------------------------------------------------------


def standard(found, rows):
    """Some rows in standard units."""
    found = np.asarray(found, dtype=float)
    found = found[rng().permutation(len(found))[:rows]]
    return (found - found.mean(axis=0)) / found.std(axis=0)


def clusters(rows):
    draw = rng(1)
    few = [draw.normal(center, 0.3, (rows // 50, 2)) for center in (6.0, -9.0)]
    return np.vstack([draw.normal(0.0, 0.3, (rows - 2 * (rows // 50), 2)), *few])


@cache
def scored(name):
    """Rows, their kernel, and the eigenvalues and squared vectors that all exact scores need."""
    rows, kernel = {
        "normal": lambda: (rng(1).standard_normal((1500, 3)), Gaussian(1.0)),
        "clusters": lambda: (clusters(1500), Matern(1.5, 1.0)),
        "california_housing": lambda: (standard(real("california_housing").X, 1200), Gaussian(2.0)),
        "letter": lambda: (standard(load_letter().X_train, 1200), LaplacianL2(4.0)),
    }[name]()
    values, vectors = np.linalg.eigh(kernel(rows))
    return rows, kernel, np.maximum(values, 0.0), vectors**2


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    "name",
    ["normal", "clusters", pytest.param("california_housing", marks=pytest.mark.real), "letter"],
)
def test_scores_through_a_dictionary_are_those_of_all_rows_up_to_a_factor(name, build):
    rows, kernel, values, squares = scored(name)
    n = len(rows)
    for alpha in (3e-2, 3e-3, 3e-4):
        exact = squares @ (values / (values + alpha * n))
        for seed in range(1 if alpha < 1e-3 else 2):
            dictionary = build(kernel, rows, rng(seed), alpha=alpha)
            found = dictionary.scores(rows)
            low, median, high = np.quantile(found / exact, [0.05, 0.5, 0.95])
            assert 1 / 2 < median < 2, (alpha, seed)
            assert low > 1 / 3, (alpha, seed)
            assert high < 3, (alpha, seed)
            assert found.sum() == pytest.approx(exact.sum(), rel=0.6)
            assert found.min() >= 0
            assert found.max() <= 1
            np.testing.assert_array_equal(dictionary.points, rows[dictionary.indices])
            assert len(np.unique(dictionary.indices)) == len(dictionary.indices)
            assert dictionary.penalty == pytest.approx(alpha * n)


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
def test_few_dimensions_are_seen_as_well(alpha, build):
    rows = rng().standard_normal((600, 3))
    exact = exact_scores(Linear(), rows, alpha)
    found = [build(Linear(), rows, rng(seed), alpha=alpha).scores(rows) for seed in range(20)]
    medians = np.array([np.median(scores / exact) for scores in found])
    assert 1 / 2 < np.median(medians) < 2
    assert medians.max() < 5, medians.round(1)
    assert medians.min() > 1 / 5


@pytest.mark.parametrize("build", BUILDERS)
def test_a_dictionary_is_a_matter_of_its_seed(build):
    rows, kernel, *_ = scored("normal")
    for setting in ({"alpha": 1e-2}, {"size": 60}):
        one, same, other = (build(kernel, rows, rng(seed), **setting) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.indices, same.indices)
        np.testing.assert_array_equal(one.probability, same.probability)
        assert set(one.indices) != set(other.indices)


@pytest.mark.parametrize("build", BUILDERS)
def test_an_alpha_above_all_kernel_values_is_meant(build):
    rows = rng().standard_normal((500, 2))
    for alpha in (3.0, 100.0, 1e8):
        dictionary = build(Gaussian(1.0), rows, rng(), alpha=alpha)
        assert dictionary.penalty == pytest.approx(alpha * 500)
        ratio = dictionary.scores(rows) / exact_scores(Gaussian(1.0), rows, alpha)
        assert ratio.min() > 1 / 2
        assert ratio.max() < 2


@pytest.mark.parametrize("build", BUILDERS)
def test_a_tiny_alpha_leaves_numbers(build):
    rows = rng().standard_normal((250, 3))
    for alpha in (1e-8, 1e-12):
        exact = exact_scores(Gaussian(1.0), rows, alpha)
        found = build(Gaussian(1.0), rows, rng(), alpha=alpha).scores(rows)
        assert 1 / 2 < np.median(found / exact) < 2
    for alpha in (1e-18, 1e-30):
        found = build(Gaussian(1.0), rows, rng(), alpha=alpha).scores(rows)
        assert np.isfinite(found).all()
        assert found.min() >= 0
        assert found.max() <= 1


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n, build):
    found = build(Gaussian(1.0), X[:n], rng(), alpha=1e-2).scores(X[:n])
    np.testing.assert_allclose(found, exact_scores(Gaussian(1.0), X[:n], 1e-2), rtol=0.5)
    by_size = build(Gaussian(1.0), X[:n], rng(), size=1).scores(X[:n])
    assert np.all((by_size >= 0) & (by_size <= 1))


AWKWARD = {
    "duplicates": np.repeat(rng(2).random((6, 2)), 100, axis=0),
    "a constant column": np.c_[rng(2).random((600, 1)), np.full(600, 7.0)],
    "one row 600 times": np.full((600, 2), 0.3),
    "single precision": rng(2).random((600, 2)).astype(np.float32),
    "one row far away": np.vstack([rng(2).random((599, 2)), [[1e6, -1e6]]]),
}


@over_pairs(case=AWKWARD, kernel=[Gaussian(0.5), Linear()], build=BUILDERS)
def test_awkward_rows_have_scores(case, kernel, build):
    rows = AWKWARD[case]
    for alpha in (1e-1, 1e-3):
        found = build(kernel, rows, rng(), alpha=alpha).scores(rows)
        assert np.isfinite(found).all()
        assert found.min() >= 0
        assert found.max() <= 1
    if case == "one row far away" and kernel == Gaussian(0.5):
        assert np.argmax(found) == 599


# -- rows that are chosen --------------------------------------------------------------------------


@over_each(how=BY_KERNEL, size=[1, 7, 60, 599, 600, 1000])
def test_rows_are_chosen_once_each_and_in_order(size, how):
    rows = rng(3).standard_normal((600, 2))
    found = chosen_rows(how, Gaussian(0.5), rows, size, rng(4))
    assert len(found) == min(size, 600)
    assert np.all(np.diff(found) > 0)
    assert found[0] >= 0
    assert found[-1] < 600
    np.testing.assert_array_equal(found, chosen_rows(how, Gaussian(0.5), rows, size, rng(4)))


@over_pairs(case=[*AWKWARD, "zeros"], kernel=[Gaussian(0.5), Linear()], how=BY_KERNEL)
def test_as_many_rows_as_asked_for_are_chosen_of_awkward_ones(case, kernel, how):
    rows = AWKWARD.get(case, np.zeros((600, 2)))
    for size in (5, 50):
        found = chosen_rows(how, kernel, rows, size, rng())
        assert len(np.unique(found)) == size


def groups_seen(how, size):
    """How often the smallest of four far groups, 3 rows of 603, is among those chosen."""
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    group = np.r_[np.repeat([0, 1, 2], 200), [3, 3, 3]]
    rows = centers[group] + 0.1 * rng(5).standard_normal((603, 2))
    found = [3 in group[chosen_rows(how, Gaussian(1.0), rows, size, rng(s))] for s in range(20)]
    return np.mean(found)


@pytest.mark.parametrize("how", BY_KERNEL)
def test_rows_that_add_more_are_chosen_more_often(how):
    assert groups_seen(how, 70) >= 0.8  # uniformly: 0.3


def test_pivots_see_a_small_group_at_once():
    """Three rows of the large groups explain all but the small one, which is what is left."""
    assert groups_seen("rpcholesky", 12) >= 0.8  # uniformly: 0.06


def test_the_rows_looked_at_grow_with_those_chosen():
    assert pool_size(1) == pool_size(500) == 10_000
    assert pool_size(2000) == 40_000
