"""Products equal the matrices that are never formed."""

import numpy as np
import pytest
import scipy.linalg

import mercer.moments.products
import mercer.systems.by_kernel_products
from mercer import Gaussian, Landmarks, Precomputed, RandomFeatures, Sketch
from mercer.contracts import Reading
from mercer.engines import InPlaceEngine
from mercer.moments import Moments
from mercer.moments.products import RowProducts
from mercer.rows import ArraySource
from mercer.rows.rowset import Placed
from mercer.rows.shards import Shard
from mercer.sampling import pivoted_cholesky
from mercer.systems import ProductSystem
from mercer.systems.by_kernel_products import (
    KernelProducts,
    KernelProductSystem,
    stored_bytes,
)
from mercer.systems.preconditioners import UNSEEN, LandmarkPreconditioner, SamplePreconditioner
from mercer.targets.number_targets import RegressionTargets
from pairs import over_pairs

RNG = np.random.default_rng(0)
X, Y, W = RNG.random((700, 2)), RNG.standard_normal((700, 3)), RNG.random(700)
KERNEL = Gaussian(0.1)


def fitted(basis, precision="float64", for_products=False):
    source = ArraySource(X)
    return basis.fit_source(
        source, KERNEL, np.random.default_rng(1), precision, False, for_products
    )


TARGETS = RegressionTargets(np.zeros(3), np.ones(3), True)


def products(basis, weight=None, keep=True, rows=100):
    source = ArraySource(X, Y, weight)
    return RowProducts(Shard(0, "", source), TARGETS, basis, Reading(rows, 2), keep)


def system_of(basis, weight, keep, alpha, intercept, preconditioner):
    held = Placed(InPlaceEngine(), [products(basis, weight, keep)], None)
    return ProductSystem(held, basis, alpha, intercept, preconditioner, keep)


BASES = [Landmarks(40), RandomFeatures(30), Sketch(25)]
EITHER = (False, True)


@over_pairs(basis=BASES, weight=[None, W], keep=EITHER, exact=EITHER, columns=[1, 3, 7, 9])
def test_products_are_those_with_the_moments(basis, weight, keep, exact, columns, monkeypatch):
    monkeypatch.setattr(mercer.moments.products, "SLICE", 37)
    basis = fitted(basis)
    moments = Moments.of(basis.evaluate(X), Y, weight)
    found = products(basis, weight, keep)
    sums = found.sums
    c = np.random.default_rng(2).standard_normal((basis.size, columns))
    np.testing.assert_allclose(found.product(c, exact), moments.gram @ c, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.cross, moments.cross, atol=1e-10)
    np.testing.assert_allclose(sums.sum_h, moments.sum_h, atol=1e-10)
    np.testing.assert_allclose(sums.sum_y, moments.sum_y, atol=1e-10)
    assert sums.weight == pytest.approx(moments.weight)
    assert sums.rows == moments.rows


def test_float32_products_are_close_and_exact_ones_exact():
    basis = fitted(Landmarks(40), "float32")
    H = basis.evaluate(X).astype(float)
    c = RNG.standard_normal((basis.size, 2))
    found = products(basis)
    np.testing.assert_allclose(found.product(c, exact=True), H.T @ (H @ c), rtol=1e-12)
    np.testing.assert_allclose(found.product(c), H.T @ (H @ c), rtol=1e-3, atol=1e-3)


@over_pairs(basis=BASES, for_products=EITHER, intercept=EITHER, keep=EITHER)
def test_the_system_is_the_normal_equations(basis, for_products, intercept, keep):
    basis = fitted(basis, for_products=for_products)
    alpha = 0.01
    system = system_of(basis, W, keep, alpha, intercept, None)
    moments = Moments.of(basis.evaluate(X), Y, W)
    mean_h, mean_y = moments.means(intercept)
    eye = np.eye(basis.size)
    gram = eye if basis.gram() is None else basis.gram()
    A = moments.gram / moments.weight - np.outer(mean_h, mean_h) + alpha * gram
    for exact in (True, False):
        np.testing.assert_allclose(system.product(eye, exact), A, atol=1e-9)
    b = moments.cross / moments.weight - np.outer(mean_h, mean_y)
    np.testing.assert_allclose(system.b, b, atol=1e-9)


