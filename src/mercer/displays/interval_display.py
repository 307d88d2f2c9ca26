"""Plot prediction intervals against the truth."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.estimators.interval_predictions import check_coverage, intervals_of
from mercer.estimators.regressor import KernelRegressor
from mercer.style import BLUE, GRAY, ORANGE, Axes, finish, legend_above, new_axes

#: Rows that are drawn, at most: more would be a blot.
SHOWN = 200


class IntervalDisplay:
    """Plot of prediction intervals and true values, in the order of the predictions.

    Rows outside their interval are marked, and the share of all rows inside is in the legend: it
    should be the coverage that was asked for.

    Parameters
    ----------
    y : array of shape (n,)
        True values.
    low, high : arrays of shape (n,)
        Ends of the intervals.
    prediction : array of shape (n,)
        Predictions.
    coverage : float
        The coverage of the intervals.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure and axes
        The figure and its axes.
    inside_ : float
        The share of rows inside their intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import IntervalDisplay, KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (400, 1))
    >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=400)
    >>> model = KernelRegressor(random_state=0).fit(X[:200], y[:200])
    >>> display = IntervalDisplay.from_estimator(model, X[200:], y[200:], coverage=0.8)
    >>> bool(0.7 < display.inside_ < 0.9)
    True
    """

    def __init__(
        self,
        *,
        y: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        prediction: ArrayLike,
        coverage: float,
        name: str | None = None,
    ) -> None:
        self.y, self.low, self.high = (np.asarray(v, dtype=float) for v in (y, low, high))
        self.prediction = np.asarray(prediction, dtype=float)
        self.coverage, self.name = coverage, name

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelRegressor,
        X: object = None,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        output: int = 0,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Plot the intervals of a fitted regressor for some rows.

        Without X and y, the rows that the fit left out are plotted, each with the interval that the
        model without it and the errors of all others give. ``output`` is the column of y.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y must both be given, or neither for the left-out rows")
        if X is None:
            low, high, prediction, truth = _left_out(estimator, check_coverage(coverage), output)
        else:
            truth = np.asarray(y, dtype=float)
            truth = truth.reshape(len(truth), -1)[:, output]
            ends = estimator.predict_interval(X, coverage).reshape(len(truth), 2, -1)
            low, high = ends[:, :, output].T
            prediction = estimator.predict(X).reshape(len(truth), -1)[:, output]
        display = cls(
            y=truth, low=low, high=high, prediction=prediction, coverage=coverage, name=name
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot; ``ax=None`` creates a figure."""
        ax = new_axes(7.0, 4.0) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        inside = (self.low <= self.y) & (self.y <= self.high)
        self.inside_ = float(inside.mean())
        order = np.argsort(self.prediction, kind="stable")
        if len(order) > SHOWN:
            order = order[np.linspace(0, len(order) - 1, SHOWN).astype(int)]
        place, hit = np.arange(len(order)), inside[order]
        bars = ax.vlines(place, self.low[order], self.high[order], color=BLUE, alpha=0.35, lw=2.2)
        (line,) = ax.plot(place, self.prediction[order], color=BLUE, linewidth=1.4)
        (dots,) = ax.plot(place[hit], self.y[order][hit], "o", color=GRAY, markersize=3.2)
        (misses,) = ax.plot(place[~hit], self.y[order][~hit], "D", color=ORANGE, markersize=4.5)
        part = f" ({len(order):,} of {len(self.y):,})" if len(order) < len(self.y) else ""
        finish(ax, f"rows, by their predictions{part}", "y", lines="y")
        entries = {
            f"{self.coverage:.0%} interval": bars,
            "prediction": line,
            f"y inside: {self.inside_:.1%} of {len(self.y):,} rows": dots,
            "y outside": misses,
        }
        legend_above(ax, entries, self.name)
        return self


def _left_out(
    estimator: KernelRegressor, coverage: float, output: int
) -> tuple[Array, Array, Array, Array]:
    """Return the ends, predictions and targets of left-out rows, in the units of y."""
    intervals, targets = intervals_of(estimator), estimator._targets
    if intervals.rows.count is not None:
        raise ValueError("the left-out rows of this fit stayed in their shards: pass X and y")
    low, high = intervals.left_out_ends(coverage, output)
    scale = np.broadcast_to(targets.scale, intervals.spread.shape)[output]
    origin = np.broadcast_to(targets.origin, intervals.spread.shape)[output]
    rows = intervals.rows
    found = (low, high, rows.values[:, output], rows.targets[:, output])
    low, high, values, truth = (np.asarray(part * scale + origin) for part in found)
    return low, high, values, truth
