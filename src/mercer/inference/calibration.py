"""Probabilities from scores that were left out.

.. math:: p_c(x) = \\frac{\\exp(a f_c(x) + b_c)}{\\sum_j \\exp(a f_j(x) + b_j)}, \\qquad
          \\min_{a \\ge 0, b} \\; -\\sum_i w_i \\log p_{y_i}(x_i)
          + \\tfrac12 \\big(\\lambda_a (a - 1)^2 + \\lambda_b \\|b\\|^2\\big)

With one slope and no offsets this is temperature scaling (Guo, Pleiss, Sun and Weinberger 2017,
*On calibration of modern neural networks*); with offsets it is Platt's sigmoid for two classes
(Platt 1999, *Probabilistic outputs for support vector machines*), where ``(f_0, f_1) = (-f, f)``,
and its multinomial form for more (compare vector scaling in Guo et al., and Kull et al. 2019,
*Beyond temperature scaling*). The scores must be of models that have not seen their rows: those of
training rows are too good.

The sum is convex. The small penalty, in place of Platt's smoothed targets, keeps probabilities
inside (0, 1) if the scores separate the classes or a class has no rows, and the map near
``softmax(f)`` if rows are few. It is that of the sum over rows, so weight 2 is the row twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from mercer.contracts import Array
from mercer.validation import check_array, check_choice, check_number

#: Maps by name, and whether they have offsets.
MAPS = {"temperature": False, "sigmoid": True}
#: What ``calibration=`` accepts besides None: "platt" is "sigmoid" by the name of its author.
NAMES = ["auto", "temperature", "sigmoid", "platt"]
#: The slope of the logarithm of ``(1 + f) / 2`` at 0, to which few rows shrink.
SLOPE = 1.0
#: Inverse variances of the slope and of the offsets in the penalty.
SLOPE_PENALTY, OFFSET_PENALTY = 0.1, 1.0
#: Newton steps, and the decrease of the sum, relative to it, at which they end.
STEPS, TOLERANCE = 100, 1e-12
#: Folds by which a map is chosen and judged; smaller ones are joined.
FOLDS = 5


@dataclass(frozen=True)
class ProbabilityMap:
    """``p_c = exp(slope f_c + offset_c) / sum_j exp(slope f_j + offset_j)``.

    Two classes have one column of scores, f, which stands for ``(-f, f)``.

    >>> ProbabilityMap("temperature", 1.0, np.zeros(2)).probabilities(np.array([[0.0], [1.0]]))
    array([[0.5       , 0.5       ],
           [0.11920292, 0.88079708]])
    """

    name: str
    slope: float
    offsets: Array  # (classes,)

    def logits(self, values: Array) -> Array:
        """Return ``slope f_c + offset_c``, of shape (n, classes)."""
        return self.slope * by_class(values) + self.offsets

    def probabilities(self, values: Array) -> Array:
        """Return a probability for each class, of shape (n, classes)."""
        return np.asarray(softmax(self.logits(values), axis=1))

    def log_probabilities(self, values: Array) -> Array:
        """Return their logarithms, which are finite."""
        return np.asarray(log_softmax(self.logits(values), axis=1))

    def check_state(self, classes: int) -> None:
        """Raise ValueError if a map read from a file is inconsistent."""
        check_choice(self.name, "name", list(MAPS))
        check_number(self.slope, "slope", minimum=0.0)
        check_array(self.offsets, "offsets", (classes,))

    def describe(self) -> str:
        """Return the formula with its numbers.

        >>> ProbabilityMap("sigmoid", 2.0, np.array([-0.1, 0.1])).describe()
        'sigmoid: 1 / (1 + exp(-(4 f + 0.2)))'
        """
        if len(self.offsets) == 2:
            offset = float(self.offsets[1] - self.offsets[0])
            shift = f" {'+' if offset > 0 else '-'} {abs(offset):.3g}" if offset else ""
            inner = f"({2 * self.slope:.3g} f{shift})" if shift else f"{2 * self.slope:.3g} f"
            return f"{self.name}: 1 / (1 + exp(-{inner}))"
        return f"{self.name}: softmax({self.slope:.3g} f{' + b' if np.any(self.offsets) else ''})"


def by_class(values: Array) -> Array:
    """Return one column of scores per class: ``(-f, f)`` for two classes."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def classes_of(targets: Array) -> Array:
    """Return the number of the class of each row, from targets of +1 and -1.

    >>> classes_of(np.array([[-1.0], [1.0]])), classes_of(np.array([[-1.0, -1.0, 1.0]]))
    (array([0, 1]), array([2]))
    """
    if targets.shape[1] == 1:
        return (targets[:, 0] > 0).astype(int)
    return np.asarray(targets.argmax(axis=1))


