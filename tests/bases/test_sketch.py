"""Sketches: functions and Gram matrix are those of the matrix written out, and so is their span."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import reference
from cases import rows, sketch_matrix, targets
from mercer import (
    Gaussian,
    KernelRegressor,
    LaplacianL2,
    Linear,
    MercerWarning,
    Polynomial,
    Precomputed,
    Sketch,
)
from mercer.bases import as_basis
from mercer.bases.sketch import KINDS
from pairs import over_pairs

over_kinds = pytest.mark.parametrize("kind", KINDS)
K = Gaussian(0.2)
NEW = rows(12, seed=9)


def fitted(kind, n=30, size=10, kernel=K, **settings):
    settings = {"random_state": 3, **settings}
    return Sketch(size, kind, kernel=kernel, **settings).fit(rows(n))


# -- against the definition ------------------------------------------------------------------------


@over_pairs(kind=KINDS, n=[1, 2, 3, 16, 30, 33], size=[1, 7, 33])
def test_functions_and_gram_matrix_are_those_of_the_matrix_written_out(kind, n, size):
    size = min(n, size)
    basis = fitted(kind, n, size)
    G = sketch_matrix(basis)
    assert G.shape == (basis.size, n)
    assert basis.size + basis.n_dropped_ == size
    np.testing.assert_allclose(basis.evaluate(NEW), K(NEW, rows(n)) @ G.T, atol=1e-12)
    np.testing.assert_allclose(basis.gram(), G @ K(rows(n)) @ G.T, atol=1e-12)
    np.testing.assert_allclose(basis.factor_ @ basis.factor_.T, basis.gram(), atol=1e-10)


def test_kernel_values_are_never_held_together(monkeypatch):
    """Tiles of a few rows give the same, in evaluating and in the Gram matrix."""
    whole = fitted("hadamard", 100, 20)
    monkeypatch.setattr("mercer.bases.basis.TILE", 1)
    tiled = fitted("hadamard", 100, 20)
    np.testing.assert_allclose(tiled.gram(), whole.gram(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tiled.evaluate(rows(100)), whole.evaluate(rows(100)), atol=1e-12)


def test_many_rows_are_summed_in_blocks():
    basis = fitted("dct", 2500, 20)
    G = basis.projection_.columns(np.arange(2500))
    np.testing.assert_allclose(basis.gram(), G @ K(rows(2500)) @ G.T, rtol=1e-11, atol=1e-11)


def test_the_diagonal_of_a_kernel_with_a_kink_is_exact():
    kernel = LaplacianL2(0.5)
    basis = fitted("dct", 40, 10, kernel)
    G = sketch_matrix(basis)
    expected = G @ reference.matrix(lambda x, z: reference.laplacian_l2(x, z, 0.5), rows(40)) @ G.T
    np.testing.assert_allclose(basis.gram(), expected, atol=1e-12)


# -- what it spans ---------------------------------------------------------------------------------


@over_kinds
def test_features_have_the_sketched_kernel_as_inner_products(kind):
    basis = fitted(kind)
    G = sketch_matrix(basis)
    left, right = G @ K(rows(), rows()), K(NEW, rows()) @ G.T
    expected = right @ np.linalg.solve(G @ K(rows()) @ G.T, left)
    Z, Z_new = basis.transform(rows()), basis.transform(NEW)
    np.testing.assert_allclose(Z_new @ Z.T, expected, atol=1e-8)
    again = Sketch(10, kind, kernel=K, random_state=3).fit_transform(rows())
    np.testing.assert_allclose(again, Z, atol=1e-12)


@over_kinds
def test_rows_that_are_there_twice_lower_the_rank(kind):
    X = np.vstack([rows(10), rows(10), rows(10)])
    basis = Sketch(20, kind, kernel=K, random_state=0).fit(X)
    assert basis.size <= 10
    assert basis.size + basis.n_dropped_ == 20
    G = sketch_matrix(basis)
    np.testing.assert_allclose(basis.evaluate(NEW), K(NEW, X) @ G.T, atol=1e-12)
    # Some rows of a Hadamard matrix may agree on 30 columns; others span all there is.
    if kind != "hadamard":
        Z = basis.transform(X)
        np.testing.assert_allclose(Z @ Z.T, K(X), atol=1e-6)


@over_kinds
def test_the_rank_of_the_kernel_is_the_rank(kind):
    assert fitted(kind, 40, 20, Linear()).size == 2
    basis = fitted(kind, 40, 20, Polynomial(2))
    assert basis.size == 6
    np.testing.assert_allclose(
        basis.transform(NEW) @ basis.transform(NEW).T, Polynomial(2)(NEW), atol=1e-7
    )


def test_no_function_at_all():
    basis = Sketch(5, kernel=Linear(), random_state=0).fit(np.zeros((8, 2)))
    assert basis.size == 0
    assert basis.transform(NEW).shape == (12, 0)
    model = KernelRegressor(Linear(), Sketch(5), 1e-3).fit(np.zeros((8, 2)), np.arange(8.0))
    np.testing.assert_allclose(model.predict(NEW), 3.5)


def test_fewer_functions_do_better_than_landmarks_on_uneven_rows():
    """Rows in a small cluster that uniform landmarks miss have their part in every function."""
    rng = np.random.default_rng(0)
    X = np.vstack([0.05 * rng.standard_normal((1000, 2)), 3.0 + rng.random((10, 2))])
    kernel = Gaussian(0.5)
    exact = kernel(X[1000:])
    errors = {}
    for name in ("sketch", "landmarks"):
        basis = as_basis(name).set_params(n_components=30, kernel=kernel)
        by_seed = []
        for seed in range(10):
            Z = basis.set_params(random_state=seed).fit(X).transform(X[1000:])
            by_seed.append(np.abs(Z @ Z.T - exact).mean())
        errors[name] = np.mean(by_seed)
    assert errors["sketch"] < 0.1 * errors["landmarks"]


# -- rows of other kinds ---------------------------------------------------------------------------


@over_kinds
def test_a_precomputed_kernel_is_the_kernel_computed_inside(kind):
    X = rows()
    inside = Sketch(10, kind, kernel=K, random_state=0).fit(X)
    given = Sketch(10, kind, kernel=Precomputed(), random_state=0).fit(K(X))
    np.testing.assert_allclose(given.transform(K(NEW, X)), inside.transform(NEW), atol=1e-9)


@over_kinds
def test_sparse_rows(kind):
    X = rows(40)
    X[X < 0.4] = 0.0
    plain = Sketch(8, kind, random_state=0).fit(X)
    thin = Sketch(8, kind, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.evaluate(sparse.csr_array(X)), plain.evaluate(X), atol=1e-9)
    assert isinstance(thin.points_, np.ndarray)


def test_what_is_stored_of_a_fast_sketch_is_small():
    X = np.random.default_rng(0).random((2000, 1))
    small, large = (len(pickle.dumps(fitted_alone(kind, X))) for kind in ("hadamard", "gaussian"))
    assert large - small > 8 * 30 * 1900
    assert small < 8 * 2000 * 4 + 20_000


def fitted_alone(kind, X):
    return Sketch(30, kind, kernel=Gaussian(0.1), random_state=0).fit(X)


# -- parameters ------------------------------------------------------------------------------------


def test_the_bandwidth_is_the_median_distance_of_a_sample_of_rows():
    X = rows(60)
    assert Sketch(5).fit(X).kernel_.bandwidth == Gaussian().fitted(X).bandwidth
    many = rows(3000)
    assert Sketch(5, random_state=0).fit(many).kernel_.bandwidth == pytest.approx(0.51, abs=0.03)


@over_kinds
def test_a_seed_decides_the_draw(kind):
    first, second, third = (
        Sketch(10, kind, kernel=K, random_state=seed).fit(rows()).evaluate(NEW)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(np.sort(first), np.sort(third))


def test_the_number_of_functions():
    assert Sketch().wanted_size(1) == 1
    assert Sketch().wanted_size(80) == 80
    assert Sketch().wanted_size(200) == 100
    assert Sketch().wanted_size(10_000) == 922  # 100 log(10000) = 921.03
    assert Sketch().wanted_size(10**6) == 2000
    assert Sketch(7).wanted_size(10**6) == 7
    assert Sketch(7).resized(5).n_components == 5
    assert as_basis("sketch").get_params() == Sketch().get_params()
    assert fitted("hadamard").get_feature_names_out().tolist() == [f"sketch{i}" for i in range(10)]


def test_the_width_is_that_of_a_row_of_kernel_values():
    assert {kind: Sketch(5, kind).width(33) for kind in KINDS} == {
        "gaussian": 33,
        "rademacher": 33,
        "hadamard": 64,
        "dct": 33,
    }


def test_more_functions_than_rows_are_reduced_with_a_warning():
    with pytest.warns(MercerWarning, match=r"n_components=50 is more than the 30 rows: reduced"):
        basis = Sketch(50, kernel=K).fit(rows(30))
    assert basis.size == 30


@pytest.mark.parametrize(
    ("basis", "error", "words"),
    [
        (Sketch(5, "hadamar"), ValueError, "unknown kind 'hadamar'; did you mean 'hadamard'"),
        (Sketch(5, "Gaussian"), ValueError, "unknown kind 'Gaussian'; did you mean 'gaussian'"),
        (Sketch(5, None), ValueError, "unknown kind None; it must be one of 'gaussian'"),
        (Sketch(0), ValueError, "n_components of Sketch must be at least 1, got 0"),
        (Sketch(2.5), TypeError, "n_components of Sketch must be an integer"),
        (Sketch(5, random_state="x"), ValueError, "cannot be used to seed"),
    ],
    ids=str,
)
def test_bad_parameters(basis, error, words):
    with pytest.raises(error, match=words):
        basis.fit(rows())
    with pytest.raises(error, match=words):
        KernelRegressor(basis=basis).fit(rows(), targets(rows()))


def test_values_that_overflow_are_refused_in_words():
    with pytest.raises(ValueError, match="kernel values overflow float64"):
        Sketch(5, kernel=Polynomial(9), random_state=0).fit(1e60 * rows())
