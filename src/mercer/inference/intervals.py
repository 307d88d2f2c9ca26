"""Prediction intervals of a fit, from its left-out rows.

.. math:: \\big[ F_x^{-1}(a/2),\\; F_x^{-1}(1 - a/2) \\big]

with F_x the distribution of :mod:`mercer.inference.mixture_quantiles`, and the scale of the errors
at x of :mod:`mercer.inference.error_scale`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.inference.error_scale import ErrorScale, LocalScale
from mercer.inference.left_out_pass import LeftOutRows
from mercer.inference.mixture_quantiles import MANY, ErrorMixture
from mercer.inference.novelty import Novelty
from mercer.storage.state import Numbers, Part, Sizes, State, check_state
from mercer.validation import check_array


@dataclass(frozen=True)
class Intervals:
    """What intervals need: models without folds, the scale of errors, and left-out rows."""

    state = State(
        intercept=Numbers("l k", label="intercepts of fold models"),
        coefficients=Numbers("l m k", label="coefficients of fold models"),
        scale=Part(ErrorScale, "m k", must="scale of intervals must be ErrorScale"),
        rows=Part(LeftOutRows, must="rows of intervals must be LeftOutRows"),
        row_scale=Numbers("n k", label="scales of left-out rows"),
        mean=Numbers("k"),
        spread=Numbers("k"),
        novelty=Part(Novelty, "d", optional=True, must="novelty of intervals must be Novelty"),
    )
    coefficients: Array  # (l, M, k), for encoded targets
    intercept: Array  # (l, k)
    scale: ErrorScale
    rows: LeftOutRows
    row_scale: Array  # (n, k) the scale of each left-out row
    mean: Array  # (k,) of y
    spread: Array  # (k,) standard deviation of y
    novelty: Novelty | None
    label: str

    @property
    def models(self) -> int:
        """l, the number of models."""
        return len(self.intercept)

    def solution(self) -> tuple[Array, Array]:
        """Return coefficients (M, (l + 1) k) and intercepts of all models and of the scale."""
        coefficients = np.hstack([*self.coefficients, self.scale.coefficients])
        return coefficients, np.concatenate([*self.intercept, self.scale.intercept])

    def mixture(self, output: int) -> ErrorMixture:
        """Return the distribution of the scaled errors of one output."""
        rows = self.rows
        errors = rows.errors[:, output] / self.row_scale[:, output]
        return ErrorMixture.of(errors, rows.weight, rows.fold, self.models, rows.count)

    @property
    def local(self) -> LocalScale:
        """The scale s(x)."""
        return LocalScale(self.scale, self.novelty, self.mean, self.spread)

    def scales(self, by_model: Array, novelty: Array | None) -> Array:
        """Return s(x) of shape (n, k), given f of all models and the root's functions."""
        return self.local.of(by_model[:, -1], novelty, by_model[:, :-1].mean(axis=1))

    def quantiles(self, values: Array, novelty: Array | None, levels: Sequence[float]) -> Array:
        """Return quantiles of shape (n, levels, k), for encoded targets.

        ``values`` are those of :meth:`solution`. Levels may be in any order; quantiles increase
        with them.
        """
        outputs = self.intercept.shape[1]
        by_model = values.reshape(len(values), -1, outputs)
        scales = self.scales(by_model, novelty)
        found = np.empty((len(values), len(levels), outputs))
        for output in range(outputs):
            mixture = self.mixture(output)
            for place, level in enumerate(levels):
                check_level(mixture, level, self.rows.number)
                centers = by_model[:, :-1, output]
                found[:, place, output] = mixture.quantile(centers, scales[:, output], level)
        order = np.argsort(levels, kind="stable")
        found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
        return found

    def deviations(self, values: Array, novelty: Array | None) -> Array:
        """Return the standard deviation of F_x, of shape (n, k): that of y given x."""
        outputs = self.intercept.shape[1]
        by_model = values.reshape(len(values), -1, outputs)
        scales = self.scales(by_model, novelty)
        rows = self.rows
        share = np.bincount(rows.fold, rows.weight, self.models) / rows.weight.sum()
        found = np.empty((len(values), outputs))
        for output in range(outputs):
            errors = rows.errors[:, output] / self.row_scale[:, output]
            # First and second moments of the scaled errors, times the share of each fold.
            first, second = (
                np.bincount(rows.fold, rows.weight * errors**power, self.models) / rows.weight.sum()
                for power in (1, 2)
            )
            centers, s = by_model[:, :-1, output], scales[:, output]
            mean = centers @ share + s * first.sum()
            away = centers - mean[:, None]
            square = away**2 @ share + 2 * s * (away @ first) + s**2 * second.sum()
            found[:, output] = np.sqrt(np.maximum(square, 0.0))
        return found

    def left_out_ends(self, coverage: float, output: int = 0) -> tuple[Array, Array]:
        """Return the interval of each left-out row, from the errors of the other folds."""
        rows, tail = self.rows, (1.0 - coverage) / 2
        errors, scale = rows.errors[:, output], self.row_scale[:, output]
        ends = np.empty((2, len(errors)))
        folds = np.unique(rows.fold)
        # Without folds, as after split conformal, every other row judges the rest.
        group = rows.fold if len(folds) > 1 else np.arange(len(errors)) % 2
        group = np.searchsorted(folds, group) % MANY if len(folds) > MANY else group
        for number in np.unique(group):
            own = group == number
            scaled = (errors / scale)[~own]
            rest = ErrorMixture.of(scaled, rows.weight[~own], np.zeros(len(scaled)), 1)
            check_level(rest, tail, len(scaled))
            centers = rows.values[own, output : output + 1]
            for end, level in enumerate((tail, 1.0 - tail)):
                ends[end, own] = rest.quantile(centers, scale[own], level)
        return ends[0], ends[1]

    def left_out_coverage(self, coverage: float) -> float:
        """Return the share of left-out rows in their intervals; NaN if rows are too few."""
        rows, tail = self.rows, (1.0 - coverage) / 2
        if (len(rows.weight) // 2 + 1) * tail < 1:
            return float("nan")
        outputs = range(self.intercept.shape[1])
        inside = []
        for output in outputs:
            low, high = self.left_out_ends(coverage, output)
            y = rows.targets[:, output]
            inside.append(rows.weight @ ((low <= y) & (y <= high)) / rows.weight.sum())
        return float(np.mean(inside))

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError if the left-out rows do not fit to the rest."""
        shape = (len(self.rows.weight), sizes["k"])
        check_array(self.row_scale, "scales of left-out rows", shape)
        check_state(self.rows, k=sizes["k"])
        fold = self.rows.fold
        if len(fold) and not (fold.min() >= 0 and fold.max() < self.models):
            raise ValueError(f"folds of left-out rows must be below {self.models}")


def check_level(mixture: ErrorMixture, level: float, rows: int) -> None:
    """Raise ValueError if there are too few left-out rows for a quantile."""
    if not mixture.has(level):
        raise ValueError(
            f"the quantile at {level:g} needs at least {mixture.rows_needed(level)} left-out rows, "
            f"and there are {rows}: ask for a lower coverage, or fit more rows"
        )
