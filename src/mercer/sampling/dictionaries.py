"""Dictionaries of rows for leverage scores: recursive sampling and BLESS.

Both work on rows in memory; for larger data, pass a uniform sample.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel
from mercer.sampling.leverage import Dictionary
from mercer.validation import check_number

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
        at = np.flatnonzero(rng.random(rows) < wanted)
        if not len(at):
            at = np.array([int(np.argmax(wanted))])
        kept, probability = order[:rows][at], wanted[at] / 2
    raise AssertionError  # the last level is all rows


def _resolved(kernel: Kernel, X: Rows, alpha: float | None) -> Kernel:
    """Return the kernel with numeric parameters; check alpha."""
    if alpha is not None:
        check_number(alpha, "alpha", above=0.0)
    return kernel.fitted(X[:SAMPLE])


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
        at = np.flatnonzero(rng.random(candidates) < wanted)
        if not len(at):
            at = np.array([int(np.argmax(wanted))])
        dictionary = Dictionary(
            kernel, X[drawn[at]], wanted[at] * (candidates / n), current * n, drawn[at]
        )
        if done:
            break
    return dictionary
