"""Errors of exact kernel fits to parts of the rows, measured on rows in one place.

.. math:: f_D = \\arg\\min_f \\frac1{|D|} \\sum_{i \\in D} (f(x_i) - y_i)^2 + \\alpha \\|f\\|^2

of nested subsamples D, whose errors fall at the rate of the theory, and of shards, whose models are
averaged (DKRR). Each has functions of its own, so moments of shared functions do not show them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from mercer.contracts import Array, Rows, Targets
from mercer.kernels import Kernel
from mercer.rows.labels import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.theory.sub_sums import FOLDS, PARTITIONS, SIZES, decided

#: Rows read at a time.
ROWS = 8192
#: Rows of the largest subsample, each half of the one before, and how many of each size.
LARGEST, SUBSAMPLES = 2000, ((8, 4), (4, 4), (2, 3), (1, 1))
#: Penalties of a subsample, relative to what suited so many rows of fewer functions.
AROUND = 4.0 ** np.arange(-3, 4)


class LocalFit(NamedTuple):
    """The error of an exact fit, or of an average of them: squared, or the rate of decisions.

    ``rows`` are those of a subsample or of a shard.
    """

    rows: float
    error: float


class LocalKernels:
    """Rows in one place, for exact fits to parts of them; weights are left aside.

    The fits get the same share of the rows as the largest training set of
    :mod:`mercer.theory.sub_sums`; the other rows are the test.
    """

    def __init__(self, rows: RowSet, targets: Targets, kernel: Kernel, intercept: bool) -> None:
        blocks = list(checked_blocks(rows.items[0].source, targets, ROWS, partial=True))
        self.X = _stacked([block.X for block, _ in blocks])
        self.Y = np.concatenate([Y for _, Y in blocks])
        known = np.flatnonzero(~np.isnan(self.Y).any(axis=1))
        order = np.random.default_rng(0).permutation(known)
        self.train = order[: len(order) * SIZES[-1] // FOLDS]
        self.test = order[len(self.train) :]
        self.kernel, self.intercept = kernel, intercept
        truth = self.Y[self.test]
        around = float(np.sum((truth - truth.mean(axis=0)) ** 2))
        self.nothing = max(around, np.finfo(float).tiny)

    def averages(self, alpha: float, classes: bool) -> list[LocalFit]:
        """Return the error of the average over shards, for several numbers of shards."""
        found = []
        for parts in PARTITIONS:
            scores = np.zeros((len(self.test), self.Y.shape[1]))
            for part in np.array_split(self.train, parts):
                scores += len(part) / len(self.train) * self._scores(part, [alpha])[0]
            wrong = decided(scores) != decided(self.Y[self.test])
            error = float(np.mean(wrong)) if classes else self._error(scores)
            found.append(LocalFit(len(self.train) / parts, error))
        return found

    def subsamples(self, alpha_of: Callable[[float], float]) -> list[LocalFit]:
        """Return the error of nested subsamples, each at the best penalty near ``alpha_of(n)``."""
        largest = min(LARGEST, len(self.train))
        found = []
        for divisor, repeats in SUBSAMPLES:
            size = largest // divisor
            for repeat in range(min(repeats, len(self.train) // size)):
                part = self.train[repeat * size : (repeat + 1) * size]
                scores = self._scores(part, alpha_of(size) * AROUND)
                found.append(LocalFit(size, min(map(self._error, scores))))
        return found

    def _scores(self, part: Array, alphas: Sequence[float] | Array) -> list[Array]:
        """Return f at the test rows, for every penalty."""
        X, Y = self.X[part], self.Y[part]
        mean = Y.mean(axis=0) if self.intercept else np.zeros(Y.shape[1])
        K, across = self.kernel(X), self.kernel.against(X)(self.X[self.test])
        found = []
        for alpha in alphas:
            A = K.copy()
            # Penalties below rounding leave the matrix without a factor.
            least = 1e-13 * float(np.trace(K))
            A[np.diag_indices_from(A)] += max(float(alpha) * len(part), least)
            factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
            found.append(across @ cho_solve(factor, Y - mean, check_finite=False) + mean)
        return found

    def _error(self, scores: Array) -> float:
        return float(np.sum((self.Y[self.test] - scores) ** 2)) / self.nothing


def _stacked(parts: list[Rows]) -> Rows:
    return sparse.vstack(parts).tocsr() if sparse.issparse(parts[0]) else np.concatenate(parts)
