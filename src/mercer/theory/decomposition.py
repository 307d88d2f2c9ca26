"""Where the error of an average over shards comes from: noise, landmarks, rows, penalty, shards.

For landmarks shared by m shards of the rows D, Li, Liu and Wang (2023, *Optimal Convergence Rates
for Distributed Nystroem Approximation*) compare six functions (definition 9),

.. math:: \\|\\bar f_D^M - f_\\rho\\| \\le
          \\underbrace{\\|\\bar f_D^M - \\hat f_D^M\\|}_{\\text{distributed}} +
          \\underbrace{\\|\\hat f_D^M - \\tilde f_D^M\\|}_{\\text{sample}} +
          \\underbrace{\\|\\tilde f_D^M - \\tilde f_D\\|}_{\\text{Nystroem}} +
          \\underbrace{\\|\\tilde f_D - f_\\lambda\\|}_{\\text{empirical}} +
          \\underbrace{\\|f_\\lambda - f_\\rho\\|}_{\\text{approximation}}

(lemma 15, with its global variance split as in lemma 10): the average of the shards' models, the
fit to all rows, the same without noise in y, the same without landmarks, the same with the
distribution instead of rows, and the truth. Lemma 10 has the squares of the parts within a shard,
the sample variance divided by m; (10) bounds the distributed error.

The truth and the distribution are unknown. On a sample, the exact kernel's fit to all of it stands
for the truth, at the penalty that leave-one-out prefers, and the sample for the distribution; the
fits get part of it, and all norms are over the rest. The mean of y is subtracted, as the paper has
no intercept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer.contracts import Array, Rows
from mercer.engines import blas_threads
from mercer.kernels import Kernel

#: The share of the sample that the fits get; the rest measures distances.
TRAINING = 0.75
#: Penalties that leave-one-out compares for the stand-in of the truth.
CANDIDATES = 30
#: Landmarks that depend on the others up to this are left out of the factor.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class ErrorParts:
    """Root mean squares over held-out rows of the parts of an error, for M landmarks and m shards.

    ``total`` is the distance of the average from the truth, ``bound`` the right-hand side of (10),
    and parts with the suffix ``_of_shard`` are those of a single shard, root mean squares over
    shards.
    """

    functions: int
    partitions: int
    total: float
    distributed: float
    sample: float
    nystroem: float
    empirical: float
    approximation: float
    sample_of_shard: float
    nystroem_of_shard: float
    empirical_of_shard: float
    bound: float

    @property
    def bound_in_probability(self) -> float:
        """The sum of the parts, which bounds ``total`` (lemma 15)."""
        parts = self.distributed + self.sample + self.nystroem
        return parts + self.empirical + self.approximation

    @property
    def bound_in_expectation(self) -> float:
        """The root of four times the sum of squares of lemma 10."""
        squares = self.sample_of_shard**2 / self.partitions + self.nystroem_of_shard**2
        return 2 * float(np.sqrt(squares + self.empirical_of_shard**2 + self.approximation**2))


class Sample:
    """A sample that stands for a distribution: its kernel matrix ``K = U diag(s) U'``.

    Parameters
    ----------
    kernel : Kernel
        A kernel with numeric parameters.
    X : rows
        The rows.
    Y : array of shape (rows, k)
        Targets with a mean of zero.
    alpha : float
        The penalty of the fits.
    rng : Generator
        Splits the rows and draws landmarks.
    """

    def __init__(
        self, kernel: Kernel, X: Rows, Y: Array, alpha: float, rng: np.random.Generator
    ) -> None:
        order = rng.permutation(X.shape[0])
        self.size = int(TRAINING * len(order))
        self.K = kernel(X[order])
        self.Y, self.alpha = Y[order], alpha
        values, self._vectors = np.linalg.eigh(self.K)
        self._values = np.maximum(values, 0.0)
        self.truth = self._smoothed(self.Y, self._best_penalty())
        self.expected = self._smoothed(self.truth, alpha)  # f_lambda

    def _smoothed(self, Y: Array, alpha: float) -> Array:
        """Return the values of the exact fit to all rows."""
        shrink = self._values / (self._values + alpha * len(self.K))
        return np.asarray(self._vectors @ (shrink[:, None] * (self._vectors.T @ Y)))

    def _best_penalty(self) -> float:
        """Return the penalty with the least leave-one-out error."""
        grid = self._values[-1] / len(self.K) * np.geomspace(1e-9, 1, CANDIDATES)
        errors = []
        for alpha in grid:
            shrink = self._values / (self._values + alpha * len(self.K))
            leverage = self._vectors**2 @ shrink
            left = (self.Y - self._smoothed(self.Y, alpha)) / (1 - leverage)[:, None]
            errors.append(float(np.sum(left**2)))
        return float(grid[int(np.argmin(errors))])

    def exact(self, rows: Array) -> Array:
        """Return the exact fit to the truth at some rows, at all rows."""
        A = self.K[np.ix_(rows, rows)] + self.alpha * len(rows) * np.eye(len(rows))
        return np.asarray(self.K[:, rows] @ cho_solve(cho_factor(A), self.truth[rows]))

    def coordinates(self, landmarks: Array) -> Array:
        """Return whitened coordinates of all rows in the span of landmarks."""
        values, vectors = np.linalg.eigh(self.K[np.ix_(landmarks, landmarks)])
        kept = values > DEPENDENT * values[-1]
        return np.asarray(self.K[:, landmarks] @ (vectors[:, kept] / np.sqrt(values[kept])))

    def projected(self, Z: Array, rows: Array, Y: Array) -> Array:
        """Return the coefficients of a fit in the span of landmarks."""
        A = Z[rows].T @ Z[rows] / len(rows) + self.alpha * np.eye(Z.shape[1])
        return np.linalg.solve(A, Z[rows].T @ Y[rows] / len(rows))

    def distance(self, f: Array, g: Array) -> float:
        """Return the root mean square of f - g over held-out rows, all outputs together."""
        rest = slice(self.size, None)
        return float(np.sqrt(np.mean(np.sum((f[rest] - g[rest]) ** 2, axis=1))))

    def deviation(self, rows: Array) -> float:
        """Return ``||C_alpha^-1/2 (C - C_rows) C_alpha^-1/2||``."""
        scale = np.sqrt(self._values / (self._values / len(self.K) + self.alpha))
        part = self._vectors[rows] * scale  # rows of Phi C_alpha^-1/2

        def product(v: Array) -> Array:
            v = np.ravel(v)
            return np.asarray(scale**2 * v / len(self.K) - part.T @ (part @ v) / len(rows))

        n = len(self.K)
        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        return float(abs(eigsh(operator, k=1, which="LM", tol=1e-3, v0=start)[0][0]))

    def energy(self, values: Array) -> float:
        """Return ``||C_alpha^1/2 f||`` in the space of the kernel, from the values of f.

        ``f = Phi theta`` with ``Phi = U diag(s)^1/2``, so ``theta = diag(s)^-1/2 U'f``.
        """
        kept = self._values > 1e-12 * self._values[-1]
        rotated = (self._vectors.T @ values)[kept]
        weight = (self._values[kept] / len(self.K) + self.alpha) / self._values[kept]
        return float(np.sqrt(np.sum(weight[:, None] * rotated**2)))


def error_parts(
    kernel: Kernel,
    X: Rows,
    Y: Array,
    alpha: float,
    functions: Sequence[int],
    partitions: Sequence[int],
    rng: np.random.Generator,
) -> list[ErrorParts]:
    """Return the parts of the error for every M in ``functions`` and m in ``partitions``.

    Landmarks are drawn uniformly from the rows of the fits, those of a smaller M among those of a
    larger one. O(n^3) for the n rows of the sample.

    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 1))
    >>> Y = np.sin(6 * X) + 0.1 * rng.standard_normal((200, 1))
    >>> found = error_parts(Gaussian(0.3), X, Y - Y.mean(), 1e-3, [2, 20], [1, 5], rng)
    >>> [(part.functions, part.partitions) for part in found]
    [(2, 1), (2, 5), (20, 1), (20, 5)]
    >>> found[0].nystroem > 10 * found[2].nystroem, found[0].distributed < 1e-12
    (True, True)
    """
    with blas_threads(1):  # on a busy machine, threads that wait for each other cost more
        return _measured(Sample(kernel, X, Y, alpha, rng), functions, partitions)


def _measured(
    sample: Sample, functions: Sequence[int], partitions: Sequence[int]
) -> list[ErrorParts]:
    rows, every = np.arange(sample.size), sample.exact(np.arange(sample.size))
    shards = {m: np.array_split(rows, m) for m in partitions}
    exact_of = {m: [sample.exact(part) for part in parts] for m, parts in shards.items()}
    gaps = {m: [sample.deviation(part) for part in parts] for m, parts in shards.items()}
    found = []
    for size in functions:
        Z = sample.coordinates(rows[:size])  # rows are in random order
        whole = Z @ sample.projected(Z, rows, sample.Y)
        clean = Z @ sample.projected(Z, rows, sample.truth)
        for m in partitions:
            noisy = [Z @ sample.projected(Z, part, sample.Y) for part in shards[m]]
            quiet = [Z @ sample.projected(Z, part, sample.truth) for part in shards[m]]
            shares = np.array([len(part) for part in shards[m]]) / len(rows)
            average = np.tensordot(shares, np.stack(noisy), 1)
            local = [sample.energy(one - sample.expected) for one in noisy]
            found.append(
                ErrorParts(
                    functions=size,
                    partitions=m,
                    total=sample.distance(average, sample.truth),
                    distributed=sample.distance(average, whole),
                    sample=sample.distance(whole, clean),
                    nystroem=sample.distance(clean, every),
                    empirical=sample.distance(every, sample.expected),
                    approximation=sample.distance(sample.expected, sample.truth),
                    sample_of_shard=_mean(shares, map(sample.distance, noisy, quiet)),
                    nystroem_of_shard=_mean(shares, map(sample.distance, quiet, exact_of[m])),
                    empirical_of_shard=_mean(
                        shares, (sample.distance(one, sample.expected) for one in exact_of[m])
                    ),
                    bound=4 * float(shares @ (np.array(gaps[m]) * np.array(local))),
                )
            )
    return found


def _mean(shares: Array, distances: Iterable[float]) -> float:
    """Return the root of the mean square over shards."""
    return float(np.sqrt(shares @ np.array(list(distances)) ** 2))
