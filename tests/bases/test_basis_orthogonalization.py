"""Orthogonalized functions: the same span, an order by pivots, and sums that keep their digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import KERNELS, rows
from mercer import Gaussian, Landmarks, LaplacianL1
from mercer.bases.orthogonalization import (
    CUT,
    LEADING,
    Orthogonalization,
    ordered_cholesky,
)
from mercer.precision import trusted_precision
from mercer.rows import ArraySource
from pairs import over_each

every_kernel = pytest.mark.parametrize("name", KERNELS)


@every_kernel
def test_the_factor_is_that_of_the_ordered_matrix(name):
    gram = KERNELS[name][0](rows(100))
    L, order = ordered_cholesky(gram, 1e-13)
    assert len(np.unique(order)) == len(order) == len(L)
    np.testing.assert_array_equal(L, np.tril(L))
    assert np.all(np.diag(L) > 0)
    np.testing.assert_allclose(L @ L.T, gram[np.ix_(order, order)], atol=1e-9 * gram.max())


@over_each(name=KERNELS, cut=CUT.values())
def test_what_is_left_out_is_spanned_by_the_rest(name, cut):
    gram = KERNELS[name][0](rows(100))
    L, order = ordered_cholesky(gram, cut)
    across = np.linalg.solve(L, gram[order])
    left = gram.diagonal() - np.sum(across**2, axis=0)
    assert np.abs(left).max() <= 2 * cut * gram.max() + 1e-9 * gram.max()


@given(size=st.integers(1, 8), rank=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_dependent_functions_are_dropped(size, rank, seed):
    factor = np.random.default_rng(seed).standard_normal((size, rank))
    L, order = ordered_cholesky(factor @ factor.T, 1e-10)
    assert len(order) <= min(size, rank)
    restored = np.linalg.solve(L, (factor @ factor.T)[order])
    np.testing.assert_allclose(restored.T @ restored, factor @ factor.T, atol=1e-6 * size * rank)


def test_duplicated_functions_are_dropped():
    X = rows(100)
    gram = LaplacianL1(0.3)(np.vstack([X, X[::-1], X[:1]]))
    L, order = ordered_cholesky(gram, 1e-13)
    assert len(order) == 100
    assert len(np.unique(np.minimum(order % 200, 199 - order % 200))) == 100
    assert np.isfinite(L).all()


@pytest.mark.parametrize("gram", [np.zeros((3, 3)), np.zeros((0, 0))], ids=["zero", "empty"])
def test_functions_that_are_nothing_are_dropped(gram):
    L, order = ordered_cholesky(gram, 1e-13)
    assert (L.shape, len(order)) == ((0, 0), 0)
    orthogonalization = Orthogonalization.of(gram[:0, :0], L, "float64")
    assert orthogonalization.apply(np.zeros((5, 0))).shape == (5, 0)
    assert orthogonalization.coefficients(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12, 1e100])
def test_the_cut_is_relative(scale):
    gram = Gaussian(0.5)(rows(100))
    assert len(ordered_cholesky(scale * gram, 1e-10)[1]) == len(ordered_cholesky(gram, 1e-10)[1])


def graded_problem(kernel, n=100, precision="float32"):
    gram = kernel(rows(n))
    L, order = ordered_cholesky(gram, CUT[precision])
    H = kernel(rows(50, seed=5), rows(n)[order])
    gram = gram[np.ix_(order, order)]
    return H, gram, Orthogonalization.of(gram, L, precision)


@every_kernel
def test_graded_functions_are_other_functions_of_the_same_span(name):
    """Coefficients of the orthogonalized functions, turned back, give the same predictions."""
    H, _, orthogonalization = graded_problem(KERNELS[name][0])
    orthogonalized = orthogonalization.apply(H.copy())
    v = np.random.default_rng(0).standard_normal((H.shape[1], 2))
    c = orthogonalization.whitener().coefficients(v)
    expected = orthogonalized @ c
    found = H @ orthogonalization.coefficients(c)
    # Coefficients of functions that are almost alike are huge and cancel.
    tolerance = 1e-14 * np.abs(orthogonalization.coefficients(c)).max() * np.abs(H).max() * len(c)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 + tolerance)


@every_kernel
def test_whitened_graded_functions_have_the_kernel_as_inner_products(name):
    H, gram, orthogonalization = graded_problem(KERNELS[name][0])
    Z = orthogonalization.whitener().vectors(orthogonalization.apply(H.copy()).T).T
    expected = np.linalg.solve(orthogonalization.factor, H.T).T
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-6 * np.abs(gram).max())


def test_the_rest_is_as_small_as_what_the_leading_functions_leave():
    kernel = LaplacianL1(0.5)
    points = rows(300)
    gram = kernel(points)
    L, order = ordered_cholesky(gram, 1e-7)
    orthogonalization = Orthogonalization.of(gram[np.ix_(order, order)], L, "float32")
    q = orthogonalization.leading
    assert LEADING <= q < len(order)
    orthogonalized = orthogonalization.apply(kernel(rows(50, seed=5), points[order]))
    # |f(x)| <= ||f|| sqrt(K(x, x)), and the squared norms are the diagonal of L22 L22'.
    norms = np.sqrt(np.sum(L[q:, q:] ** 2, axis=1))
    assert norms.max() < 0.8
    assert np.all(np.abs(orthogonalized[:, q:]) <= norms + 1e-5)


@every_kernel
def test_the_whitener_is_the_factor_of_the_new_gram_matrix(name):
    """T L is the Cholesky factor of T Gamma T', where T turns h into orthogonalized functions."""
    _, gram, orthogonalization = graded_problem(KERNELS[name][0])
    T = orthogonalization.vectors(np.eye(len(gram)))
    factor = orthogonalization.whitener().factor
    np.testing.assert_array_equal(factor, np.tril(factor))
    assert np.all(np.diag(factor) > 0)
    tolerance = 1e-12 * np.abs(T).sum(axis=1).max() ** 2 * np.abs(gram).max()
    np.testing.assert_allclose(factor @ factor.T, T @ gram @ T.T, rtol=0, atol=tolerance)


