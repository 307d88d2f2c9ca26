"""The probability that one row is above another, from scores that were left out.

.. math:: P(y_i > y_j) = \\frac1{1 + \\exp(-a (f(x_i) - f(x_j)))}, \\qquad
          \\min_{a \\ge 0} \\; \\sum_{y_i > y_j} v_{ij} \\log(1 + e^{-a (f(x_i) - f(x_j))})
          + \\tfrac12 \\lambda (a s)^2

over pairs of rows of the same query that were left out of the same model: the law of Bradley and
Terry (1952), with strengths of ``exp(a f)``. Pairs of equal relevance are left out, so P is the
probability for two rows that differ. The weight ``v_ij`` is the product of the rows' weights,
divided by the pairs of the query if every query counts the same. The penalty, in units of the
spread s of differences, keeps a finite if no pair is in the wrong order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mercer.contracts import Array
from mercer.storage.state import Count, Number, State

#: Fewest groups of rows that standard errors are computed from.
FEWEST = 10
#: Pairs to take at most, of all pairs within queries.
PAIRS = 200_000
#: The inverse variance of a times the spread of differences.
PENALTY = 0.1
STEPS, TOLERANCE = 100, 1e-12


@dataclass(frozen=True)
class PreferenceMap:
    """``P(a above b) = 1 / (1 + exp(-slope (f(a) - f(b))))``, fitted to pairs that were left out.

    Attributes
    ----------
    slope : float
        In the inverse units of the scores.
    log_loss, error : float
        Mean log loss of the pairs, and the share of them in the wrong order.
    n_pairs : int
        Number of pairs.
    loss_deviation, error_deviation : float or None
        The standard errors of ``log_loss`` and ``error``, from the sums of at least 10 groups of
        rows; pairs of different groups have no row in common.

    Examples
    --------
    >>> PreferenceMap(2.0, 0.3, 0.1, 100).probabilities(np.array([0.0, 1.0]))
    array([0.5       , 0.88079708])
    """

    state = State(
        slope=Number(0.0),
        log_loss=Number(0.0),
        error=Number(0.0, most=1.0),
        n_pairs=Count(),
        loss_deviation=Number(0.0, optional=True),
        error_deviation=Number(0.0, optional=True),
    )
    slope: float
    log_loss: float
    error: float
    n_pairs: int
    loss_deviation: float | None = None
    error_deviation: float | None = None

    def probabilities(self, differences: Array) -> Array:
        """Return the probability that the first row of each pair is above the second."""
        return np.asarray(expit(self.slope * differences))

    def describe(self) -> str:
        """Return the map and its scores as one line of a summary."""
        return (
            f"1 / (1 + exp(-{self.slope:.3g} (f(a) - f(b)))) ({self.n_pairs:,} pairs left out: log "
            f"loss {self.log_loss:.4g}, {self.error:.1%} in the wrong order)"
        )


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows, the first of higher relevance: differences of their scores, and weights."""

    difference: Array
    weight: Array
    group: Array | None = None  # the number of the group of the two rows


def pairs_within(
    groups: Array,
    values: Array,
    relevance: Array,
    weight: Array,
    *,
    by_group: bool = False,
    most: int = PAIRS,
    seed: int = 0,
) -> Pairs:
    """Return pairs of rows of one group and different relevance: all, or about ``most`` of them.

    Rows of a group are put in a random circle, and each is paired with the next ones in it; what
    is taken of a group stands for all of its pairs.

    Parameters
    ----------
    groups : array of shape (n,)
        Rows of the same group are compared.
    values, relevance, weight : arrays of shape (n,)
        Scores, relevance and weights of the rows.
    by_group : bool
        Whether every group has the same weight, instead of every pair.
    most, seed : int
        How many pairs to take, and the seed of the order.
    """
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    code = codes[order]
    first = (np.cumsum(sizes) - sizes)[code]
    place = np.arange(len(order)) - first
    size = sizes[code]
    found: list[tuple[Array, Array]] = []
    taken = 0
    for shift in range(1, int(sizes.max(initial=0)) // 2 + 1):
        # The last shift of an even circle meets every pair twice.
        use = (2 * shift < size) | ((2 * shift == size) & (place < shift))
        at = np.flatnonzero(use)
        found.append((order[at], order[first[at] + (place[at] + shift) % size[at]]))
        taken += len(at)
        if taken >= most:
            break
    if not found:
        return Pairs(np.zeros(0), np.zeros(0))
    a, b = (np.concatenate(part) for part in zip(*found, strict=True))
    group = codes[a]
    drawn = np.bincount(group, minlength=len(sizes))
    pairs = sizes * (sizes - 1) / 2
    times = np.where(drawn > 0, pairs / np.maximum(drawn, 1), 0.0)[group]
    v = times * weight[a] * weight[b]
    if by_group:
        total = np.bincount(group, v, minlength=len(sizes))
        v = v / np.where(total > 0, total, 1.0)[group]
    sign = np.sign(relevance[a] - relevance[b])
    keep = (sign != 0) & (v > 0)
    return Pairs((sign * (values[a] - values[b]))[keep], v[keep], group[keep])


def fit_preferences(pairs: Pairs) -> PreferenceMap | None:
    """Return the map of least log loss; None if no two rows differ in relevance."""
    if not len(pairs.weight):
        return None
    weight = pairs.weight * len(pairs.weight) / pairs.weight.sum()
    spread = float(np.sqrt(np.mean(pairs.difference**2))) or 1.0
    d = pairs.difference / spread
    slope = 0.0
    for _ in range(STEPS):  # the second derivative falls on the way up: no step goes too far
        wrong = expit(-slope * d)
        gradient = -weight @ (d * wrong) + PENALTY * slope
        curvature = weight @ (d**2 * wrong * (1.0 - wrong)) + PENALTY
        new = max(0.0, float(slope - gradient / curvature))
        if abs(new - slope) <= TOLERANCE * max(1.0, slope):
            break
        slope = new
    missed = (d < 0) + 0.5 * (d == 0)
    parts = np.column_stack([np.logaddexp(0.0, -slope * d), missed])
    loss, error = weight @ parts / weight.sum()
    errors = _standard_errors(parts, weight, pairs.group)
    return PreferenceMap(slope / spread, float(loss), float(error), len(d), *errors)


def _standard_errors(parts: Array, weight: Array, group: Array | None) -> list[float]:
    """Return the standard errors of weighted means, by groups; none if these are few."""
    codes = np.zeros(1) if group is None else np.unique(group, return_inverse=True)[1]
    if codes.max() + 1 < FEWEST:
        return []
    away = weight[:, None] * (parts - weight @ parts / weight.sum())
    by_group = np.column_stack([np.bincount(codes, column) for column in away.T])
    found: list[float] = (np.sqrt((by_group**2).sum(axis=0)) / weight.sum()).tolist()
    return found
