"""Probabilities from scores that were left out.

.. math:: p_c(x) = \\frac{e^{z_c(x)}}{\\sum_j e^{z_j(x)}}, \\qquad
          z_c(x) = a_1 f_c(x) + a_2 \\log q(f_c(x)) + b_c, \\qquad
          q(f) \\approx \\max\\Big(\\frac{1 + f}2, 0\\Big) + 0.01

.. math:: \\min_{a \\ge 0, b} \\; -\\sum_i w_i \\log p_{y_i}(x_i)
          + \\tfrac12 \\big(\\lambda \\|a - a_0\\|^2 + \\mu \\|b\\|^2\\big)

Least squares makes ``(1 + f_c) / 2`` an estimate of P(c | x), which is the map ``a = (0, 1)``; with
``a_1`` alone it is temperature scaling (Guo, Pleiss, Sun and Weinberger 2017, *On calibration of
modern neural networks*), and with offsets Platt's sigmoid for two classes (Platt 1999,
*Probabilistic outputs for support vector machines*), where ``(f_0, f_1) = (-f, f)``, and vector
scaling with one slope for more. Features of which one is a logarithm are those of beta and
Dirichlet calibration (Kull et al. 2017 and 2019). With both slopes and without offsets, the most
probable class is the one with the largest score. The scores must be of models that have not seen
their rows: those of training rows are too good.

The sum is convex. The small penalty, in place of Platt's smoothed targets, keeps probabilities
inside (0, 1) if the scores separate the classes or a class has no rows, and the map near that of
least squares if rows are few. It is added to the sum over rows, so weight 2 is the row twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax

from mercer.contracts import Array
from mercer.inference.probability_map import MAPS, Family, ProbabilityMap, by_class, log_share

#: The inverse variance of the offsets in the penalty.
OFFSET_PENALTY = 1.0
#: Newton steps, and the decrease that the next one promises, relative to the sum, at which to end.
STEPS, TOLERANCE = 100, 1e-12
#: Folds by which a map is judged; smaller ones are joined.
FOLDS = 5


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
    """Return the map of least weighted log loss, by Newton's method with ``slopes >= 0``.

    Parameters
    ----------
    name : str
        Which slopes the map has, and whether it has offsets: one of ``MAPS``.
    values : array of shape (n, k)
        Scores of rows by models that have not seen them; one column for two classes.
    codes : array of shape (n,)
        The number of each row's class.
    weight : array of shape (n,)
        Weights; 2 is the row twice.
    start : ProbabilityMap or None
        Where Newton's method starts; the result does not depend on it.
    """
    family, scores = MAPS[name], by_class(values)
    used = np.flatnonzero(family.slopes)
    features = [scores if at == 0 else log_share(scores) for at in used]
    loss = _LogLoss(family, features, codes, weight)
    theta = loss.center
    if start is not None:
        offsets = start.offsets if family.offsets else start.offsets[:0]
        theta = np.append(start.slopes[used], offsets)
    theta = _minimum(loss, theta, len(used))
    slopes, offsets = np.zeros(2), np.zeros(scores.shape[1])
    slopes[used] = theta[: len(used)]
    if family.offsets:
        offsets = theta[len(used) :]
    return ProbabilityMap(name, slopes, offsets)


class _LogLoss:
    """The sum that a map minimizes, as a function of its slopes and offsets."""

    def __init__(self, family: Family, features: list[Array], codes: Array, weight: Array) -> None:
        rows, classes = features[0].shape
        center, offsets = np.array(family.center)[list(family.slopes)], family.offsets
        self.features, self.codes, self.weight = features, codes, weight
        self.at, extra = np.arange(rows), classes if offsets else 0
        self.center = np.append(center, np.zeros(extra))
        self.penalty = np.repeat([family.penalty, OFFSET_PENALTY], [len(center), extra])
        own = [float(weight @ feature[self.at, codes]) for feature in features]
        total = np.bincount(codes, weight, minlength=classes)[:extra]
        self.sums = np.append(own, total)  # the part of the gradient that stays

    def value(self, theta: Array) -> tuple[float, Array]:
        """Return the sum, and the probabilities."""
        count = len(self.features)
        Z = sum(a * feature for a, feature in zip(theta, self.features, strict=False))
        logs = log_softmax(Z + theta[count:] if len(theta) > count else Z, axis=1)
        away = theta - self.center
        loss = -self.weight @ logs[self.at, self.codes] + 0.5 * self.penalty @ away**2
        return float(loss), np.exp(logs)

    def derivatives(self, theta: Array, P: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        count, W = len(self.features), self.weight[:, None] * P
        times = [W * feature for feature in self.features]
        means = np.array([np.einsum("nc,nc->n", P, feature) for feature in self.features])
        gradient = np.array([one.sum() for one in times])
        hessian = np.diag(self.penalty)
        hessian[:count, :count] += (
            np.array([[np.vdot(one, feature) for feature in self.features] for one in times])
            - (means * self.weight) @ means.T
        )
        if len(theta) > count:
            gradient = np.append(gradient, W.sum(axis=0))
            mixed = np.array([one.sum(axis=0) for one in times]) - (means * self.weight) @ P
            hessian[:count, count:] += mixed
            hessian[count:, :count] += mixed.T
            hessian[count:, count:] += np.diag(W.sum(axis=0)) - W.T @ P
        return gradient - self.sums + self.penalty * (theta - self.center), hessian


def _minimum(loss: _LogLoss, theta: Array, slopes: int) -> Array:
    """Return where a sum is least, by damped Newton steps that end where a slope becomes 0."""
    value, P = loss.value(theta)
    bounded = np.arange(len(theta)) < slopes
    for _ in range(STEPS):
        gradient, hessian = loss.derivatives(theta, P)
        zero = bounded & (theta <= 0.0)
        free = ~(zero & (gradient >= 0.0))
        while True:
            step = np.zeros_like(theta)
            step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            stuck = zero & (step < 0.0)
            if not stuck.any():
                break
            free &= ~stuck
        promised = -gradient @ step
        if promised <= TOLERANCE * max(1.0, abs(value)):
            break
        falls = bounded & (step < 0.0)
        length = min(1.0, (theta[falls] / -step[falls]).min(initial=1.0))
        while True:
            new = theta + length * step
            new[bounded] = np.where(new[bounded] < 1e-14, 0.0, new[bounded])
            changed, P = loss.value(new)
            if changed <= value - 1e-4 * length * promised or length < 1e-12:
                break
            length /= 2.0
        theta, value = new, changed
    return theta


def chosen_map(
    names: Sequence[str], values: Array, codes: Array, weight: Array, fold: Array
) -> tuple[ProbabilityMap, Array]:
    """Return the map of least log loss over folds, and its logarithms of probabilities there.

    The first name wins unless another is better by more than the standard error of the difference.
    """
    at = np.arange(len(codes))
    best: tuple[ProbabilityMap, Array] | None = None
    for name in names:
        found = fit_map(name, values, codes, weight, None if best is None else best[0])
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
