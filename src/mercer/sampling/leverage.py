"""Ridge leverage scores: the influence of each row on a fit with penalty alpha.

.. math:: \\ell_i(\\alpha) = \\big(K (K + \\alpha n I)^{-1}\\big)_{ii}, \\qquad
          \\sum_i \\ell_i(\\alpha) = \\mathcal{N}(\\alpha),

the effective dimension. Exact scores need the kernel matrix of all rows. With a dictionary of rows
Z, each included with probability p_j, they are approximated by

.. math:: \\tilde\\ell(x) = \\frac{1}{\\alpha n}
          \\big(K(x, x) - k_Z(x)' (K_{ZZ} + \\alpha n P)^{-1} k_Z(x)\\big), \\qquad
          P = \\operatorname{diag}(p),

which can be evaluated for any number of rows, block by block. Dictionaries are drawn by recursive
sampling or by BLESS. Both work on rows in memory; for larger data, pass a uniform sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.contracts import Array, ReadableRows, Rows, RowSource
from mercer.kernels import Kernel
from mercer.kernels.kernel import dense
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.validation import check_finite, check_number

#: Number of kernel values held in memory at a time.
ENTRIES = 2**22
#: How often a Cholesky factorization is attempted, each time with a larger diagonal shift.
ATTEMPTS = 16


def exact_scores(kernel: Kernel, X: Rows, alpha: float) -> Array:
    """Return ``diag(K (K + alpha n I)^-1)`` by definition, in O(n^3): for tests and small n.

    >>> from mercer.kernels import Linear
    >>> exact_scores(Linear(), np.array([[1.0], [1.0], [2.0]]), alpha=1.0).round(3)
    array([0.111, 0.111, 0.444])
    """
    K = kernel(X)
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)
    return np.asarray(vectors**2 @ (values / (values + alpha * n)))


@dataclass(frozen=True)
class Dictionary:
    """A weighted sample of rows that represents all rows: the points Z and probabilities p.

    ``penalty`` is ``alpha n`` for the n rows that the sample represents.
    """

    kernel: Kernel
    points: Rows
    probability: Array
    penalty: float
    indices: Array  # which rows the points are
    counted: bool = True  # whether rows to score are among those that the sample was drawn from

    def __post_init__(self) -> None:
        # Scaled by the square roots of the probabilities, the penalty is the same everywhere.
        root = np.sqrt(self.probability)
        K = self.kernel(self.points) / np.outer(root, root)
        jitter = np.finfo(float).eps * float(np.trace(K))
        # A penalty below rounding has no effect; if all kernel values are 0, use a positive scale.
        least = max(jitter / len(K), np.finfo(float).tiny)
        object.__setattr__(self, "penalty", max(self.penalty, least))
        for attempt in range(ATTEMPTS):
            A = K.copy()
            np.einsum("ii->i", A)[...] += self.penalty + jitter * (4**attempt if attempt else 0)
            factor, info = lapack.dpotrf(A, lower=1, clean=1)
            if info == 0:
                break
        else:
            raise ValueError(
                "the kernel matrix of the sampled rows has no Cholesky factor: scale the "
                "columns, or use a larger alpha"
            )
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "_root", root)

    def of_more_rows(self, factor: float) -> Dictionary:
        """Return the dictionary of ``factor`` times as many rows, of which these were a sample.

        The same alpha is a penalty ``factor`` times as large, and every row is in the dictionary
        with a probability that many times smaller. The weights of the points stay, so scores are
        divided by the factor. Most rows are not in the sample, and the formula is the score s that
        such a row would have if it counted nothing; counted once, it has ``s / (1 + s)``.
        """
        return replace(
            self,
            probability=self.probability / factor,
            penalty=self.penalty * factor,
            counted=factor <= 1.0,
        )

    def own_scores(self) -> Array:
        """Return the scores of the points as of rows that are not in the dictionary.

        A point counts ``1 / p_j`` times: without it the score s would be ``s / (1 - s / p_j)``.
        """
        score = self.scores(self.points)
        formula = score if self.counted else score / (1.0 - score)
        rest = np.maximum(1.0 - formula / self.probability, np.finfo(float).eps)
        return np.asarray(formula / (formula + rest))

    def scores(self, X: Rows) -> Array:
        """Return ``(K(x, x) - k_Z(x)'(K_ZZ + alpha n P)^-1 k_Z(x)) / (alpha n)``, at most 1.

        For rows that are not counted, with s that number, return ``s / (1 + s)``.
        """
        step = max(1, ENTRIES // max(1, len(self.probability)))
        parts = [self._block(X[start : start + step]) for start in range(0, X.shape[0], step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _block(self, X: Rows) -> Array:
        factor, root = self.__dict__["_factor"], self.__dict__["_root"]
        right = (self.kernel(X, self.points) / root).T
        half = solve_triangular(factor, right, lower=True, check_finite=False)
        left = self.kernel.diag(X) - np.einsum("ij,ij->j", half, half)
        score = np.maximum(left / self.penalty, 0.0)
        return np.asarray(np.minimum(score, 1.0) if self.counted else score / (1.0 + score))


#: Up to this many rows, the dictionary is simply all of them.
SMALL = 200
#: Size of a dictionary relative to the effective dimension, where rows are kept one by one.
OVERSAMPLING = 3.0
#: Extra uniform rows in a dictionary, so that it also works for a small effective dimension.
ALWAYS = 50
#: Rows from which unresolved kernel parameters are estimated.
SAMPLE = 2000
#: The ratio of one penalty of BLESS to the next.
STEP = 2.0
#: Candidates of BLESS for each unit of the largest score, K(x, x) / (alpha n).
CANDIDATES = 3.0


def recursive_dictionary(
    kernel: Kernel,
    X: Rows,
    rng: np.random.Generator,
    *,
    alpha: float | None = None,
    size: int | None = None,
) -> Dictionary:
    """Return a dictionary by recursion (Musco and Musco, 2017, *Recursive sampling for the Nystroem
    method*).

    Row i is kept with probability ``p_i = min(1, c l_i(alpha))``, l_i its approximate leverage
    score. Rows are halved at random until few are left. On the way back, the dictionary of each
    half scores the rows of the next larger set.

    Parameters
    ----------
    kernel : Kernel
        A kernel with numeric parameters.
    X : rows
        All rows, in memory.
    rng : Generator
        Random generator for the draws.
    alpha : float or None
        The penalty of the leverage scores.
    size : int or None
        Used instead of alpha: the penalty is set so that about ``size`` rows suffice. It is the sum
        of the eigenvalues beyond the first ``size / (4 log size)``, divided by that number.
    """
    n = X.shape[0]
    kernel = _resolved(kernel, X, alpha)
    order = rng.permutation(n)
    least = SMALL if size is None else max(SMALL, size)
    levels = [n]
    while levels[-1] > 2 * least:
        levels.append((levels[-1] + 1) // 2)
    kept = order[: min(least, levels[-1])]
    probability = np.full(len(kept), len(kept) / levels[-1])
    for rows in reversed(levels):
        penalty = (
            alpha * n if alpha is not None else _penalty(kernel, X[kept], probability, size or 1)
        )
        dictionary = Dictionary(kernel, X[kept], probability, penalty, kept)
        if rows == n:
            return dictionary
        scores = dictionary.scores(X[order[:rows]])
        # The next level has twice the rows: those kept here represent both halves.
        wanted = np.minimum(1.0, _enough(scores.sum()) * scores + ALWAYS / rows)
        at = _drawn(wanted, rng)
        kept, probability = order[:rows][at], wanted[at] / 2
    raise AssertionError  # the last level is all rows


def _resolved(kernel: Kernel, X: Rows, alpha: float | None) -> Kernel:
    """Return the kernel with numeric parameters; check alpha."""
    if alpha is not None:
        check_number(alpha, "alpha", above=0.0)
    return kernel.fitted(X[:SAMPLE])


def _drawn(probability: Array, rng: np.random.Generator) -> Array:
    """Draw rows independently of each other, at least one."""
    at = np.flatnonzero(rng.random(len(probability)) < probability)
    return at if len(at) else np.array([int(np.argmax(probability))])


def _enough(dimension: float) -> float:
    """Return the oversampling factor of the scores, so that all directions are covered."""
    return OVERSAMPLING * max(1.0, float(np.log(max(dimension, 2.0))))


def _penalty(kernel: Kernel, points: Rows, probability: Array, size: int) -> float:
    """Return the penalty at which a dictionary of ``size`` rows is enough."""
    count = max(1, int(size / (4 * np.log(max(size, 3)))))
    root = np.sqrt(probability)
    values = np.linalg.eigvalsh(kernel(points) / np.outer(root, root))
    left = float(np.maximum(values[: max(0, len(values) - count)], 0.0).sum())
    return max(left / count, np.finfo(float).eps * float(max(values[-1], 1e-300)))


def bless(
    kernel: Kernel,
    X: Rows,
    rng: np.random.Generator,
    *,
    alpha: float | None = None,
    size: int | None = None,
) -> Dictionary:
    """Return a dictionary by bottom-up leverage score sampling (Rudi, Calandriello, Carratino and
    Rosasco, 2018, *On fast leverage score sampling and optimal learning*).

    The penalty is halved repeatedly, starting from the largest kernel value. For each penalty,
    uniform candidates are scored by the previous dictionary, and a new dictionary is drawn from
    them according to their scores. The parameters are those of :func:`recursive_dictionary`; with
    ``size``, the procedure stops when a dictionary has that many rows.
    """
    n = X.shape[0]
    kernel = _resolved(kernel, X, alpha)
    diagonal = np.asarray(kernel.diag(X), dtype=np.float64)
    largest = float(diagonal.max())
    current = max(largest, alpha or 0.0)
    start = rng.integers(n, size=1)
    dictionary = Dictionary(kernel, X[start], np.ones(1) / n, current * n, start)
    least = alpha if alpha is not None else np.finfo(float).eps * largest
    while current > least:
        current = max(current / STEP, least)
        candidates = min(n, int(np.ceil(CANDIDATES * largest / current)))
        drawn = rng.choice(n, size=candidates, replace=False)
        scores = dictionary.scores(X[drawn])
        dimension = n / candidates * float(scores.sum())
        number = int(np.ceil(_enough(dimension) * max(dimension, 1.0)))
        done = size is not None and number >= size
        share = scores / max(float(scores.sum()), 1e-300)
        wanted = np.minimum(1.0, number * share + ALWAYS / candidates)
        at = _drawn(wanted, rng)
        dictionary = Dictionary(
            kernel, X[drawn[at]], wanted[at] * (candidates / n), current * n, drawn[at]
        )
        if done:
            break
    return dictionary


#: Rows read at a time.
BLOCK = 2048


def scores_of_rows(source: ReadableRows, dictionary: Dictionary) -> Array:
    """Return the score of every row; over shards, only scores leave a shard."""
    rows = source if isinstance(source, RowSet) else RowSet.in_one_place(cast(RowSource, source))
    numbers = dictionary.points.size + len(dictionary.probability)
    parts = rows.map(
        scores_of,
        rows.share(dictionary, "dictionary", numbers),
        label="leverage scores",
        record="leverage scores",
    )
    return rows.by_number(parts)


def scores_of(shard: Shard, dictionary: Dictionary) -> Array:
    """Task: return the leverage scores of the rows of a shard."""
    source, parts = shard.source, []
    with shard.naming():
        for block in source.blocks(BLOCK):
            check_finite(block.X, start=block.start, names=source.feature_names)
            parts.append(dictionary.scores(dense(block.X)))
            shard.report("leverage scores", block.start + block.n_rows)
    return np.concatenate(parts)
