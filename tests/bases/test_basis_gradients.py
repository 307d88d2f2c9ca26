"""Gradients of fitted functions, with the coefficients of a fit."""

import numpy as np
import pytest
from scipy import sparse

from cases import BASES, rows, targets
from mercer import (
    ArcCosine,
    FullKernel,
    Gaussian,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    LaplacianL2,
    Matern,
    Precomputed,
    RandomFeatures,
    Sketch,
)
from mercer.bases import BasisTransformer
from mercer.bases.sketch import KINDS
from mercer.testing.gradient_checks import differences, inner_rows

ALL = {
    **BASES,
    "leverage": lambda: Landmarks(12, "leverage"),
    "by_labels": lambda: RandomFeatures(10, sampling="labels"),
    "unbiased": lambda: RandomFeatures(10, sampling="leverage", weighting="unbiased"),
    **{f"sketch_{kind}": lambda kind=kind: Sketch(10, kind) for kind in KINDS},
}


def fit(basis, kernel, outputs=2, dtype="float64"):
    X = rows(40)
    model = KernelRegressor(kernel, basis, alpha=1e-3, random_state=0, dtype=dtype)
    return model.fit(X, targets(X, outputs)), rows(15, seed=5)


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_those_of_predictions(name):
    """Predictions are in units of y: those of the fit times ``scale``."""
    model, X = fit(ALL[name](), Matern(2.5, 0.6))
    X = inner_rows(X)
    wanted = differences(model.predict, X)
    found = model.basis_.gradients(model.dual_coef_)(X)
    assert model.basis_.has_gradient
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7 * np.abs(wanted).max())
    # Encoded targets differ by a factor an output.
    encoded = model.basis_.gradients(model.fit_.coefficients)(X)
    factor = np.linalg.norm(found, axis=(1, 2)) / np.linalg.norm(encoded, axis=(1, 2))
    np.testing.assert_allclose(encoded * factor[:, None, None], found, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["leverage", "random_features", "sketch"])
def test_gradients_have_the_precision_of_blocks(name):
    model, X = fit(ALL[name](), Gaussian(0.5), dtype="float32")
    found = model.basis_.gradients(model.dual_coef_)(X)
    assert found.dtype == np.float32
    model.basis_.widen()
    wanted = model.basis_.gradients(model.dual_coef_)(X)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("basis", [FullKernel(), Landmarks(10), Sketch(10), RandomFeatures(10)])
def test_blocks_of_any_size_and_sparse_rows(basis, monkeypatch):
    model, X = fit(basis, Gaussian(0.5))
    X[X < 0.3] = 0.0
    whole = model.basis_.gradients(model.dual_coef_)(X)
    monkeypatch.setattr("mercer.bases.basis.TILE", 1)
    for given in (np.vstack([X, X]), sparse.csr_matrix(np.vstack([X, X]))):
        found = model.basis_.gradients(model.dual_coef_)(given)
        np.testing.assert_allclose(found, np.hstack([whole, whole]), rtol=1e-9, atol=1e-12)


def test_the_full_kernel_leaves_out_self_terms_at_a_kink():
    model, _ = fit(FullKernel(), LaplacianL2(0.5))
    X = model.basis_.landmarks_
    found = model.basis_.gradients(model.dual_coef_)(X)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        block = model.basis_.kernel_.gradient(X[others])
        wanted = block(X[i : i + 1], model.dual_coef_[others])[:, 0]
        np.testing.assert_allclose(found[:, i], wanted, rtol=1e-8, atol=1e-10)


def test_a_basis_without_gradients_says_so():
    X = rows(20)
    K = Gaussian(0.5)(X)
    precomputed = Landmarks(5, kernel=Precomputed(), random_state=0).fit(K)
    steps = RandomFeatures(5, kernel=ArcCosine(0), random_state=0).fit(X)
    for basis in (precomputed, steps):
        assert not basis.has_gradient
        with pytest.raises(ValueError, match="no gradient"):
            basis.gradients(np.ones((5, 1)))
    with pytest.raises(ValueError, match=r"BasisTransformer has no gradients; try Landmarks"):
        BasisTransformer().gradients(np.ones((5, 1)))
    assert Landmarks(5, kernel=LaplacianL1(1.0)).fit(X).has_gradient
