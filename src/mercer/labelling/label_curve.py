"""The error against the number of labels, and how many labels a target error needs.

.. math:: e(n) = C n^{-\\beta}

is fitted to the left-out errors after each refit (:class:`mercer.theory.power_law.PowerLaw`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.theory.power_law import FEWEST, PowerLaw

#: A curve is continued only if its labels span this factor, and its exponent is at least SLOWEST.
SPAN, SLOWEST = 2.0, 0.05
#: Nothing is said of more labels than this many times those that there are.
FURTHEST = 50.0


@dataclass(frozen=True)
class CurvePoint:
    """Errors of one refit.

    Attributes
    ----------
    labels : int
        The number of labels.
    error : float
        The error that the pool is expected to have: of rows that were left out of the fit, by their
        weights. Root mean squared, or the share of wrong classes.
    deviation : float
        The standard error of ``error``.
    uniform_labels, uniform_error : float or None
        The same of labels drawn uniformly (:func:`mercer.labelling.label_learning.uniform_part`).
    """

    labels: int
    error: float
    deviation: float
    uniform_labels: float | None = None
    uniform_error: float | None = None


@dataclass(frozen=True)
class LabelsNeeded:
    """How many labels a target error takes, with a range; None where it cannot be known.

    ``reached`` is whether the error is below the target by one standard error or more, and ``near``
    whether it is about there.
    """

    target: float
    labels: int | None = None
    low: int | None = None
    high: int | None = None
    reached: bool = False
    near: bool = False

    def words(self) -> str:
        """Return the estimate as a sentence."""
        if self.reached:
            return f"The target of {self.target:g} is reached, as far as the labels show."
        if self.near:
            return f"The error is about the target of {self.target:g} now; more labels will tell."
        if self.labels is None:
            return f"Not enough labels yet to say how many an error of {self.target:g} takes."
        ends = f"{self.low:,} or more" if self.high is None else f"{self.low:,} to {self.high:,}"
        return f"An error of {self.target:g} takes about {self.labels:,} labels in all ({ends})."


def labels_needed(points: Sequence[CurvePoint], target: float) -> LabelsNeeded:
    """Return how many labels an error of ``target`` takes, if the curve goes on as it does.

    The range has the exponents of all halves of the curve, and one standard error of the last
    point. A noise that no label removes is not part of the law, so this is optimistic for targets
    near it.

    >>> points = [CurvePoint(n, n**-0.5, 0.01 * n**-0.5) for n in range(10, 70, 10)]
    >>> labels_needed(points, 0.1).words()
    'An error of 0.1 takes about 100 labels in all (98 to 102).'
    >>> labels_needed(points[:3], 0.1).words()
    'Not enough labels yet to say how many an error of 0.1 takes.'
    """
    unknown = LabelsNeeded(target)
    by_labels = {point.labels: point for point in points if point.error > 0}
    known = [by_labels[number] for number in sorted(by_labels)]
    if points and points[-1].error + points[-1].deviation <= target:
        return LabelsNeeded(target, reached=True)
    if len(known) < FEWEST or known[-1].labels < SPAN * known[0].labels:
        return unknown
    labels = np.array([point.labels for point in known], dtype=float)
    law = PowerLaw.of(labels, np.array([point.error for point in known]))
    if not law.exponent <= -SLOWEST:
        return unknown
    last = known[-1]
    now = law.constant * last.labels**law.exponent
    if now <= target:
        return LabelsNeeded(target, near=True)
    noise = min(last.deviation / last.error, 0.5)

    def needed(error: float, exponent: float) -> float:
        ratio = np.log(max(error / target, 1.0)) / -exponent
        return float(last.labels * np.exp(min(ratio, np.log(1e9))))

    best = needed(now, law.exponent)
    if best > FURTHEST * last.labels:
        return unknown
    low = needed(now * (1 - noise), min(law.low, law.exponent))
    high = np.inf
    if law.high <= -SLOWEST:
        high = needed(now * (1 + noise), max(law.high, law.exponent))
    return LabelsNeeded(
        target,
        round(best),
        round(low),
        None if high > FURTHEST * last.labels else round(high),
    )