@pytest.mark.parametrize("basis", BASES, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("for_products", [False, True], ids=["", "for_products"])
def test_orthogonalized_functions_are_a_change_of_coordinates(basis, for_products):
    """With c = D'g, their sums are D t, and their Gram matrix is D Gamma D'."""
    basis = fitted(basis, for_products=for_products)
    eye = np.eye(basis.size)
    D = basis.coefficients(eye).T
    np.testing.assert_allclose(basis.vectors(eye), D, atol=1e-9)
    np.testing.assert_allclose(D @ basis.evaluate(X).T, basis.orthogonalized(X).T, atol=1e-9)
    gram = eye if basis.gram() is None else basis.gram()
    upper = np.zeros((basis.size, basis.size))
    for start in range(0, basis.size, 7):
        rows = slice(start, start + 7)
        upper[rows, start:] = basis.orthogonalized_gram(rows)
    np.testing.assert_allclose(np.triu(upper), np.triu(D @ gram @ D.T), atol=1e-9)


@over_pairs(alike=EITHER, intercept=EITHER)
def test_landmarks_as_the_sample(alike, intercept):
    """Gamma^2 / M - m'm'' + lambda' Gamma, where Gamma may be near singular."""
    points = np.vstack([X[:30], X[:2] + 1e-6]) if alike else X[:30]
    basis = fitted(Landmarks(sampling=points))
    found = LandmarkPreconditioner(basis, 0.01, intercept)
    gram, size = basis.gram(), basis.size
    mean = intercept * gram.mean(axis=0)
    P = gram @ gram / size - np.outer(mean, mean) + (0.01 + UNSEEN / size) * gram
    V = RNG.standard_normal((size, 2))
    close = 1e-2 if alike else 1e-7
    np.testing.assert_allclose(gram @ found(P @ V), gram @ V, atol=close)
    R = RNG.standard_normal((size, 2))
    inverse = R.T @ found(R)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-6)


@over_pairs(precision=["float32", "float64"], weight=[None, W[100:160]], intercept=EITHER)
def test_landmarks_and_more_rows_as_the_sample(precision, weight, intercept):
    """(Gamma^2 + H'WH) / n' - m'm'' + lambda' Gamma, with weights of mean 1."""
    basis = fitted(Landmarks(sampling=X[:30]), precision)
    rows = X[100:160]
    found = LandmarkPreconditioner(basis, 0.01, intercept, 1, rows, weight)
    gram, H = basis.gram(), basis.evaluate(rows).astype(float)
    share = np.ones(60) if weight is None else weight / weight.mean()
    mean = intercept * (gram.sum(axis=0) + share @ H) / 90
    H *= np.sqrt(share)[:, None]
    P = (gram @ gram + H.T @ H) / 90 - np.outer(mean, mean) + (0.01 + UNSEEN / 90) * gram
    V = RNG.standard_normal((basis.size, 2))
    close = 1e-7 if precision == "float64" else 2e-3
    np.testing.assert_allclose(gram @ found(P @ V), gram @ V, atol=close)
    inverse = V.T @ found(V)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-9)


def test_a_sample_without_a_factor_gets_a_larger_penalty():
    """A negative alpha stands for rounding: what one row adds is multiplied until it outweighs."""
    basis = fitted(Landmarks(sampling=X[:30]))
    size, gram = basis.size, basis.gram()
    lowest = np.linalg.eigvalsh(gram)[0] / size
    alpha = -lowest - 5 * UNSEEN / size
    found = LandmarkPreconditioner(basis, alpha, False)
    P = gram @ gram / size + (alpha + 10 * UNSEEN / size) * gram
    V = RNG.standard_normal((size, 2))
    np.testing.assert_allclose(gram @ found(P @ V), gram @ V, atol=1e-7)
    assert LandmarkPreconditioner(basis, -1e9, False).factor is None


def test_dependent_landmarks_are_factored_with_a_shift():
    basis = fitted(Landmarks(sampling=np.repeat(X[:10], 3, axis=0)), for_products=True)
    assert LandmarkPreconditioner(basis, 0.01, False, attempts=1).factor is None
    found = LandmarkPreconditioner(basis, 0.01, False, attempts=12)
    gram = basis.gram()
    P = gram @ gram / basis.size + (0.01 + UNSEEN / basis.size) * gram
    V = RNG.standard_normal((basis.size, 2))
    np.testing.assert_allclose(gram @ found(P @ V), gram @ V, atol=1e-2)


@over_pairs(basis=BASES, weight=[None, W], intercept=EITHER)
def test_a_preconditioner_of_all_rows_inverts_the_system(basis, weight, intercept):
    basis = fitted(basis)
    alpha = 0.01
    whole = SamplePreconditioner(basis, X, weight, alpha, intercept, whole=True)
    system = system_of(basis, weight, True, alpha, intercept, whole)
    V = RNG.standard_normal((basis.size, 2))
    np.testing.assert_allclose(whole(system.product(V, exact=True)), V, atol=1e-6)


