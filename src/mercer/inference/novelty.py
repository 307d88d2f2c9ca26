"""How far a row is from the training rows, as the kernel sees it.

.. math:: \\nu(x) = K(x, x) - k_x' (K_{ZZ} + m \\lambda)^{-1} k_x

the posterior variance of x (in units of the prior) given a few reference points Z, each standing
for its share of the rows: near 0 among them, ``K(x, x)`` far away. The points are chosen by
pivoted Cholesky, so that a few cover the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel
from mercer.kernels.kernel import dense
from mercer.sampling import pivoted_cholesky
from mercer.storage.state import Numbers, Part, State

#: Reference points at most, and how many points they are chosen from.
POINTS, CANDIDATES = 64, 1000
#: Rows farther than this share of the training rows are new.
FAR = 0.99


@dataclass(frozen=True)
class Novelty:
    """``nu(x)`` from reference points, and where new rows begin.

    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> novelty = Novelty.of(Gaussian(0.2).fitted(X), X, 1e-3)
    >>> novelty.values(np.array([[0.5], [9.0]])).round(2)
    array([0.01, 1.  ])
    """

    state = State(
        points=Numbers("points d", label="reference points"),
        factor=Numbers("points points", label="factor of the reference points"),
        kernel=Part(Kernel, "d", must="the kernel must be a Kernel, got {kind}"),
    )
    kernel: Kernel
    points: Array  # (m, d)
    factor: Array  # (m, m), the inverse of a Cholesky factor
    start: float = np.inf  # nu where new rows begin
    full: float = np.inf  # nu of a row about which nothing is known

    @classmethod
    def of(cls, kernel: Kernel, candidates: Rows, alpha: float) -> Novelty:
        """Choose reference points among candidates."""
        rng = np.random.default_rng(0)
        candidates = dense(candidates)
        if len(candidates) > CANDIDATES:
            chosen = np.sort(rng.choice(len(candidates), CANDIDATES, replace=False))
            candidates = candidates[chosen]
        _, pivots = pivoted_cholesky(kernel, candidates, min(POINTS, len(candidates)), rng)
        points = np.ascontiguousarray(candidates[pivots])
        G = kernel(points).astype(np.float64)
        scale = max(float(np.trace(G)) / max(1, len(G)), np.finfo(float).tiny)
        G[np.diag_indices_from(G)] += max(len(points) * alpha, 1e-8 * scale)
        identity = np.eye(len(G))
        factor = solve_triangular(cholesky(G, lower=True), identity, lower=True)
        return cls(kernel, points, np.asarray(factor))

    def values(self, X: Rows) -> Array:
        """Return nu for every row."""
        K = np.asarray(
            self.kernel(X, self.points), dtype=np.float64
        )  # the factor amplifies rounding
        diagonal = np.asarray(self.kernel.diag(X), dtype=np.float64)
        found = diagonal - np.square(K @ self.factor.T).sum(axis=1)
        return np.asarray(np.clip(found, 0.0, None))

    def starting(self, start: float, diagonal: float) -> Novelty:
        """Return the measure with the place where new rows begin, and the mean of K(x, x)."""
        return Novelty(self.kernel, self.points, self.factor, start, max(diagonal, start))

    def excess(self, values: Array) -> Array:
        """Return how new rows are: 0 among the training rows, 1 where nothing is known."""
        room = self.full - self.start
        if not room > 0:
            return np.zeros_like(values)
        return np.asarray(np.maximum(values - self.start, 0.0) / room)
