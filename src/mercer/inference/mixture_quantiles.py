"""Quantiles of errors moved to the predictions of several models: CV+ and jackknife+.

.. math:: F_x(t) = \\frac{1}{W + \\bar w} \\sum_i w_i \\,
          1\\{ f_{-k(i)}(x) + s(x)\\, r_i \\le t \\}, \\qquad
          r_i = \\frac{y_i - f_{-k(i)}(x_i)}{s_{-k(i)}(x_i)}

The quantiles of F_x at a/2 and 1 - a/2 are the CV+ interval (jackknife+ for folds of one row) of
Barber, Candes, Ramdas and Tibshirani (2021), with signed errors, so that both tails have their own
length, and divided by a scale. The row to predict counts as one more, of mean weight, at infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array

#: Steps of the search between the quantiles of single folds.
STEPS = 6
#: With more models than this, all moved errors are sorted instead.
MANY = 64


@dataclass(frozen=True)
class ErrorMixture:
    """Scaled errors of left-out rows by the model that left them out, sorted, with their weights.

    >>> rng = np.random.default_rng(0)
    >>> errors, fold = rng.normal(size=999), np.arange(999) % 3
    >>> mixture = ErrorMixture.of(errors, np.ones(999), fold, 3)
    >>> centers = np.zeros((1, 3))
    >>> low, high = (mixture.quantile(centers, np.ones(1), q).item() for q in (0.05, 0.95))
    >>> bool(np.isclose(np.mean((errors >= low) & (errors <= high)), 0.9, atol=0.003))
    True
    """

    errors: list[Array]
    weights: list[Array]  # cumulative
    total: float
    own: float  # of the row to predict

    @classmethod
    def of(cls, errors: Array, weight: Array, fold: Array, models: int) -> ErrorMixture:
        """Sort the errors of each fold."""
        sorted_errors, cumulative = [], []
        for number in range(models):
            at = np.flatnonzero(fold == number)
            at = at[np.argsort(errors[at], kind="stable")]
            sorted_errors.append(errors[at])
            cumulative.append(np.cumsum(weight[at]))
        total = float(weight.sum())
        return cls(sorted_errors, cumulative, total, total / max(1, len(weight)))

    def mirrored(self) -> ErrorMixture:
        """Return the distribution of the negative errors."""
        weights = [np.cumsum(np.diff(w, prepend=0.0)[::-1]) for w in self.weights]
        return ErrorMixture([-e[::-1] for e in self.errors], weights, self.total, self.own)

    def rows_needed(self, level: float) -> int:
        """Return how many rows a quantile at ``level`` needs."""
        tail = min(level, 1.0 - level)
        return int(np.ceil(1.0 / tail - 1e-9)) - 1

    def has(self, level: float) -> bool:
        """Return whether the quantile at ``level`` is finite."""
        return max(level, 1.0 - level) * (self.total + self.own) <= self.total * (1 + 1e-12)

    def quantile(self, centers: Array, scale: Array, level: float) -> Array:
        """Return the quantile at ``level`` for rows with these predictions (n, l) and scales (n,).

        Quantiles below the median are those of the negative errors, so that both ends of an
        interval leave out the same share.
        """
        if level < 0.5:
            return -self.mirrored().quantile(-centers, scale, 1.0 - level)
        needed = min(level * (self.total + self.own), self.total)
        if len(self.errors) > MANY:
            return self._by_sorting(centers, scale, needed)
        ends = np.stack(
            [
                centers[:, k] + scale * np.interp(needed / self.total, self._shares(k), errors)
                for k, errors in enumerate(self.errors)
                if len(errors)
            ]
        )
        # The quantile of all folds lies between those of single ones.
        low, high = ends.min(axis=0), ends.max(axis=0)
        if len(ends) == 1:
            return np.asarray(high)
        missing = self._below(low, centers, scale) - needed
        over = self._below(high, centers, scale) - needed
        for _ in range(STEPS):  # regula falsi (Illinois)
            room = over - missing
            share = np.divide(over, room, out=np.full(len(low), 0.5), where=room > 0)
            middle = high - np.clip(share, 0.02, 0.98) * (high - low)
            excess = self._below(middle, centers, scale) - needed
            enough = excess >= 0
            over, missing = (
                np.where(enough, excess, over / 2),
                np.where(enough, missing / 2, excess),
            )
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        room = over - missing
        share = np.divide(over, room, out=np.zeros(len(low)), where=room > 0)
        return np.asarray(high - np.clip(share, 0.0, 1.0) * (high - low))

    def _shares(self, k: int) -> Array:
        """Return the share of the weight of fold k up to each of its errors."""
        return np.asarray(self.weights[k] / self.weights[k][-1])

    def _below(self, t: Array, centers: Array, scale: Array) -> Array:
        """Return the weight of the moved errors up to t, linear between errors, for every row."""
        below = np.zeros(len(t))
        inverse = 1.0 / scale
        for k, errors in enumerate(self.errors):
            if len(errors):
                below += np.interp((t - centers[:, k]) * inverse, errors, self.weights[k], left=0.0)
        return below

    def _by_sorting(self, centers: Array, scale: Array, needed: float) -> Array:
        """Sort the moved errors of each row: for as many models as rows."""
        errors = np.concatenate(self.errors)
        weight = np.concatenate([np.diff(w, prepend=0.0) for w in self.weights])
        model = np.repeat(np.arange(len(self.errors)), [len(e) for e in self.errors])
        found = np.empty(len(centers))
        for start in range(0, len(centers), 256):
            part = slice(start, start + 256)
            moved = centers[part][:, model] + scale[part, None] * errors
            order = np.argsort(moved, axis=1)
            reached = np.cumsum(weight[order], axis=1) >= needed * (1 - 1e-12)
            at = np.where(reached.any(axis=1), reached.argmax(axis=1), len(errors) - 1)
            rows = np.arange(len(moved))
            found[part] = moved[rows, order[rows, at]]
        return found
