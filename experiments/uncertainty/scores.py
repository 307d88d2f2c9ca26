"""How good intervals and probabilities are: coverage, width, and proper scores of both."""

from __future__ import annotations

import numpy as np

from experiments.scaffold import Array

#: The shares of rows that intervals are asked to hold.
LEVELS = (0.5, 0.8, 0.9, 0.95)
#: A probability below counts as this one in the log loss, which would be infinite for 0.
LEAST = 1e-15
BINS = 15


def coverage(y: Array, intervals: Array) -> Array:
    """Return the share of rows in their interval, level by level; intervals are (n, 2, c).

    >>> coverage(np.array([0.0, 2.0]), np.array([[[-1.0], [1.0]], [[-1.0], [1.0]]]))
    array([0.5])
    """
    low, high = intervals[:, 0], intervals[:, 1]
    return np.asarray(np.mean((low <= y[:, None]) & (y[:, None] <= high), axis=0))


def width(intervals: Array) -> Array:
    """Return the mean width, level by level."""
    return np.asarray(np.mean(intervals[:, 1] - intervals[:, 0], axis=0))


def interval_score(y: Array, intervals: Array, levels: tuple[float, ...] = LEVELS) -> Array:
    """Return ``width + 2/a (low - y)_+ + 2/a (y - high)_+``, a = 1 - level, a mean over rows.

    The score of Winkler (1972), proper for the pair of quantiles a/2 and 1 - a/2 (Gneiting and
    Raftery, 2007, section 6.2): on average no interval has a smaller one than the true quantiles.

    >>> intervals = np.array([[[0.0], [1.0]], [[0.0], [1.0]]])
    >>> interval_score(np.array([0.5, 1.5]), intervals, (0.5,))
    array([2.])
    """
    low, high = intervals[:, 0], intervals[:, 1]
    missed = np.maximum(low - y[:, None], 0) + np.maximum(y[:, None] - high, 0)
    return np.asarray(np.mean(high - low + 2 / (1 - np.array(levels)) * missed, axis=0))


def log_loss(codes: Array, p: Array) -> float:
    """Return ``-mean log p(class)``, p at least 1e-15.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]])), 4)
    0.3466
    """
    return float(-np.mean(np.log(np.maximum(p[np.arange(len(p)), codes], LEAST))))


def brier(codes: Array, p: Array) -> float:
    """Return the mean of ``sum_c (p_c - 1[class is c])^2``: from 0 to 2 (Brier, 1950).

    >>> brier(np.array([0]), np.array([[0.5, 0.5]]))
    0.5
    """
    return float(np.mean(np.sum((p - np.eye(p.shape[1])[codes]) ** 2, axis=1)))


def calibration_error(codes: Array, p: Array, bins: int = BINS) -> float:
    """Return the expected calibration error: how far the largest p is from the share right.

    The mean over rows of ``|mean p - share right|`` of the bin that its largest p is in (Naeini,
    Cooper and Hauskrecht, 2015; Guo et al., 2017, equation 5), with bins of equal width.

    >>> calibration_error(np.array([0, 1]), np.array([[0.75, 0.25], [0.75, 0.25]]))
    0.25
    """
    sure, right = p.max(axis=1), p.argmax(axis=1) == codes
    bin_of = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, sure - right, bins)
    return float(np.sum(np.abs(gaps)) / len(p))


def error(codes: Array, p: Array) -> float:
    """Return the share of rows whose most probable class is wrong."""
    return float(np.mean(p.argmax(axis=1) != codes))
