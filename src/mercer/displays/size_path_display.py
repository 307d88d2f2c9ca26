"""Plot the error against the number of functions."""

from __future__ import annotations

from typing import Self

import numpy as np

from mercer.contracts import Array
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.selection import SizePath
from mercer.style import BLUE, INK, ORANGE, Axes, finish_curve, new_axes


class SizePathDisplay:
    """Plot of the error on left-out rows against the number of functions of a model that grew.

    Points are measured errors; the line continues them to twice the functions of the model, which
    is marked (see :mod:`mercer.selection.size_path`).

    Parameters
    ----------
    path : SizePath
        Sizes and errors.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure and axes
        The figure, and its axes.

    Examples
    --------
    >>> from mercer import Gaussian, KernelRegressor, Landmarks, SizePathDisplay
    >>> X = np.linspace(0, 1, 800)[:, None]
    >>> model = KernelRegressor(Gaussian(0.001), Landmarks("auto"), scale=None, random_state=0)
    >>> model = model.set_params(metric=None, intervals=None).fit(X, np.sin(6 * X[:, 0]))
    >>> SizePathDisplay.from_estimator(model).ax_.get_xlabel()
    'functions'
    """

    def __init__(self, *, path: SizePath, name: str | None = None) -> None:
        self.path = path
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: KernelEstimator, *, ax: Axes | None = None, name: str | None = None
    ) -> Self:
        """Plot the sizes of a fitted model.

        Parameters
        ----------
        estimator : KernelRegressor, KernelClassifier or KernelRanker
            A fitted model whose number of landmarks grew.
        ax : matplotlib axes or None
            Where to plot; None creates a figure.
        name : str or None
            Title of the plot.
        """
        return cls(path=estimator.size_path_, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on the given axes, or in a new figure."""
        axes = new_axes() if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        path, at = self.path, self.path.measured
        last, sizes = int(path.sizes[-1]), path.sizes[at]
        axes.plot(sizes, self._shown(path.errors[at]), "o", color=BLUE, label="left-out rows")
        if len(at) > 1:
            further = np.geomspace(sizes[-1], 2 * last, 30)
            law = np.array([path.expected(size) for size in further])
            axes.plot(further, self._shown(law), "--", color=INK, linewidth=1.5, label="expected")
        known = path.errors[-1] if np.isfinite(path.errors[-1]) else path.expected(last)
        label = f"the model: {last:,} functions"
        axes.plot(last, self._shown(known), "o", color=ORANGE, markersize=7, label=label, zorder=4)
        what = "mean squared error" if path.squared else "root mean squared error"
        finish_curve(axes, [*path.sizes, 2 * last], "functions", what, self.name)
        return self

    def _shown(self, errors: Array | float) -> Array | float:
        return errors if self.path.squared else np.sqrt(errors)
