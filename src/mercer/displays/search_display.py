"""Plot the search for kernel, bandwidth, scaling and metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.style import (
    BLUE,
    GRAY,
    GREEN,
    INK,
    ORANGE,
    PINK,
    PURPLE,
    WIDE,
    Axes,
    finish,
    legend_above,
    new_axes,
)

COLORS = (GRAY, PURPLE, BLUE, GREEN, ORANGE, PINK)


class SearchDisplay:
    """Plot of the held-out error of every candidate of a search, in order.

    Points are candidates, colored by the stage of the search: the scaling of columns, rounds of a
    diagonal and of a full metric, kernels, bandwidths, and rounds that are renewed with what was
    chosen. The line is the lowest error so far. The last comparison of kernels, with more
    functions, is left out: its errors are lower for that reason alone.

    Parameters
    ----------
    errors : array of shape (candidates,)
        The root mean squared error on held-out rows, relative to the spread of y.
    stages : list of str
        The stage of each candidate.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure and axes
        The figure, and its axes.
    points_ : dict of matplotlib lines
        The candidates of each stage.
    best_line_ : matplotlib line
        The lowest error so far.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, SearchDisplay
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> model = KernelRegressor(metric="diagonal", random_state=0).fit(X, np.sin(X[:, 2]))
    >>> SearchDisplay.from_estimator(model).ax_.get_xlabel()
    'candidate'
    """

    def __init__(
        self, *, errors: ArrayLike, stages: Iterable[str], name: str | None = None
    ) -> None:
        self.errors: Array = np.asarray(errors, dtype=float)
        self.stages = [str(stage) for stage in stages]
        if len(self.stages) != len(self.errors) or not self.stages:
            raise ValueError(
                f"stages must have one name per error: got {len(self.stages)} names, "
                f"{len(self.errors)} errors"
            )
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: KernelEstimator, ax: Axes | None = None, *, name: str | None = None
    ) -> Self:
        """Plot the search of a fitted estimator.

        ``ax`` are the axes to plot on (None creates a figure), and ``name`` is the title.
        """
        found = estimator.search_results_
        if found is None:
            raise ValueError(
                "there was no search to plot: kernel, bandwidth, scale and metric were all given, "
                "or there were too few rows"
            )
        alike = found["stage"] != "final"
        errors, stages = found["error"][alike], found["stage"][alike]
        return cls(errors=errors, stages=stages, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on the given axes, or in a new figure."""
        axes = new_axes() if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        places = np.arange(1, len(self.errors) + 1)
        best = np.minimum.accumulate(self.errors)
        (self.best_line_,) = axes.plot(
            places, best, drawstyle="steps-post", color=INK, linewidth=1.2, label="best so far"
        )
        self.points_ = {}
        for number, stage in enumerate(dict.fromkeys(self.stages)):
            at = np.array([one == stage for one in self.stages])
            (self.points_[stage],) = axes.plot(
                places[at],
                self.errors[at],
                "o",
                markersize=5,
                color=COLORS[number % len(COLORS)],
                label=stage,
                zorder=3,
            )
        axes.annotate(
            f"{best[-1]:.2g}",
            (places[-1], best[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            annotation_clip=False,
        )
        if best[-1] > 0 and self.errors.max() > WIDE * best[-1]:
            axes.set_yscale("log")
        elif self.errors.max() > 2 * best[-1]:
            axes.set_ylim(bottom=0)
        axes.locator_params("x", integer=True, min_n_ticks=1)
        finish(axes, "candidate", "held-out error / spread of y")
        handles, labels = axes.get_legend_handles_labels()
        legend_above(axes, dict(zip(labels, handles, strict=True)), self.name, room=2.5)
        return self
