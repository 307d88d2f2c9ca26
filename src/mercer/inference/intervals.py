"""Prediction intervals of a fit, from its left-out rows.

.. math:: \\big[ F_x^{-1}(a/2),\\; F_x^{-1}(1 - a/2) \\big], \\qquad
          s(x)^2 = g(x)^2 + \\operatorname{var}(y)\\, \\nu(x)

with F_x the distribution of :mod:`mercer.inference.mixture_quantiles`, g the learned scale of the
errors (:mod:`mercer.inference.error_scale`), and nu (:mod:`mercer.inference.novelty`) above 0 only
for rows farther from the training rows than nearly all of these are from each other: far away, y is
only known to be like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.inference.error_scale import ErrorScale
from mercer.inference.left_out_rows import LeftOutRows
from mercer.inference.mixture_quantiles import MANY, ErrorMixture
from mercer.inference.novelty import Novelty
from mercer.validation import check_array


@dataclass(frozen=True)
class Intervals:
    """What intervals need: models without folds, the scale of errors, and left-out rows."""

    coefficients: Array  # (l, M, k), for encoded targets
    intercept: Array  # (l, k)
    scale: ErrorScale
    rows: LeftOutRows
    row_scale: Array  # (n, k) the scale of each left-out row
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
        return ErrorMixture.of(errors, rows.weight, rows.fold, self.models)

    def scales(self, values: Array, novelty: Array | None) -> Array:
        """Return s(x) of shape (n, k), given the values of its functions and of nu."""
        return self.widened(self.scale.of(values), novelty)

    def widened(self, scales: Array, novelty: Array | None) -> Array:
        """Return the scales of rows with what their distance adds."""
        if self.novelty is None or novelty is None:
            return scales
        far = self.novelty.excess(novelty)[:, None] * self.spread**2
        return np.asarray(np.sqrt(scales**2 + far))

    def quantiles(self, values: Array, novelty: Array | None, levels: Sequence[float]) -> Array:
        """Return quantiles of shape (n, levels, k), for encoded targets.

        ``values`` are those of :meth:`solution`. Levels may be in any order; quantiles increase
        with them.
        """
        outputs = self.intercept.shape[1]
        by_model = values.reshape(len(values), -1, outputs)
        scales = self.scales(by_model[:, -1], novelty)
        found = np.empty((len(values), len(levels), outputs))
        for output in range(outputs):
            mixture = self.mixture(output)
            for place, level in enumerate(levels):
                check_level(mixture, level, len(self.rows.weight))
                centers = by_model[:, :-1, output]
                found[:, place, output] = mixture.quantile(centers, scales[:, output], level)
        order = np.argsort(levels, kind="stable")
        found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
        return found

    def deviations(self, values: Array, novelty: Array | None) -> Array:
        """Return the standard deviation of F_x, of shape (n, k): that of y given x."""
        outputs = self.intercept.shape[1]
        by_model = values.reshape(len(values), -1, outputs)
        scales = self.scales(by_model[:, -1], novelty)
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

    def check_state(self, size: int, outputs: int, n_features: int) -> None:
        """Raise ValueError if the parts, read from a file, do not fit together."""
        for name, kind in (("scale", ErrorScale), ("rows", LeftOutRows)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} of intervals must be {kind.__name__}")
        check_array(self.coefficients, "coefficients of fold models", (self.models, size, outputs))
        check_array(self.intercept, "intercepts of fold models", (self.models, outputs))
        check_array(self.scale.coefficients, "coefficients of the scale", (size, outputs))
        check_array(self.scale.intercept, "intercept of the scale", (outputs,))
        check_array(self.scale.floor, "floor of the scale", (outputs,))
        check_array(self.row_scale, "scales of left-out rows", (len(self.rows.weight), outputs))
        check_array(self.spread, "spread", (outputs,))
        self.rows.check_state(outputs)
        fold = self.rows.fold
        if len(fold) and not (fold.min() >= 0 and fold.max() < self.models):
            raise ValueError(f"folds of left-out rows must be below {self.models}")
        if self.novelty is not None:
            if not isinstance(self.novelty, Novelty):
                raise ValueError("novelty of intervals must be Novelty")
            self.novelty.check_state(n_features)


def check_level(mixture: ErrorMixture, level: float, rows: int) -> None:
    """Raise ValueError if there are too few left-out rows for a quantile."""
    if not mixture.has(level):
        raise ValueError(
            f"the quantile at {level:g} needs at least {mixture.rows_needed(level)} left-out rows, "
            f"and there are {rows}: ask for a lower coverage, or fit more rows"
        )
