"""Kernels of rows whose zero and units mean something: cosine and chi-squared, on defaults."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity

from mercer import ChiSquared, Cosine, KernelClassifier, KernelRegressor, load, save


@pytest.fixture(scope="module")
def counts():
    """Counts of 12 words in texts of two kinds and any length."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=300)
    shares = np.array([np.linspace(1, 3, 12), np.linspace(3, 1, 12)])[kind]
    return rng.poisson(shares * rng.uniform(0.3, 2.0, size=(300, 1))).astype(float), kind


@pytest.mark.parametrize("kernel", ["chi2", "cosine"])
def test_all_defaults_leave_the_columns_as_they_are(counts, kernel, tmp_path):
    X, kind = counts
    model = KernelRegressor(kernel).fit(X[:200], kind[:200])
    assert model.metric_ is None
    formula = {"chi2": chi2_kernel, "cosine": lambda A, B, gamma: cosine_similarity(A, B)}[kernel]
    gamma = 1 / getattr(model.kernel_, "bandwidth", 1.0)
    np.testing.assert_allclose(model.kernel_(X), formula(X, X, gamma=gamma), atol=1e-12)
    assert model.score(X[200:], kind[200:]) > 0.5
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_bandwidth_of_chi_squared_is_searched(counts):
    X, kind = counts
    model = KernelClassifier(ChiSquared(), random_state=0).fit(X[:200], kind[:200])
    assert len(model.search_results_["factor"]) > 2
    assert model.score(X[200:], kind[200:]) > 0.85
    with pytest.raises(ValueError, match="ChiSquared needs nonnegative columns"):
        model.predict(X - 1.0)
    with pytest.raises(ValueError, match=r"columns of ChiSquared\(\) cannot be scaled"):
        KernelClassifier(ChiSquared(), scale="standard").fit(X, kind)


def test_chi_squared_learns_a_diagonal_metric(counts):
    X, kind = counts
    X = np.hstack([X, np.random.default_rng(1).poisson(20.0, size=(300, 3))])
    model = KernelRegressor(ChiSquared(), metric="diagonal", random_state=0).fit(X, kind)
    assert model.metric_.shape == (15,)
    assert model.metric_[12:].max() < model.metric_[:12].max()


def test_the_cosine_of_sparse_rows_and_its_exact_features(counts):
    X, kind = counts
    X[0] = 0.0
    dense = KernelRegressor(Cosine(), "full", alpha=1e-3, dtype="float64").fit(X, kind)
    for basis in ("full", "random_features"):  # the columns of directions, exactly
        model = KernelRegressor(Cosine(), basis, alpha=1e-3, dtype="float64")
        found = model.fit(sparse.csr_array(X), kind).predict(sparse.csr_array(X))
        np.testing.assert_allclose(found, dense.predict(X), atol=1e-8)