def close_pairs(number, gap):
    """Rows spread out, and a second one beside each."""
    X = 3 * np.random.default_rng(0).random((number, 4))
    return np.vstack([X, X + gap * np.random.default_rng(1).standard_normal(X.shape)])


def rounding_of_sums(orthogonalization, H):
    """The error of A in whitened coordinates if blocks are summed in float32."""
    values = orthogonalization.apply(np.array(H, dtype=np.float32, order="F"))
    exact = values.astype(np.float64)
    error = orthogonalization.whitener().matrix(values.T @ values - exact.T @ exact)
    return np.abs(np.linalg.eigvalsh(error)).max() / len(H)


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 3e-3])
def test_close_landmarks_are_told_apart(gap):
    kernel, points = Gaussian(1.0), close_pairs(200, gap)
    gram = kernel(points)
    L, order = ordered_cholesky(gram, CUT["float64"])
    gram, H = gram[np.ix_(order, order)], kernel(close_pairs(1000, 0.5), points[order])
    found = Orthogonalization.of(gram, L, "float32")
    nobody = np.zeros((len(found.neighbors), 0))
    only_leading = Orthogonalization(L, "float32", nobody.astype(int), nobody)
    assert rounding_of_sums(found, H) < min(4e-7, rounding_of_sums(only_leading, H) / 50)


def test_functions_that_are_far_apart_stay_as_they_are():
    points = np.arange(200.0)[:, None]
    L, order = ordered_cholesky(Gaussian(0.3)(points), 1e-13)
    found = Orthogonalization.of(Gaussian(0.3)(points[order]), L, "float32")
    assert not found.weights.any()
    H = Gaussian(0.3)(points + 0.1, points[order])
    q = found.leading
    g = np.linalg.solve(L[:q, :q], H[:, :q].T).T
    left = H[:, q:] - g @ L[q:, :q].T
    np.testing.assert_allclose(found.apply(H.copy())[:, q:], left, rtol=0, atol=1e-14)


def in_float32():
    source, rng = ArraySource(rows(100)), np.random.default_rng(0)
    return Landmarks(80).fit_source(source, LaplacianL1(0.3), rng, "float32")


def damaged(neighbors=None, weights=None):
    """Factors of a basis, with other predecessors."""
    basis = in_float32()
    factor, own, shares = basis.factors
    return basis, (
        factor,
        *(b if a is None else a for a, b in ((neighbors, own), (weights, shares))),
    )


def test_factors_are_restored():
    basis, factors = damaged()
    other = in_float32()
    other.neighbors_ = tuple(part[:, :0] for part in other.neighbors_)
    other.restore_factors(factors)
    np.testing.assert_array_equal(
        other.orthogonalized(rows(9, seed=1)), basis.orthogonalized(rows(9, seed=1))
    )


@pytest.mark.parametrize(
    ("neighbors", "weights", "message"),
    [
        (np.full((16, 2), -1), np.ones((16, 2)), "come before"),
        (np.full((16, 2), 15), np.ones((16, 2)), "come before"),
        (np.zeros((16, 2), dtype=int), np.ones((16, 3)), "weights of predecessors"),
        (np.zeros((16, 2)), np.ones((16, 2)), "predecessors"),
        (np.zeros((81, 2), dtype=int), np.zeros((81, 2)), "at most 80 functions"),
    ],
)
def test_impossible_predecessors_are_refused(neighbors, weights, message):
    basis, factors = damaged(neighbors, weights)
    with pytest.raises(ValueError, match=message):
        basis.restore_factors(factors)


def test_the_order_of_memory_changes_nothing():
    H, _, orthogonalization = graded_problem(LaplacianL1(0.3))
    assert orthogonalization.leading < H.shape[1]
    plain = orthogonalization.apply(H.copy())
    found = orthogonalization.apply(np.asfortranarray(H))
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-13)


def test_float32_is_trusted_only_where_functions_differ():
    apart, _ = ordered_cholesky(LaplacianL1(0.1)(rows(50)), 1e-13)
    alike, _ = ordered_cholesky(Gaussian(2.0)(rows(50)), 1e-13)
    assert trusted_precision(apart, "float32") == "float32"
    assert trusted_precision(alike, "float32") == "float64"
    assert trusted_precision(apart, "float64") == "float64"
    assert trusted_precision(np.zeros((0, 0)), "float32") == "float32"
