"""How many functions are enough, from the errors of a few sizes.

The errors of nested sizes are taken to follow a power law above what cannot be learned,

.. math:: e(M) = e_\\infty + c M^{-p},

so the drop of one doubling is ``2^-p`` times that of the doubling before: the last two drops give
p, and the last one c. Sizes grow while the largest one would lower the error by 2 percent or more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mercer.contracts import Array
from mercer.storage.state import Count, Number, Numbers, Part, State

#: Growth stops if the largest size would lower the root mean squared error by less than this share:
#: the forecasts of :mod:`mercer.theory` call errors that close equal, too.
ENOUGH = 0.02
#: p while only one drop is known: the law of a rough target. One drop between two noisy errors says
#: little, so it must be this many times smaller to stop growth.
SLOW, CLEARLY = 0.5, 4.0
#: If left-out rows gain less than this share of the variance, functions may still be too few to see
#: anything, and at least so many are tried.
LITTLE, AT_LEAST = 0.1, 1000
#: The least and the largest p. Errors of few left-out rows are noisy, and so are their drops.
LAWS = (0.1, 2.0)


#: What holds for numbers of functions that were tried.
SIZES = (
    "must be positive and increase",
    lambda sizes: len(sizes) > 0 and sizes[0] >= 1 and np.all(np.diff(sizes) > 0),
)


@dataclass(frozen=True)
class SizePath:
    """Errors and times of a model that grew.

    Attributes
    ----------
    sizes : array of shape (s,)
        The numbers of functions that were tried, increasing; the last is that of the model.
    errors : array of shape (s,)
        The mean squared error on left-out rows, by the criterion that chooses alpha. NaN for a
        size that was solved by products, which have no scores.
    seconds : array of shape (s,)
        The time that each took.
    largest : int
        The most functions that were allowed.
    spread : float
        The mean squared error without functions.
    squared : bool
        Whether errors are compared as they are (classes, whose error rate falls at least as fast);
        otherwise their roots are.

    Examples
    --------
    >>> path = SizePath(np.array([250, 500, 1000]), np.array([0.5, 0.4, 0.35]), np.ones(3), 4000)
    >>> round(path.expected(2000), 6), round(path.expected(4000), 6), path.is_enough
    (0.325, 0.3125, False)
    """

    state = State(
        sizes=Numbers("sizes", kind="iu", rule=SIZES),
        errors=Numbers("sizes", finite=False),
        seconds=Numbers("sizes"),
        largest=Count(),
        spread=Number(0.0),
        squared=Part(bool, must="squared must be True or False, got {value!r}"),
    )
    sizes: Array = field(default_factory=lambda: np.zeros(0, dtype=int))
    errors: Array = field(default_factory=lambda: np.zeros(0))
    seconds: Array = field(default_factory=lambda: np.zeros(0))
    largest: int = 1
    spread: float = 0.0
    squared: bool = False

    def grown(self, size: int, error: float, seconds: float) -> SizePath:
        """Return the path with one more size."""
        return replace(
            self,
            sizes=np.append(self.sizes, size),
            errors=np.append(self.errors, error),
            seconds=np.append(self.seconds, seconds),
        )

    @property
    def measured(self) -> Array:
        """Which sizes have an error."""
        return np.flatnonzero(np.isfinite(self.errors))

    def expected(self, size: int) -> float:
        """Return the error to expect of a size beyond the measured ones."""
        sizes = self.sizes[self.measured].astype(float)
        errors = self.errors[self.measured]
        if len(errors) < 2:
            return 0.0  # nothing is known yet
        drops = -np.diff(errors)
        power = SLOW
        if len(drops) > 1 and min(drops[-2:]) > 0:
            steps = np.diff(np.log2(sizes))
            rates = drops / steps  # for one doubling, where steps are longer or shorter
            power = float(np.clip(-np.log2(rates[-1] / rates[-2]) / steps[-2:].mean(), *LAWS))
        factor = max(0.0, drops[-1]) / (sizes[-2] ** -power - sizes[-1] ** -power)
        drop = factor * (sizes[-1] ** -power - float(size) ** -power)
        # Drops that grew will not go on to do so: at most the same share for every doubling.
        share = min(1.0, errors[-1] / errors[-2]) if errors[-2] > 0 else 1.0
        least = share ** (np.log(size / sizes[-1]) / np.log(sizes[-1] / sizes[-2]))
        return float(max(errors[-1] * least, errors[-1] - drop))

    def gain(self, size: int) -> float:
        """Return the share by which a larger size is expected to lower the error of the model."""
        known = self.errors[-1]
        now = float(known) if np.isfinite(known) else self.expected(int(self.sizes[-1]))
        return self._share(now, self.expected(size))

    def _share(self, before: float, after: float) -> float:
        """Return the share by which one error is lower than another."""
        if not before > 0:
            return 0.0
        ratio = min(1.0, after / before)
        return 1.0 - (ratio if self.squared else float(np.sqrt(ratio)))

    @property
    def is_enough(self) -> bool:
        """Whether the largest size would hardly lower the error of the last one."""
        size = self.sizes[-1]
        if size >= self.largest:
            return True
        if len(self.measured) < 2:
            return False
        if size < AT_LEAST and self.errors[-1] > (1.0 - LITTLE) * self.spread:
            return False
        return self.gain(self.largest) < ENOUGH / (1.0 if len(self.measured) > 2 else CLEARLY)

    def suffices(self, size: int) -> bool:
        """Return whether a larger size is expected to be enough."""
        return self._share(self.expected(size), self.expected(self.largest)) < ENOUGH
