"""Prediction intervals and quantiles of a fitted regressor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array, Rows
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.predicting import by_partition, values_of
from mercer.inference.error_scale import ErrorScale
from mercer.inference.intervals import Intervals
from mercer.inference.left_out_pass import LeftOutRows
from mercer.rows.given_arrays import refuse_masked
from mercer.validation import check_share, check_weight


class IntervalPredictions(KernelEstimator):
    """Methods of a regressor that predict intervals; see :mod:`mercer.inference.intervals`."""

    @by_partition
    def predict_interval(self, X: object, coverage: float | Sequence[float] = 0.9) -> Array:
        """Return an interval for every row that contains y with probability ``coverage``.

        The errors of rows that were left out of the fit are moved to the predictions at x and
        scaled to their local size (:mod:`mercer.inference.intervals`). The two ends leave out
        equal shares. Rows far from all training rows get wide intervals. For the probability to be
        right, new rows must come from where the training rows came from.

        Parameters
        ----------
        X : array, data frame, sparse rows, path or row source
            Rows, as in :meth:`predict`.
        coverage : float or sequence of floats
            Between 0 and 1; several coverages cost little more than one.

        Returns
        -------
        interval : array of shape (n, 2)
            Lower and upper ends; of shape (n, 2, c) for c coverages, and with a last axis for
            outputs if y has several columns.

        Examples
        --------
        >>> from mercer import KernelRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 6, (500, 1))
        >>> y = np.sin(X[:, 0]) + (0.05 + 0.1 * X[:, 0]) * rng.normal(size=500)
        >>> model = KernelRegressor(random_state=0).fit(X, y)
        >>> low, high = model.predict_interval(X, coverage=0.8).T
        >>> bool(0.75 < np.mean((low <= y) & (y <= high)) < 0.9)
        True
        >>> widths = np.diff(model.predict_interval([[0.5], [5.5]]))
        >>> bool(widths[1] > 2 * widths[0])
        True
        """
        several = np.ndim(coverage) > 0
        levels = [check_coverage(c) for c in np.atleast_1d(np.asarray(coverage, dtype=object))]
        if not levels:
            raise ValueError("coverage must have at least one value, got an empty sequence")
        tails = [(1.0 - level) / 2 for level in levels]
        found = self._quantiles(X, [*tails, *(1.0 - tail for tail in tails)])
        low, high = np.split(found, 2, axis=1)
        ends = np.stack([low, high], axis=1)  # (n, 2, coverages, outputs)
        ends = ends if several else ends[:, :, 0]
        return ends if self._targets.columns else ends[..., 0]

    @by_partition
    def predict_quantiles(self, X: object, quantiles: float | Sequence[float] = 0.5) -> Array:
        """Return quantiles of y given x, from the same errors as :meth:`predict_interval`.

        Parameters
        ----------
        X : array, data frame, sparse rows, path or row source
            Rows, as in :meth:`predict`.
        quantiles : float or sequence of floats
            Levels between 0 and 1.

        Returns
        -------
        values : array of shape (n,) or (n, q)
            They never decrease with the level. With a last axis for outputs if y has several
            columns.
        """
        several = np.ndim(quantiles) > 0
        levels = [
            check_share(level, "quantiles")
            for level in np.atleast_1d(np.asarray(quantiles, dtype=object))
        ]
        if not levels:
            raise ValueError("quantiles must have at least one value, got an empty sequence")
        found = self._quantiles(X, levels)
        found = found if several else found[:, 0]
        return found if self._targets.columns else found[..., 0]

    def calibrate(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take the errors for intervals from rows that the model has not seen (split conformal).

        For models whose fit left out no rows: after ``partial_fit`` or ``forget``, from rounds of
        communication, or with ``intervals=None``; and where new rows differ from those of the fit.
        The model itself does not change.

        Parameters
        ----------
        X, y, sample_weight : arrays
            Rows that were not used in the fit, with their targets and weights.

        Returns
        -------
        self
        """
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            refuse_masked(given, name)
        check_is_fitted(self, "fit_")
        targets, found = self._targets, self.fit_
        known: Intervals | None = found.intervals
        Y = targets.encode(np.asarray(y, dtype=float), 0)
        if not np.isfinite(Y).all():
            raise ValueError(
                "y must be finite numbers to calibrate: leave out rows without a target"
            )
        weight = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, float)
        check_weight(weight)
        if weight.shape != (len(Y),) or not weight.sum() > 0:
            raise ValueError(f"sample_weight must have {len(Y)} entries that are not all 0")
        outputs = Y.shape[1]
        if known is None:
            scale = ErrorScale(
                np.zeros_like(found.coefficients), np.ones(outputs), np.zeros(outputs)
            )
            mean, spread = np.zeros(outputs), np.ones(outputs)
        else:
            scale, mean, spread = known.scale, known.mean, known.spread
        split = Intervals(
            found.coefficients[None],
            found.intercept[None],
            scale,
            LeftOutRows(Y, Y, Y, weight, np.zeros(len(Y), dtype=np.int16)),
            np.ones_like(Y),
            mean,
            spread,
            None if known is None else known.novelty,
            f"split conformal on {len(Y):,} rows",
        )
        values, novelty = self._evaluated(split, X)
        if len(values) != len(Y):
            raise ValueError(f"X and y must have as many rows, got {len(values)} and {len(Y)}")
        by_model = values.reshape(len(Y), -1, outputs)
        rows = replace(split.rows, values=by_model[:, 0], fitted=by_model[:, 0])
        row_scale = split.scales(by_model, novelty)
        self.fit_ = replace(found, intervals=replace(split, rows=rows, row_scale=row_scale))
        return self

    def _interval_columns(self, X: object, coverage: float) -> tuple[Array, Array, Array]:
        """Return the ends of intervals and the deviations of y given x, each (n, outputs)."""
        intervals, tail = intervals_of(self), (1.0 - check_coverage(coverage)) / 2
        values, novelty = self._evaluated(intervals, X)
        ends = intervals.quantiles(values, novelty, [tail, 1.0 - tail])
        scale, origin = self._targets.scale, self._targets.origin
        low, high = (np.asarray(end * scale + origin) for end in (ends[:, 0], ends[:, 1]))
        return low, high, np.asarray(intervals.deviations(values, novelty) * scale)

    def _quantiles(self, X: object, levels: Sequence[float]) -> Array:
        """Return quantiles of shape (n, levels, outputs), in the units of y."""
        intervals = intervals_of(self)
        values, novelty = self._evaluated(intervals, X)
        found = intervals.quantiles(values, novelty, levels)
        return np.asarray(found * self._targets.scale + self._targets.origin)

    def _evaluated(self, intervals: Intervals, X: object) -> tuple[Array, Array | None]:
        """Return the values of all models and of the scale, and how new each row is."""
        measure, found = intervals.novelty, np.zeros(0)
        if measure is None:
            return values_of(self, X, intervals.solution()), None

        def also(n_rows: int, start: int, block: Rows) -> None:
            nonlocal found
            if len(found) != n_rows:
                found = np.empty(n_rows)
            found[start : start + block.shape[0]] = measure.values(block)

        return values_of(self, X, intervals.solution(), also), found


def check_coverage(value: object) -> float:
    """Return a coverage between 0 and 1; raise ValueError otherwise."""
    hint = ": 90 % is 0.9" if isinstance(value, (int, float)) and 1 < value <= 100 else ""
    return check_share(value, "coverage", hint)


def intervals_of(model: KernelEstimator) -> Intervals:
    """Return what the intervals of a fitted model need; raise ValueError if it is not there."""
    check_is_fitted(model, "fit_")
    intervals: Intervals | None = model.fit_.intervals
    if intervals is None:
        raise ValueError(
            f"this model has no errors of left-out rows, which intervals need ({_why(model)}): "
            f"use calibrate(X, y) with rows that the model has not seen"
        )
    return intervals


def _why(model: KernelEstimator) -> str:
    """Return why a model has no errors of left-out rows."""
    if model.intervals is None:
        return "it was fitted with intervals=None; fit it with intervals='cv+'"
    if model.fit_.combination and not model.fit_.combination.startswith("exact"):
        return f"{model.fit_.combination} leave none out"
    return "rows were added or removed since, the memory limit left no room, or rows are too few"