def test_dependent_functions_need_more_than_one_attempt():
    points = np.repeat(X[:10], 3, axis=0)
    basis = fitted(Landmarks(sampling=points), for_products=True)
    once = SamplePreconditioner(basis, X, None, 0.0, True, True, attempts=1)
    assert once.factor is None
    basis.factorize(may_widen=False)
    assert basis.size == 10
    assert SamplePreconditioner(basis, X, None, 0.0, True, True).factor is not None


def test_more_is_added_to_the_diagonal_until_there_is_a_factor():
    """Ten rows do not span thirty functions, and there is no penalty."""
    basis = fitted(RandomFeatures(30))
    assert SamplePreconditioner(basis, X[:10], None, 0.0, True, True, attempts=1).factor is None
    assert SamplePreconditioner(basis, X[:10], None, 0.0, True, True).factor is not None


@pytest.mark.parametrize("exact", [True, False])
def test_kernel_products_are_those_with_the_kernel_matrix(exact, monkeypatch):
    monkeypatch.setattr(mercer.systems.by_kernel_products, "TILE_ROWS", 64)
    monkeypatch.setattr(mercer.systems.by_kernel_products, "TILE_COLUMNS", 150)
    V = RNG.standard_normal((len(X), 2))
    K = KERNEL(X)
    found = KernelProducts(KERNEL, X, "float64").product(V, exact)
    np.testing.assert_allclose(found, K @ V, atol=1e-10)
    coarse = KernelProducts(KERNEL, X, "float32").product(V, exact)
    np.testing.assert_allclose(coarse, K @ V, atol=1e-10 if exact else 1e-3)
    np.testing.assert_allclose(
        KernelProducts(Precomputed(), K, "float64").product(V, exact), K @ V, atol=1e-10
    )


@over_pairs(precision=["float32", "float64"], share=[0.0, 0.4, 1.0], columns=[1, 3])
def test_stored_tiles_are_those_evaluated_anew(precision, share, columns, monkeypatch):
    """As many as fit; the same bits as without, in the first product and in later ones."""
    monkeypatch.setattr(mercer.systems.by_kernel_products, "TILE_ROWS", 64)
    monkeypatch.setattr(mercer.systems.by_kernel_products, "TILE_COLUMNS", 150)
    monkeypatch.setattr(mercer.systems.by_kernel_products, "SLICE", 50)
    monkeypatch.setattr(mercer.systems.by_kernel_products, "slice_rows", lambda columns: 40)
    V = RNG.standard_normal((len(X), columns))
    room = int(share * stored_bytes(len(X), np.dtype(precision).itemsize))
    kept, anew = KernelProducts(KERNEL, X, precision, room), KernelProducts(KERNEL, X, precision)
    for exact in (False, False, True):
        np.testing.assert_array_equal(kept.product(V, exact), anew.product(V, exact))
    used = sum(one.values.nbytes for one in kept._stored._places.values())
    assert used <= room
    assert share < 1.0 or used == room


@pytest.mark.parametrize("intercept", [False, True])
def test_woodbury_is_the_inverse(intercept):
    F, _ = pivoted_cholesky(KERNEL, X, 30, np.random.default_rng(0))
    products = KernelProducts(KERNEL, X, "float64")
    system = KernelProductSystem(products, Y, W + 0.1, 1e-3, intercept, F.copy(order="F"))
    P = F @ F.T + np.diag(1e-3 * (W + 0.1).sum() / (W + 0.1))
    R = RNG.standard_normal((len(X), 2))
    np.testing.assert_allclose(system.precondition(R), scipy.linalg.solve(P, R), rtol=1e-6)


def test_pivoted_cholesky_leaves_a_positive_remainder():
    K = KERNEL(X)
    F, pivots = pivoted_cholesky(KERNEL, X, 60, np.random.default_rng(0))
    assert len(np.unique(pivots)) == F.shape[1] == 60
    left = K - F @ F.T
    assert np.linalg.eigvalsh(left)[0] > -1e-8
    np.testing.assert_allclose(left[pivots], 0.0, atol=1e-8)
    best = np.linalg.eigvalsh(K)[:-60].sum()
    assert np.trace(left) < 20 * max(best, 1e-6)


def test_pivoted_cholesky_stops_at_the_rank():
    few = np.repeat(X[:5], 20, axis=0)
    F, _ = pivoted_cholesky(KERNEL, few, 50, np.random.default_rng(0))
    assert F.shape[1] == 5
    np.testing.assert_allclose(F @ F.T, KERNEL(few), atol=1e-7)