def fit_map(
    name: str, values: Array, codes: Array, weight: Array, start: ProbabilityMap | None = None
) -> ProbabilityMap:
    """Return the map of least weighted log loss, by Newton's method with ``slope >= 0``.

    Parameters
    ----------
    name : "temperature" or "sigmoid"
        Whether the map has offsets.
    values : array of shape (n, k)
        Scores of rows by models that have not seen them; one column for two classes.
    codes : array of shape (n,)
        The number of each row's class.
    weight : array of shape (n,)
        Weights; 2 is the row twice.
    start : ProbabilityMap or None
        Where Newton's method starts; the result does not depend on it.
    """
    loss = _LogLoss(by_class(values), codes, weight, MAPS[name])
    theta = loss.center.copy()
    if start is not None:
        theta = np.append(start.slope, start.offsets)
    value, P = loss.value(theta)
    for _ in range(STEPS):
        gradient, hessian = loss.derivatives(theta, P)
        free = loss.varies.copy()
        free[0] &= theta[0] > 0 or gradient[0] < 0
        step = np.zeros_like(theta)
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        length, before = 1.0, value
        while True:  # a Newton step of a convex sum falls if it is short enough
            new = theta + length * step
            new[0] = max(new[0], 0.0)
            value, P = loss.value(new)
            if value <= before + 1e-4 * gradient @ (new - theta) or length < 1e-10:
                break
            length /= 2
        theta = new
        if before - value <= TOLERANCE * max(1.0, abs(before)):
            break
    return ProbabilityMap(name, float(theta[0]), theta[1:])


class _LogLoss:
    """The sum that a map minimizes, as a function of ``(slope, offsets)``."""

    def __init__(self, scores: Array, codes: Array, weight: Array, offsets: bool) -> None:
        rows, classes = scores.shape
        self.scores, self.codes, self.weight = scores, codes, weight
        self.at = np.arange(rows)
        self.center = np.append(SLOPE, np.zeros(classes))
        self.penalty = np.append(SLOPE_PENALTY, np.full(classes, OFFSET_PENALTY))
        self.varies = np.append(True, np.full(classes, offsets))
        # Without rows of positive weight the penalty alone decides.
        total = np.bincount(codes, weight, minlength=classes)
        own = float(weight @ scores[self.at, codes])
        self.sums = np.append(own, total)  # the part of the gradient that stays

    def value(self, theta: Array) -> tuple[float, Array]:
        """Return the sum, and the probabilities."""
        logs = log_softmax(theta[0] * self.scores + theta[1:], axis=1)
        away = theta - self.center
        loss = -self.weight @ logs[self.at, self.codes] + 0.5 * self.penalty @ away**2
        return float(loss), np.exp(logs)

    def derivatives(self, theta: Array, P: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        W = self.weight[:, None] * P
        mean = np.einsum("nc,nc->n", P, self.scores)
        times = W * self.scores
        gradient = np.append(times.sum(), W.sum(axis=0)) - self.sums
        hessian = np.empty((len(theta), len(theta)))
        hessian[0, 0] = np.vdot(times, self.scores) - self.weight @ mean**2
        hessian[0, 1:] = hessian[1:, 0] = times.sum(axis=0) - (self.weight * mean) @ P
        hessian[1:, 1:] = np.diag(W.sum(axis=0)) - W.T @ P
        hessian[np.diag_indices_from(hessian)] += self.penalty
        return gradient + self.penalty * (theta - self.center), hessian


def cross_fitted(
    fitted: ProbabilityMap, values: Array, codes: Array, weight: Array, fold: Array
) -> Array:
    """Return the logarithms of probabilities by maps that have not seen their rows, fold by fold.

    The scores of left-out rows are honest, but a map is fitted to them: what is said of the map
    must not come from the rows it was fitted to.
    """
    groups = joined(fold)
    if len(np.unique(groups)) < 2:
        return fitted.log_probabilities(values)
    logs = np.empty((len(values), len(fitted.offsets)))
    for group in np.unique(groups):
        left, rest = groups == group, groups != group
        part = fit_map(fitted.name, values[rest], codes[rest], weight[rest], fitted)
        logs[left] = part.log_probabilities(values[left])
    return logs


def joined(fold: Array, folds: int = FOLDS) -> Array:
    """Return folds joined into at most ``folds``.

    >>> joined(np.array([7, 3, 9, 3]), folds=2)
    array([1, 0, 0, 0])
    """
    _, codes = np.unique(fold, return_inverse=True)
    return np.asarray(codes % folds)


def chosen_map(
    names: Sequence[str], values: Array, codes: Array, weight: Array, fold: Array
) -> tuple[ProbabilityMap, Array]:
    """Return the map of least log loss over folds, and its logarithms of probabilities there.

    The first name wins unless another is better by more than the standard error of the difference.
    """
    at = np.arange(len(codes))
    best: tuple[ProbabilityMap, Array] | None = None
    for name in names:
        found = fit_map(name, values, codes, weight)
        logs = cross_fitted(found, values, codes, weight, fold)
        if best is None or _better(logs[at, codes] - best[1][at, codes], weight):
            best = found, logs
    assert best is not None
    return best


def _better(gain: Array, weight: Array) -> bool:
    """Return whether a mean over rows is above zero by more than its standard error."""
    total = weight.sum()
    mean = weight @ gain / total
    return bool(mean > np.sqrt(weight @ (gain - mean) ** 2) / total)
