"""Quantiles of errors moved to the predictions of several models: CV+ and jackknife+.

.. math:: F_x(t) = \\frac{1}{W + \\bar w} \\sum_i w_i \\,
          1\\{ f_{-k(i)}(x) + s(x)\\, r_i \\le t \\}, \\qquad
          r_i = \\frac{y_i - f_{-k(i)}(x_i)}{s_{-k(i)}(x_i)}

The quantiles of F_x at a/2 and 1 - a/2 are the CV+ interval (jackknife+ for folds of one row) of
Barber, Candes, Ramdas and Tibshirani (2021), with signed errors, so that both tails have their own
length, and divided by a scale. The row to predict counts as one more, of mean weight, at infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mercer.contracts import Array

#: Steps of the search between the quantiles of single folds.
STEPS = 3
#: Cells of a table of the distribution, the shares on both sides of a quantile that it spans, and
#: rows that are looked up at a time.
CELLS, AROUND, ROWS = 1024, 0.15, 4096
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
    weights: list[Array]  # of each error
    total: float
    own: float  # of the row to predict

    @classmethod
    def of(
        cls, errors: Array, weight: Array, fold: Array, models: int, count: int | None = None
    ) -> ErrorMixture:
        """Sort the errors of each fold; they stand for ``count`` rows, one each if it is None."""
        sorted_errors, weights = [], []
        for number in range(models):
            at = np.flatnonzero(fold == number)
            at = at[np.argsort(errors[at], kind="stable")]
            sorted_errors.append(errors[at])
            weights.append(weight[at])
        total, rows = float(weight.sum()), len(weight) if count is None else count
        return cls(sorted_errors, weights, total, total / max(1, rows))

    def mirrored(self) -> ErrorMixture:
        """Return the distribution of the negative errors."""
        weights = [w[::-1] for w in self.weights]
        return ErrorMixture([-e[::-1] for e in self.errors], weights, self.total, self.own)

    def rows_needed(self, level: float) -> int:
        """Return how many rows a quantile at ``level`` needs."""
        tail = min(level, 1.0 - level)
        return int(np.ceil(1.0 / tail - 1e-9)) - 1

    def has(self, level: float) -> bool:
        """Return whether the quantile at ``level`` is finite."""
        return max(level, 1.0 - level) * (self.total + self.own) <= self.total * (1 + 1e-12)

    def quantile(self, centers: Array, scale: Array, level: float) -> Array:
        """Return the quantile at ``level`` for rows with predictions (n, l) and scales (n,).

        Quantiles below the median are those of the negative errors, so that both ends of an
        interval leave out the same share.
        """
        if level < 0.5:
            return -self.mirrored().quantile(-centers, scale, 1.0 - level)
        needed = min(level * (self.total + self.own), self.total)
        if len(self.errors) > MANY:
            return self._by_sorting(centers, scale, needed)
        present = [k for k, errors in enumerate(self.errors) if len(errors)]
        own = [np.interp(needed / self.total, self._shares(k), self.errors[k]) for k in present]
        table = _Table.around(self, present, needed / self.total)
        found = np.empty(len(centers))
        for start in range(0, len(centers), ROWS):
            part = slice(start, start + ROWS)
            C, s = np.ascontiguousarray(centers[part][:, present].T), scale[part]
            ends = C + s * np.array(own)[:, None]
            # The quantile of all folds lies between those of single ones.
            low, high = ends.min(axis=0), ends.max(axis=0)
            found[part] = _root(table.below, C, s, low, high, needed)
            inside = table.contains((low - C.max(axis=0)) / s, (high - C.min(axis=0)) / s)
            far = np.flatnonzero(~inside)
            if len(far):
                below = partial(self._below, present)
                rest = (C[:, far], s[far], low[far], high[far])
                found[start + far] = _root(below, *rest, needed)
        return found

    def _shares(self, k: int) -> Array:
        """Return the share of the weight of fold k up to each of its errors."""
        return np.asarray(self._up_to(k) / self.weights[k].sum())

    def _up_to(self, k: int) -> Array:
        """Return the weight of fold k up to each of its errors, of which half counts."""
        return np.asarray(np.cumsum(self.weights[k]) - self.weights[k] / 2)

    def up_to(self, k: int, at: Array) -> Array:
        """Return the weight of the errors of fold k up to some places, linear between errors."""
        total = float(self.weights[k].sum())
        return np.interp(at, self.errors[k], self._up_to(k), left=0.0, right=total)

    def _below(self, present: list[int], U: Array) -> Array:
        """Return the weight of the errors up to U (l, n), linear between errors."""
        below = np.zeros(U.shape[1])
        for place, k in enumerate(present):
            below += self.up_to(k, U[place])
        return below

    def _by_sorting(self, centers: Array, scale: Array, needed: float) -> Array:
        """Sort the moved errors of each row: for as many models as rows."""
        errors = np.concatenate(self.errors)
        weight = np.concatenate(self.weights)
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


@dataclass(frozen=True)
class _Table:
    """The distributions of all folds on a grid around a quantile: faster than to search."""

    first: float
    step: float
    values: Array  # (l, CELLS + 1)

    @classmethod
    def around(cls, mixture: ErrorMixture, present: list[int], share: float) -> _Table:
        """Return a table of the errors from one quantile to another, around ``share``."""
        ends = [max(0.0, share - AROUND), min(1.0, share + AROUND)]
        low, high = (
            pick(np.interp(end, mixture._shares(k), mixture.errors[k]) for k in present)
            for end, pick in zip(ends, (min, max), strict=True)
        )
        grid = np.linspace(low, high, CELLS + 1)
        values = [mixture.up_to(k, grid) for k in present]
        return cls(float(low), float(high - low) / CELLS, np.stack(values).astype(np.float32))

    def contains(self, low: Array, high: Array) -> Array:
        """Return whether a range is inside the table."""
        return np.asarray((low >= self.first) & (high <= self.first + CELLS * self.step))

    def below(self, U: Array) -> Array:
        """Return the weight of the errors up to U (l, n), linear between the points of the grid."""
        place = (U - self.first).astype(np.float32)
        place *= 1.0 / (self.step or 1.0)
        np.clip(place, 0.0, CELLS - 1e-3, out=place)
        cell = place.astype(np.int32)
        place -= cell
        cell += (np.arange(len(self.values)) * (CELLS + 1)).astype(np.int32)[:, None]
        place *= np.diff(self.values, append=0.0).ravel().take(cell)
        place += self.values.ravel().take(cell)
        return np.asarray(place.sum(axis=0, dtype=np.float64))


def _root(
    below: Callable[[Array], Array],
    centers: Array,
    scale: Array,
    low: Array,
    high: Array,
    needed: float,
) -> Array:
    """Return t between low and high where the weight below it is ``needed``: regula falsi."""
    inverse = 1.0 / scale

    def excess_at(t: Array) -> Array:
        return below((t - centers) * inverse) - needed

    if len(centers) == 1:
        return high
    missing, over = excess_at(low), excess_at(high)
    for _ in range(STEPS):
        room = over - missing
        share = np.divide(over, room, out=np.full(len(low), 0.5), where=room > 0)
        middle = high - np.clip(share, 0.02, 0.98) * (high - low)
        excess = excess_at(middle)
        enough = excess >= 0
        # An end that stays counts half (Illinois), so that both move.
        over, missing = np.where(enough, excess, over / 2), np.where(enough, missing / 2, excess)
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    room = over - missing
    share = np.divide(over, room, out=np.zeros(len(low)), where=room > 0)
    return np.asarray(high - np.clip(share, 0.0, 1.0) * (high - low))
