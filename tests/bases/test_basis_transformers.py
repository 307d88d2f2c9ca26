"""Bases on their own: transformers whose inner products are the kernel, or its approximation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

from cases import BASES, KERNELS, TYPICAL, rows
from mercer import (
    FullKernel,
    Gaussian,
    Landmarks,
    Matern,
    MercerWarning,
    Polynomial,
    Precomputed,
    RandomFeatures,
)
from mercer.bases import as_basis, as_generator

over_some = pytest.mark.parametrize(
    ("kernel", "basis"), sorted({(case.kernel, case.basis) for case in TYPICAL})
)


def basis_of(kernel, basis):
    return BASES[basis]().set_params(kernel=KERNELS[kernel][0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_full_features_have_the_kernel_as_inner_products(kernel):
    X = rows()
    features = basis_of(kernel, "full").fit_transform(X)
    np.testing.assert_allclose(features @ features.T, KERNELS[kernel][0](X), atol=1e-7)


def test_landmarks_are_scikit_learns_nystroem():
    X = rows(50)
    theirs = Nystroem(kernel="rbf", gamma=1 / (2 * 0.5**2), n_components=10, random_state=0).fit(X)
    ours = Landmarks(sampling=theirs.components_, kernel=Gaussian(0.5)).fit(X)
    new = rows(20, seed=5)
    np.testing.assert_allclose(
        ours.transform(new) @ ours.transform(X).T,
        theirs.transform(new) @ theirs.transform(X).T,
        atol=1e-8,
    )


@pytest.mark.parametrize("sampling", ["uniform", "kmeans"])
def test_the_same_seed_chooses_the_same_landmarks(sampling):
    X = rows(60)
    first, second, third = (
        Landmarks(10, sampling, random_state=seed).fit(X).landmarks_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


def test_uniform_landmarks_are_distinct_rows():
    X = rows(60)
    basis = Landmarks(25, random_state=0).fit(X)
    assert len(np.unique(basis.indices_)) == 25
    np.testing.assert_array_equal(basis.landmarks_, X[basis.indices_])


def test_cluster_centers_cover_clusters():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = centers[np.arange(300) % 3] + 0.1 * rng.standard_normal((300, 2))
    found = Landmarks(30, "kmeans", kernel=Gaussian(0.1), random_state=0).fit(X).landmarks_
    assert len(found) > 15
    distances = np.linalg.norm(found[:, None] - centers, axis=2)
    assert np.all(distances.min(axis=0) < 0.5)


def as_set(points):
    return set(map(tuple, np.asarray(points).tolist()))


def test_given_landmarks_are_the_landmarks():
    points = rows(7, seed=9)
    basis = Landmarks(sampling=points).fit(rows())
    assert as_set(basis.landmarks_) == as_set(points)
    assert (basis.size, basis.n_dropped_) == (7, 0)


def test_landmarks_that_others_span_are_left_out():
    points = rows(7, seed=9)
    basis = Landmarks(sampling=np.vstack([points, points])).fit(rows())
    assert as_set(basis.landmarks_) == as_set(points)
    assert (basis.size, basis.n_dropped_) == (7, 7)


def test_the_median_comes_from_the_rows_and_not_from_given_landmarks():
    X, points = rows(50), 100 * rows(5, seed=9)
    basis = Landmarks(sampling=points).fit(X)
    assert basis.kernel_.bandwidth == Gaussian().fitted(X).bandwidth


def test_more_landmarks_than_rows_are_reduced_with_a_warning():
    with pytest.warns(MercerWarning, match=r"n_components=50 is more than the 30 rows: reduced"):
        basis = Landmarks(50).fit(rows(30))
    assert basis.size == 30


def test_without_a_number_there_are_as_many_landmarks_as_rows_up_to_2000():
    assert Landmarks().fit(rows(30)).size == 30
    assert Landmarks().wanted_size(10**6) == 2000
    assert RandomFeatures().wanted_size(10) == 2000


@pytest.mark.parametrize("sampling", ["uniform", "kmeans"])
def test_landmarks_of_sparse_rows(sampling):
    X = rows(40)
    X[X < 0.4] = 0.0
    dense = Landmarks(8, sampling, random_state=0).fit(X)
    thin = Landmarks(8, sampling, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.landmarks_, dense.landmarks_, atol=1e-12)
    np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-9)


def test_the_output_has_the_dtype_of_the_rows():
    X = rows(30)
    for basis in (Landmarks(8, random_state=0), RandomFeatures(8, random_state=0)):
        basis.fit(X)
        assert basis.transform(X.astype(np.float32)).dtype == np.float32
        assert basis.transform(X).dtype == np.float64


def test_many_rows_are_transformed_in_blocks_alike():
    X = np.random.default_rng(0).random((5000, 2))
    basis = Landmarks(8, random_state=0).fit(X)
    whole = basis.transform(X)
    np.testing.assert_allclose(whole[3000:3010], basis.transform(X[3000:3010]), atol=1e-12)


def test_names_of_the_features():
    basis = Landmarks(4, random_state=0, kernel=Gaussian(0.1)).fit(rows(30))
    assert basis.get_feature_names_out().tolist() == [f"landmarks{i}" for i in range(4)]


def test_a_precomputed_kernel_has_landmarks_among_its_rows():
    X = rows(30)
    K = Gaussian(0.5)(X)
    ours = Landmarks(8, kernel=Precomputed(), random_state=0).fit(K)
    same = Landmarks(sampling=X[ours.indices_], kernel=Gaussian(0.5)).fit(X)
    np.testing.assert_allclose(
        ours.transform(K) @ ours.transform(K).T, same.transform(X) @ same.transform(X).T, atol=1e-9
    )


@pytest.mark.parametrize("sampling", ["kmeans", np.ones((2, 30))], ids=["kmeans", "given"])
def test_a_precomputed_kernel_has_no_points(sampling):
    K = Gaussian(0.5)(rows(30))
    with pytest.raises(ValueError, match=r"precomputed kernel has no points"):
        Landmarks(2, sampling, kernel=Precomputed(), random_state=0).fit(K)


@pytest.mark.parametrize(
    ("basis", "error", "words"),
    [
        (Landmarks(0), ValueError, "n_components of Landmarks must be at least 1, got 0"),
        (Landmarks(2.5), TypeError, "n_components of Landmarks must be an integer"),
        (RandomFeatures(-3), ValueError, "n_components of RandomFeatures must be at least 1"),
        (Landmarks(5, sampling="unifrom"), ValueError, "did you mean 'uniform'"),
        (Landmarks(sampling=np.ones((3, 5))), ValueError, r"must have shape \(M, 2\)"),
        (Landmarks(sampling=np.ones(3)), ValueError, r"must have shape \(M, 2\)"),
        (Landmarks(sampling=np.ones((0, 2))), ValueError, r"must have shape \(M, 2\)"),
        (
            Landmarks(sampling=np.full((3, 2), np.nan)),
            ValueError,
            "landmarks contains NaN at row 0",
        ),
        (RandomFeatures(5, random_state="x"), ValueError, "cannot be used to seed"),
        (Landmarks(5, kernel="gausian"), ValueError, "did you mean 'gaussian'"),
    ],
    ids=lambda value: str(value)[:40].replace("\n", " "),
)
def test_bad_parameters(basis, error, words):
    with pytest.raises(error, match=words):
        basis.fit(rows())


def test_rows_that_are_not_finite():
    X = rows()
    X[4, 1] = np.inf
    with pytest.raises(ValueError, match="infinity at row 4, column 1"):
        FullKernel().fit(X)
    basis = RandomFeatures(5, random_state=0).fit(rows())
    with pytest.raises(ValueError, match="infinity at row 4, column 1"):
        basis.transform(X)


def test_names_become_bases_and_objects_stay():
    assert type(as_basis("landmarks")) is Landmarks
    basis = RandomFeatures(5)
    assert as_basis(basis) is basis
    with pytest.raises(ValueError, match="unknown basis 'landmark'; did you mean 'landmarks'"):
        as_basis("landmark")


def test_a_clone_of_a_fitted_basis_is_not_fitted():
    basis = Landmarks(5, random_state=0, kernel=Matern(2.5)).fit(rows())
    copy = clone(basis)
    assert not hasattr(copy, "landmarks_")
    assert copy.kernel.nu == 2.5


def test_random_states_of_every_kind():
    assert as_generator(3).integers(1000) == as_generator(3).integers(1000)
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator
    legacy = [as_generator(np.random.RandomState(5)).integers(1000) for _ in range(2)]
    assert legacy[0] == legacy[1]
    assert isinstance(as_generator(None), np.random.Generator)


def test_polynomial_landmarks_of_full_rank_are_exact():
    """The quadratic kernel in two columns spans six functions: ten landmarks are all of it."""
    X = rows(40)
    basis = Landmarks(10, kernel=Polynomial(2), random_state=0).fit(X)
    assert basis.size == 6
    np.testing.assert_allclose(
        basis.transform(X) @ basis.transform(X).T, Polynomial(2)(X), atol=1e-7
    )
