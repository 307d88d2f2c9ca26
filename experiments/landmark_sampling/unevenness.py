"""How uneven the leverage scores of a set are, and what the best M functions could do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from experiments.scaffold import Array
from mercer import Gaussian
from mercer.sampling import exact_scores

#: Rows that exact scores are computed for.
ROWS = 2500
#: The effective dimension at which scores are compared: alpha is such that they sum to this.
DIMENSION = 100.0


@dataclass(frozen=True)
class Unevenness:
    """Exact leverage scores of one set with one bandwidth, and its spectrum."""

    problem: str
    factor: float
    bandwidth: float
    alpha: float
    peak: float  # the largest score, in units of their mean
    spread: float  # the standard deviation, in units of their mean
    top: float  # what the largest hundredth of the scores is of their sum
    best: tuple[float, ...]  # the least trace error of any M functions, for each M


def unevenness(
    problem: str, factor: float, kernel: Gaussian, X: Array, sizes: Sequence[int]
) -> Unevenness:
    """Compute scores at the alpha where their sum, the effective dimension, is 100."""
    values = np.maximum(np.linalg.eigvalsh(kernel(X))[::-1], 0.0)
    alpha = alpha_at(values / len(X), min(DIMENSION, len(X) / 4))
    scores = exact_scores(kernel, X, alpha)
    few = max(1, len(X) // 100)
    return Unevenness(
        problem,
        factor,
        float(np.ravel(kernel.bandwidth)[0]),
        alpha,
        float(scores.max() / scores.mean()),
        float(scores.std() / scores.mean()),
        float(np.sort(scores)[-few:].sum() / scores.sum()),
        tuple(float(values[size:].sum() / values.sum()) for size in sizes),
    )


def alpha_at(values: Array, dimension: float) -> float:
    """Return the alpha at which eigenvalues have this effective dimension.

    >>> round(alpha_at(np.ones(8), 2.0), 6)
    3.0
    """

    def excess(log_alpha: float) -> float:
        return float(np.sum(values / (values + np.exp(log_alpha)))) - dimension

    return float(np.exp(brentq(excess, np.log(1e-14), np.log(1e6))))
