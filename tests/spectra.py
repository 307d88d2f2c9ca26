"""Systems with eigenvalues that are known, and the same problem in its primal and dual form."""

from __future__ import annotations

import numpy as np

from mercer.systems import KernelSystem, MatrixSystem

#: name -> eigenvalues of A
SPECTRA = {
    "even": np.linspace(0.1, 1.0, 24),
    "ill-conditioned": np.geomspace(1.0, 1e-10, 24),
    "clusters": np.repeat([1.0, 1e-1, 1e-3, 1e-6], 6) * (1 + 1e-3 * np.arange(24)),
    "large": np.linspace(1e3, 1e5, 24),
}


def rotation(size: int, seed: int = 0) -> np.ndarray:
    """A random orthogonal matrix."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def matrix(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """A symmetric matrix with these eigenvalues."""
    U = rotation(len(values), seed)
    A = U * values @ U.T
    return (A + A.T) / 2


def system(values: np.ndarray, outputs: int = 1, alpha: float = 0.0, seed: int = 0) -> MatrixSystem:
    """``A v = b`` with v of order one in every direction."""
    A = matrix(values, seed)
    right = np.random.default_rng(seed + 1).standard_normal((len(values), outputs))
    return MatrixSystem(A, A @ right, alpha)


class BothForms:
    """Least squares on the full kernel, as a kernel system and as whitened normal equations."""

    def __init__(
        self, K: np.ndarray, Y: np.ndarray, weight: np.ndarray, intercept: bool, alpha: float
    ) -> None:
        self.dual = KernelSystem(K, Y, weight, intercept, alpha)
        share = weight / weight.sum()
        values, vectors = np.linalg.eigh(K)
        kept = values > 1e-14 * values[-1]
        self.features = vectors[:, kept] * np.sqrt(values[kept])  # K = features features'
        self.m = share @ self.features * intercept
        self.ybar = share @ Y * intercept
        centered = self.features - self.m
        A = centered.T * share @ centered
        self.primal = MatrixSystem((A + A.T) / 2, centered.T * share @ (Y - self.ybar), alpha)

    def primal_values(self, v: np.ndarray) -> np.ndarray:
        """Fitted values on all rows for a solution of the primal system."""
        return (self.features - self.m) @ v + self.ybar

    def dual_values(self, a: np.ndarray) -> np.ndarray:
        """Fitted values on all rows for a solution of the dual system."""
        f = self.dual.metric(a)
        return f + self.dual.constant(f)
