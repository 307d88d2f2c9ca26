"""Plot the error against the number of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.estimators.fitting import prepared
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.opening.fit_input import FitInput
from mercer.opening.inputs import Known
from mercer.style import BLUE, GRAY, INK, ORANGE, Axes, finish_curve, new_axes
from mercer.theory.rows_curve import RowsCurve, measure_rows_curve
from mercer.validation import check_count

#: Functions of the fits, at the most.
FUNCTIONS = 1000


class RowsCurveDisplay:
    """Plot of the error against the number of rows, from sums of one pass.

    Points are the mean errors of models of parts of the rows, tested on other rows; the band goes
    from the lowest to the highest of four such parts. The line is the power law that fits them,
    with an interval, continued to twice the rows. No part is fitted by itself:
    scikit-learn's ``LearningCurveDisplay``, which fits every part anew, has a similar picture at
    the cost of as many fits, and no forecast.

    Parameters
    ----------
    curve : RowsCurve
        The errors.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    curve : RowsCurve
        All figures: ``curve.at(n)`` is the error to expect at n rows, and ``curve.gain(2)`` the
        share by which it falls with twice the rows, both with an interval.
    figure_, ax_ : matplotlib figure and axes
        The figure, and its axes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, RowsCurveDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 1))
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> model = KernelRegressor("gaussian", random_state=0).fit(X, y)
    >>> RowsCurveDisplay.from_estimator(model, X, y).ax_.get_ylabel()
    'RMSE'
    """

    def __init__(self, *, curve: RowsCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelEstimator,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        n_components: int = FUNCTIONS,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Measure the curve with the kernel and the columns of a fitted model, and plot it.

        Parameters
        ----------
        estimator : KernelRegressor or KernelClassifier
            A fitted model. Its kernel, metric and columns are kept; alpha is chosen for every part.
        X, y, sample_weight
            The rows, as in :meth:`KernelRegressor.fit`.
        n_components : int
            The most landmarks of the fits. A model with more has lower errors, and gains more from
            further rows; memory grows with 16 squares of their number.
        ax : matplotlib axes or None
            Where to plot; None creates a figure.
        name : str or None
            Title of the plot.
        """
        check_is_fitted(estimator, "fit_")
        check_count(n_components, "n_components", minimum=8)
        targets = estimator._targets
        if targets.ranks:
            raise ValueError("the curve is for regression and classes, not for rankings")
        if estimator.kernel_.pairwise:
            raise ValueError("a curve needs rows, not a precomputed kernel")
        basis = estimator.basis_
        start = prepared(estimator, estimator._kind())
        with start.opened(FitInput(X, y, sample_weight), Known.of(estimator)) as (opened, request):
            curve = measure_rows_curve(
                opened.rows,
                replace(request, kernel=estimator.kernel_),
                n_components=n_components,
                model_functions=None if basis.dual else basis.size,
                classes=hasattr(targets, "classes"),
            )
        return cls(curve=curve, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on the given axes, or in a new figure."""
        axes = new_axes() if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        curve, now = self.curve, self.curve.n_rows
        grid_of_rows = np.geomspace(curve.rows[0], 2 * now, 60)
        low, high = curve.errors.min(axis=1), curve.errors.max(axis=1)
        axes.fill_between(curve.rows, low, high, color=BLUE, alpha=0.15, linewidth=0)
        label = f"measured with {curve.functions:,} landmarks"
        if curve.functions < 0.9 * curve.model_functions:
            label += f" of {curve.model_functions:,}"
        axes.plot(curve.rows, curve.errors.mean(axis=1), "o", color=BLUE, label=label)
        law = [curve.at(n) for n in grid_of_rows]
        values, below, above = np.array([(one.value, one.low, one.high) for one in law]).T
        axes.fill_between(grid_of_rows, below, above, color=GRAY, alpha=0.2, linewidth=0)
        axes.plot(grid_of_rows, values, color=INK, linewidth=1.5, label="power law")
        self._mark(now, f"{now:,} rows: {curve.at(now).value:.3g}", "o")
        twice = curve.at(2 * now)
        words = f"twice the rows: {twice.value:.3g} ({twice.low:.3g} to {twice.high:.3g})"
        self._mark(2 * now, words, "D")
        finish_curve(axes, [*curve.rows, 2.0 * now], "rows", curve.measure, self.name)
        return self

    def _mark(self, rows: float, label: str, marker: str) -> None:
        error = self.curve.at(rows).value
        self.ax_.plot(rows, error, marker, color=ORANGE, markersize=7, label=label, zorder=4)
