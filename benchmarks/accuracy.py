"""Test error of the float32 path against float64, along alpha."""

from __future__ import annotations

import numpy as np
from experiments.scaffold.tables import Table
from scipy.linalg import eigh, solve_triangular

from benchmarks.data import BANDWIDTH, FIT_ONLY, LANDMARKS, TRAIN, Covtype, covtype
from mercer import Gaussian, KernelRegressor, Landmarks

ALPHAS = 10.0 ** -np.arange(3, 11)
BLOCK = 2048


def run() -> list[object]:
    data = covtype()
    errors: dict[str, list[float]] = {}
    for dtype in ("float64", "float32"):
        errors[dtype] = []
        for alpha in ALPHAS:
            model = KernelRegressor(
                Gaussian(BANDWIDTH),
                Landmarks(LANDMARKS),
                alpha,
                dtype=dtype,
                random_state=0,
                **FIT_ONLY,
            ).fit(data.X, data.Y)
            errors[dtype].append(data.error(model.predict(data.X_test)))
    worst = max(abs(a - b) for a, b in zip(errors["float32"], errors["float64"], strict=True))
    errors["float32, plain"] = plain_errors(model.basis_.landmarks_, data)
    table = Table(["alpha", *(f"{alpha:.0e}" for alpha in ALPHAS)])
    for name, values in errors.items():
        table.add([name, *(f"{value:.4f}" for value in values)])
    return [
        f"covtype as above ({TRAIN:,} rows, {LANDMARKS:,} landmarks): test error along alpha. "
        f"Largest difference of float32 from float64: **{worst:.4f}**. The last row sums the "
        f"kernel values as they are, instead of orthogonalized functions, and solves likewise.",
        table,
    ]


def plain_errors(landmarks: np.ndarray, data: Covtype) -> list[float]:
    """Test errors when kernel values are summed as they are, block by block in float32."""
    kernel, n = Gaussian(BANDWIDTH), len(data.X)
    mean, target = np.zeros(len(landmarks)), data.Y.mean(axis=0)
    second = np.zeros((len(landmarks), len(landmarks)))
    cross = np.zeros((len(landmarks), data.Y.shape[1]))
    for start in range(0, n, BLOCK):
        block = slice(start, start + BLOCK)
        H = kernel(data.X[block], landmarks).astype(np.float32)
        mean += H.sum(axis=0)
        second += H.T @ H
        cross += H.T @ (data.Y[block] - target).astype(np.float32)
    mean /= n
    gram = kernel(landmarks)
    factor = np.linalg.cholesky(gram + 1e-12 * np.trace(gram) * np.eye(len(gram)) / len(gram))

    def whitened(values: np.ndarray) -> np.ndarray:
        return solve_triangular(factor, values, lower=True)

    A = whitened(whitened(second / n - np.outer(mean, mean)).T)
    eigenvalues, vectors = eigh((A + A.T) / 2)
    b = vectors.T @ whitened(cross / n)
    centered = kernel(data.X_test, landmarks) - mean
    shown = whitened(centered.T).T @ vectors
    shrunk = (b / (np.maximum(eigenvalues, 0.0) + alpha)[:, None] for alpha in ALPHAS)
    return [data.error(shown @ coefficients + target) for coefficients in shrunk]
