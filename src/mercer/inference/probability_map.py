"""Maps from the scores of a model to probabilities.

.. math:: p_c(x) = \\frac{e^{z_c(x)}}{\\sum_j e^{z_j(x)}}, \\qquad
          z_c(x) = a_1 f_c(x) + a_2 \\log q(f_c(x)) + b_c

How the parameters are found is in :mod:`mercer.inference.calibration`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from mercer.contracts import Array
from mercer.storage.state import Numbers, OneOf, Sizes, State

#: The least share of a class that its score can stand for.
FLOOR = 0.01


@dataclass(frozen=True)
class Family:
    """Which parameters of a map are fitted, and the slopes to which few rows shrink.

    ``penalty`` is the inverse of their variance there; the values were chosen on seven real sets,
    for few rows and for rows of which hardly any is on the wrong side.
    """

    slopes: tuple[bool, bool]
    offsets: bool
    center: tuple[float, float]
    penalty: float


#: Maps by name.
MAPS = {
    "power": Family((True, True), False, (0.0, 1.0), 1.0),
    "power with offsets": Family((True, True), True, (0.0, 1.0), 1.0),
    "temperature": Family((True, False), False, (1.0, 0.0), 0.1),
    "sigmoid": Family((True, False), True, (1.0, 0.0), 0.1),
}
#: What ``calibration=`` accepts besides None, and the maps it tries, in the order of preference.
NAMES = {
    "auto": ("power", "power with offsets"),
    "power": ("power",),
    "temperature": ("temperature",),
    "sigmoid": ("sigmoid",),
    "platt": ("sigmoid",),
}


@dataclass(frozen=True)
class ProbabilityMap:
    """``p_c = exp(z_c) / sum_j exp(z_j)``, ``z_c = a_1 f_c + a_2 log q(f_c) + b_c``.

    Two classes have one column of scores, f, which stands for ``(-f, f)``.

    >>> one = ProbabilityMap("temperature", np.array([1.0, 0.0]), np.zeros(2))
    >>> one.probabilities(np.array([[0.0], [1.0]]))
    array([[0.5       , 0.5       ],
           [0.11920292, 0.88079708]])
    """

    state = State(name=OneOf(list(MAPS)), slopes=Numbers("2"), offsets=Numbers("classes"))
    name: str
    slopes: Array  # (2,)
    offsets: Array  # (classes,)

    def logits(self, values: Array) -> Array:
        """Return z, of shape (n, classes)."""
        scores = by_class(values)
        found = self.slopes[0] * scores + self.offsets
        if self.slopes[1]:
            found += self.slopes[1] * log_share(scores)
        return np.asarray(found)

    def probabilities(self, values: Array) -> Array:
        """Return a probability for each class, of shape (n, classes)."""
        return np.asarray(softmax(self.logits(values), axis=1))

    def log_probabilities(self, values: Array) -> Array:
        """Return their logarithms, which are finite."""
        return np.asarray(log_softmax(self.logits(values), axis=1))

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if a slope is negative."""
        if np.any(self.slopes < 0):
            raise ValueError(f"slopes must not be negative, got {self.slopes.tolist()}")

    def describe(self) -> str:
        """Return the formula with its slopes.

        >>> ProbabilityMap("power", np.array([2.0, 0.5]), np.zeros(3)).describe()
        'power: p proportional to exp(2 f) q(f)^0.5'
        """
        linear, power = self.slopes
        parts = [f"exp({linear:.3g} f{' + b' if np.any(self.offsets) else ''})"]
        if MAPS[self.name].slopes[1]:
            parts.append(f"q(f)^{power:.3g}")
        return f"{self.name}: p proportional to {' '.join(parts)}"


def by_class(values: Array) -> Array:
    """Return one column of scores per class: ``(-f, f)`` for two classes."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def log_share(scores: Array) -> Array:
    """Return ``log q``, ``q = FLOOR + (u + sqrt(u^2 + 4 FLOOR^2)) / 2`` with ``u = (1 + f) / 2``.

    It is close to u where that is a probability, and at least FLOOR and increasing everywhere.

    >>> np.exp(log_share(np.array([-3.0, -1.0, 0.0, 1.0]))).round(4).tolist()
    [0.0101, 0.02, 0.5102, 1.0101]
    """
    u = (1.0 + scores) / 2.0
    root = np.sqrt(u * u + 4.0 * FLOOR**2)
    # For negative u the two terms nearly cancel.
    q = np.where(u > 0, (u + root) / 2.0, 2.0 * FLOOR**2 / (root - np.minimum(u, 0.0)))
    return np.asarray(np.log(FLOOR + q))
