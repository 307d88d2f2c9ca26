"""Plot a plan: errors and seconds against functions and shards."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.contracts import Array
from mercer.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, Axes, dress, grid, is_wide, pyplot
from mercer.theory import Forecast
from mercer.theory.fit_plan import FitPlan
from mercer.theory.forecast import SHAPES, predicted_error
from mercer.theory.system_costs import COSTS, Cluster, Sizes

#: Systems that are drawn, with their color.
BY_FUNCTIONS = {"KRR-Nystroem": BLUE, "FALKON": PURPLE, "KRR-RF": ORANGE}
BY_SHARDS = {"DNystroem": BLUE, "DKRR-RF": ORANGE, "DKRR": GREEN}


class PlanDisplay:
    """Plot of the expected error and the seconds of a fit, against functions and shards.

    The upper left shows the expected error with its interval and the measured errors of the
    sample, the lower left the seconds on this machine, both against the number of functions. The
    right side shows the same against the number of shards whose models are averaged, with the most
    shards that the theorems allow as dotted lines.

    Parameters
    ----------
    plan : FitPlan
        The result of :meth:`mercer.KernelRegressor.plan`.

    Attributes
    ----------
    figure_, axes_ : matplotlib figure, and its four axes
        The plot.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, PlanDisplay
    >>> X = np.random.default_rng(0).random((600, 2))
    >>> plan = KernelRegressor("gaussian", random_state=0).plan(X, np.sin(6 * X[:, 0]))
    >>> PlanDisplay(plan=plan).plot().axes_[0, 0].get_ylabel()
    'RMSE'
    """

    def __init__(self, *, plan: FitPlan) -> None:
        self.plan = plan

    @classmethod
    def from_plan(cls, plan: FitPlan) -> Self:
        """Plot a plan."""
        return cls(plan=plan).plot()

    def plot(self) -> Self:
        """Draw the four panels in a new figure."""
        found: Forecast = self.plan.forecast
        figure, axes = pyplot().subplots(
            2, 2, figsize=(9.6, 6.2), layout="constrained", sharex="col"
        )
        self.figure_, self.axes_ = figure, axes
        self._functions(found, axes[0, 0], axes[1, 0])
        self._shards(found, axes[0, 1], axes[1, 1])
        what = "error rate" if found.classes else "RMSE"
        for row, name in ((0, what), (1, "seconds on this machine")):
            for one in axes[row]:
                one.set_xscale("log")
                if row or is_wide(one):
                    one.set_yscale("log")
                one.xaxis.set_major_formatter("{x:,.0f}")
                grid(one)
                dress(one)
            axes[row, 0].set_ylabel(name)
        axes[1, 0].set_xlabel("functions")
        axes[1, 1].set_xlabel("shards that are averaged")
        for one in axes[0]:
            one.legend(frameon=False, fontsize="small")
        axes[0, 0].set_title(f"{found.n_rows:,} rows, {found.study.n_rows:,} studied", loc="left")
        return self

    def _functions(self, found: Forecast, errors: Axes, seconds: Axes) -> None:
        sizes = np.unique(np.geomspace(50, max(100, min(found.n_rows, 20_000)), 40).astype(int))
        for name, color in BY_FUNCTIONS.items():
            shape = SHAPES[name]
            if shape.family not in found.study.surface.families:
                continue
            if name != "FALKON":  # the same functions as landmarks by sums
                curves = [predicted_error(found.study, shape, found.n_rows, size) for size in sizes]
                self._band(errors, sizes, curves, color, shape.family)
            costs = [self._seconds(found, name, int(size), 1) for size in sizes]
            label = {"KRR-Nystroem": "sums", "FALKON": "products"}.get(name)
            if label is not None:
                seconds.plot(sizes, costs, color=color, linewidth=1.8, label=label)
        most = max(point.rows for point in found.study.points)
        measured = [
            (point.functions, np.sqrt(found.study.spread * point.error))
            for point in found.study.points
            if point.family == "landmarks" and point.rows == most and not found.classes
        ]
        if measured:
            errors.plot(*np.array(measured).T, "o", color=GRAY, label=f"measured, {most:,.0f} rows")
        seconds.legend(frameon=False, fontsize="small")

    def _shards(self, found: Forecast, errors: Axes, seconds: Axes) -> None:
        most = max(2, min(1000, found.n_rows // 50))
        counts = np.unique(np.geomspace(1, most, 40).astype(int))
        for name, color in BY_SHARDS.items():
            listed = [one for one in found.systems if one.name == name]
            if not listed:
                continue
            shape, one = SHAPES[name], listed[0]
            n, parts = found.n_rows, [found.n_rows / k if k > 1 else np.inf for k in counts]
            curves = [predicted_error(found.study, shape, n, one.functions, m) for m in parts]
            self._band(errors, counts, curves, color, name)
            costs = [self._seconds(found, name, one.functions, int(count)) for count in counts]
            seconds.plot(counts, costs, color=color, linewidth=1.8)
            if one.paper_shards is not None and 1 < one.paper_shards < most:
                errors.axvline(one.paper_shards, color=color, linewidth=1.2, linestyle=":")

    def _seconds(self, found: Forecast, name: str, functions: int, shards: int) -> float:
        shape = SHAPES[name]
        sizes = Sizes(
            found.n_rows, found.n_features, found.outputs, functions, shards, 0, shape.full
        )
        return COSTS[shape.combination](sizes, found.speeds, Cluster())[0]

    def _band(self, axes: Axes, at: Array, curves: list[Any], color: str, label: str) -> None:
        axes.plot(at, [one.value for one in curves], color=color, linewidth=1.8, label=label)
        low, high = [one.low for one in curves], [one.high for one in curves]
        axes.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)
