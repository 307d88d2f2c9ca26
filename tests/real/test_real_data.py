"""What is claimed of real data: accuracy in float32, truth at any penalty, bounded memory."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular, svd
from sklearn.preprocessing import StandardScaler

from cases import MEDIAN
from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, Ridge, load_letter
from mercer.systems import MomentSystem
from real_data import real


def regression(name, train, test):
    """Shuffled rows in standard units: training and test parts."""
    data = real(name)
    order = np.random.default_rng(0).permutation(len(data.X))[: train + test]
    X, y = np.asarray(data.X, float)[order], np.asarray(data.y, float)[order]
    X = StandardScaler().fit(X[:train]).transform(X)
    y = (y - y[:train].mean()) / y[:train].std()
    return X[:train], y[:train], X[train:], y[train:]


def along_alpha(model, alphas, X, units):
    """Predictions of a fitted model solved again for every alpha, from its moments."""
    system = MomentSystem(model.fit_.folds, model.basis_, True, units)
    H = model.basis_.evaluate(X).astype(float)
    targets = model._targets
    for alpha in alphas:
        coefficients, intercept = system.coefficients(Ridge().solve(system, alpha).value)
        yield (H @ coefficients + intercept) * targets.scale + targets.origin


def orthogonal_fit(kernel, points, X, y, X_test, alphas):
    """Predictions from a singular value decomposition of whitened rows: no moments at all."""
    L = cholesky(kernel(points) + 1e-13 * np.eye(len(points)), lower=True)
    H, H_test = kernel(X, points), kernel(X_test, points)
    mean = H.mean(axis=0)
    Z, Z_test = (solve_triangular(L, (values - mean).T, lower=True).T for values in (H, H_test))
    U, s, Vt = svd(Z / np.sqrt(len(Z)), full_matrices=False)
    beta = U.T @ (y - y.mean()) / np.sqrt(len(y))
    return [Z_test @ (Vt.T @ (s / (s**2 + alpha) * beta)) + y.mean() for alpha in alphas]


@pytest.mark.real
@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_moments_solve_kin40k_as_well_as_an_orthogonal_fit(factor):
    """Wide kernels make landmarks almost equal; normal equations of raw values fail here."""
    X, y, X_test, y_test = regression("kin40k", 6000, 2000)
    kernel = Gaussian(factor * 3.9)
    points, alphas = X[:400], 10.0 ** -np.arange(3, 11)
    model = KernelRegressor(kernel, Landmarks(sampling=points), 1e-6, dtype="float64").fit(X, y)
    found = along_alpha(model, alphas, X_test, np.ones(1))
    truth = orthogonal_fit(kernel, points, X, y, X_test, alphas)
    for mine, exact in zip(found, truth, strict=True):
        mine, exact = (np.sqrt(np.mean((p.ravel() - y_test) ** 2)) for p in (mine, exact))
        assert mine == pytest.approx(exact, rel=2e-3)


@pytest.mark.real
@pytest.mark.parametrize("name", ["kin40k", "california_housing"])
def test_automatic_precision_costs_no_accuracy(name, monkeypatch):
    X, y, X_test, y_test = regression(name, 8000, 2000)
    # As if the rows were many, so that float32 is considered.
    monkeypatch.setattr("mercer.plan.plan.FLOAT64_WORK", 0.0)
    for factor in (0.5, 1.0, 3.0):
        kernel = Gaussian(factor * 3.9)
        errors = {}
        for dtype in ("auto", "float64"):
            model = KernelRegressor(kernel, Landmarks(500), 1e-8, dtype=dtype, random_state=0)
            predictions = model.fit(X, y).predict(X_test)
            errors[dtype] = np.sqrt(np.mean((predictions - y_test) ** 2))
        assert errors["auto"] == pytest.approx(errors["float64"], rel=0.01)


@pytest.mark.parametrize(
    ("settings", "accuracy"),
    [(MEDIAN, 0.9), pytest.param({}, 0.93, marks=pytest.mark.slow)],
    ids=["as given", "all defaults"],
)
def test_letter_is_learned(settings, accuracy):
    letter = load_letter()
    model = KernelClassifier(basis=Landmarks(1000), random_state=0, **settings)
    model.fit(letter.X_train, letter.y_train)
    assert model.score(letter.X_test, letter.y_test) > accuracy


@pytest.mark.real
@pytest.mark.slow
def test_float32_is_within_a_thousandth_on_covtype_at_every_alpha():
    data = real("covtype")
    order = np.random.default_rng(0).permutation(len(data.X))[:120_000]
    X, y = np.asarray(data.X, float)[order], np.asarray(data.y)[order]
    X = StandardScaler().fit(X[:100_000]).transform(X)
    X, X_test, y, y_test = X[:100_000], X[100_000:], y[:100_000], y[100_000:]
    alphas = 10.0 ** -np.arange(3, 11)
    errors = {}
    for dtype in ("float32", "float64"):
        settings = {"dtype": dtype, "solver": "ridge", "random_state": 0}  # moments, not products
        model = KernelRegressor(Gaussian(2.0), Landmarks(2000), 1e-6, **settings)
        model.fit(X, np.where(y[:, None] == np.unique(y), 1.0, -1.0))
        assert model.basis_.precision_ == dtype
        errors[dtype] = [
            np.mean(np.unique(y)[p.argmax(axis=1)] != y_test)
            for p in along_alpha(model, alphas, X_test, np.ones(7))
        ]
    assert np.abs(np.subtract(errors["float32"], errors["float64"])).max() < 1e-3


FIT_FROM_FILE = """
import sys
import mercer
from mercer.engines.memory import peak_memory
model = mercer.KernelRegressor(
    "gaussian", mercer.Landmarks(1000), 1e-6, random_state=0, memory_limit="400MB"
)
model.fit(sys.argv[1], "y")
print(peak_memory())
"""


@pytest.mark.slow
def test_a_million_rows_from_parquet_fit_into_700_megabytes(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    path = tmp_path / "rows.parquet"
    names = [f"x{j}" for j in range(20)] + ["y"]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for _ in range(20):
            block = rng.standard_normal((50_000, 21))
            writer.write_table(pa.table(dict(zip(names, block.T, strict=True))))
    done = subprocess.run(
        [sys.executable, "-c", FIT_FROM_FILE, str(path)], stdout=subprocess.PIPE, check=True
    )
    assert int(done.stdout) < 700e6
