"""Dictionaries for leverage scores, built from few rows: recursively, and by BLESS.

Both take rows that are in memory; where there are more, a uniform sample of them stands for all.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, Rows
from mercer.kernels import Kernel
from mercer.sampling.leverage import Dictionary
from mercer.validation import check_number

#: Rows up to which a dictionary is simply all of them.
SMALL = 200
#: How many times the effective dimension a dictionary holds, where rows are kept one by one.
OVERSAMPLING = 3.0
#: Rows that a dictionary holds beside, uniformly, so that few dimensions are seen well, too.
ALWAYS = 50
#: Rows that parameters of a kernel are taken from, where they are left open.
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

    Rows are halved at random until few are left. On the way back, the dictionary of each half
    scores the rows of twice as many, and each of them is kept with a probability proportional to
    its score.

    Parameters
    ----------
    kernel : Kernel
        With its parameters in numbers.
    X : rows
        All rows, in memory.
    rng : Generator
        Draws them.
    alpha : float or None
        The penalty that scores are for.
    size : int or None
        Instead of alpha: the penalty is such that about ``size`` rows suffice, what the spectrum
        leaves beyond the first ``size / (4 log size)`` values, shared among them.
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
        # The next level has twice the rows: what is kept of this one stands for both halves.
        wanted = np.minimum(1.0, _enough(scores.sum()) * scores + ALWAYS / rows)
        at = np.flatnonzero(rng.random(rows) < wanted)
        if not len(at):
            at = np.array([int(np.argmax(wanted))])
        kept, probability = order[:rows][at], wanted[at] / 2
    raise AssertionError  # the last level is all rows


def _resolved(kernel: Kernel, X: Rows, alpha: float | None) -> Kernel:
    """Return the kernel with its parameters in numbers; refuse an alpha that leaves no scores."""
    if alpha is not None:
        check_number(alpha, "alpha", above=0.0)
    return kernel.fitted(X[:SAMPLE])


def _enough(dimension: float) -> float:
    """Return by how much scores are multiplied, so that all directions are seen."""
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

    The penalty falls from the largest kernel value by halves. For each, uniform candidates are
    scored by the dictionary before, and a new one is drawn from them by their scores. Arguments are
    those of :func:`recursive_dictionary`; with ``size`` it ends when a dictionary has as many rows.
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
