"""Plot the importance of columns, and the leading directions of a metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.estimators.column_weights import importances_of
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.opening.inputs import columns_of_fit
from mercer.style import BLUE, INK, Axes, dress, grid, pyplot, short_name
from mercer.validation import check_count

#: Leading directions that are plotted.
DIRECTIONS = 3


class MetricDisplay:
    """Plot of the importance of columns and, for a full metric, of its leading directions.

    The bars are ``feature_importances_``, the largest at the top. For a metric that combines
    columns, a second panel has the eigenvectors of ``P P'`` of the largest eigenvalues as columns
    of a heat map: the directions in the scaled columns along which distances are stretched most,
    with their weights (relative to the largest) below.

    Parameters
    ----------
    importances : array of shape (d,)
        The importance of each column.
    feature_names : list of str, or None
        Names of the columns; None means "column 0", "column 1" and so on.
    matrix : array of shape (d, r), or None
        P; an array of shape (d,) has no directions but the columns.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure and axes
        The figure, and the axes of the importances.
    bars_ : matplotlib container
        The bars, from the largest on.
    shown_ : array of int
        The columns that are plotted, from the most important on.
    directions_ : array of shape (d, up to 3), or None
        The leading directions, of length 1.
    weights_ : array or None
        Their weights, relative to the largest.
    directions_ax_ : matplotlib axes or None
        The axes of the directions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, MetricDisplay
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> model = KernelRegressor(metric="diagonal", random_state=0).fit(X, np.sin(X[:, 2]))
    >>> display = MetricDisplay.from_estimator(model)
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()][0]
    'column 2'
    """

    def __init__(
        self,
        *,
        importances: ArrayLike,
        feature_names: Iterable[str] | None = None,
        matrix: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        self.importances = np.asarray(importances, dtype=float)
        size = len(self.importances)
        self.feature_names = (
            [f"column {at}" for at in range(size)]
            if feature_names is None
            else [str(one) for one in feature_names]
        )
        if len(self.feature_names) != size:
            raise ValueError(
                f"feature_names must have one name per importance: got {len(self.feature_names)} "
                f"names, {size} importances"
            )
        self.name = name
        self.directions_: Array | None = None
        self.weights_: Array | None = None
        if matrix is not None and np.ndim(matrix) == 2:
            self.directions_, self.weights_ = leading_directions(np.asarray(matrix, dtype=float))

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelEstimator,
        max_features: int = 20,
        ax: Any = None,
        *,
        name: str | None = None,
    ) -> Self:
        """Plot the importances and the metric of a fitted estimator.

        ``max_features`` is the largest number of columns to plot; ``ax`` are the axes of the
        importances, or a pair with those of the directions (None creates a figure); ``name`` is the
        title: by default, which metric was learned and the held-out error before and after.
        """
        importances = estimator.feature_importances_
        (names, encoding), matrix = columns_of_fit(estimator), estimator.metric_
        directed = matrix is not None and np.ndim(matrix) == 2
        if encoding is not None and directed:  # directions are of encoded columns
            importances = importances_of(estimator.fit_)
            names = names if encoding.is_identity else encoding.feature_names
        search = estimator.fit_.search
        if name is None and search is not None:
            name = f"metric: {search.describe()}".replace("; ", "\n")
        display = cls(importances=importances, feature_names=names, matrix=matrix, name=name)
        return display.plot(max_features, ax)

    def plot(self, max_features: int = 20, ax: Any = None) -> Self:
        """Plot at most ``max_features`` columns on the given axes, or in a new figure."""
        check_count(max_features, "max_features")
        order = np.argsort(-self.importances, kind="stable")
        self.shown_ = order[:max_features]
        new = ax is None
        self.ax_, self.directions_ax_ = self._new_axes() if ax is None else _pair(ax)
        self.figure_ = self.ax_.figure
        self._draw_importances()
        if self.directions_ is None:
            self.directions_ax_ = None
        if self.directions_ax_ is not None:
            self._draw_directions(self.directions_ax_, numbers=len(self.shown_) <= 30)
        if self.name is not None and new:
            self.figure_.suptitle(self.name, x=0.01, ha="left", fontsize="medium", color=INK)
        elif self.name is not None:
            self.ax_.set_title(self.name, loc="left", fontsize="medium")
        return self

    def _new_axes(self) -> tuple[Axes, Axes | None]:
        plt = pyplot()
        height = max(2.4, 1.5 + 0.24 * len(self.shown_))
        if self.directions_ is None:
            return plt.subplots(figsize=(6.4, height), layout="constrained")[1], None
        count = self.directions_.shape[1]
        _, axes = plt.subplots(
            1,
            2,
            figsize=(8.0, height),
            layout="constrained",
            width_ratios=(1.0, 0.12 + 0.2 * count),
        )
        return axes[0], axes[1]

    def _draw_importances(self) -> None:
        axes, shown = self.ax_, self.shown_
        places = np.arange(len(shown))
        values = self.importances[shown]
        self.bars_ = axes.barh(places, values, height=0.68, color=BLUE)
        axes.bar_label(self.bars_, [_share(value) for value in values], padding=3, fontsize="small")
        axes.set_yticks(places, [short_name(self.feature_names[at]) for at in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(0, 1.18 * max(values.max(initial=0.0), 1e-300))
        left_out = len(self.importances) - len(shown)
        note = f" ({left_out:,} not shown)" if left_out else ""
        axes.set_xlabel(f"importance{note}", fontsize="small")
        axes.tick_params(axis="y", length=0)
        grid(axes, axis="x")
        dress(axes)

    def _draw_directions(self, axes: Axes, numbers: bool) -> None:
        assert self.directions_ is not None
        assert self.weights_ is not None
        values = self.directions_[self.shown_]
        axes.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        for row, column in np.ndindex(*values.shape) if numbers else ():
            value = values[row, column]
            if abs(value) >= 0.05:
                strong = "white" if abs(value) > 0.65 else INK
                text = f"{value:.2f}".replace("-", "\u2212").replace("0.", ".")
                axes.text(
                    column, row, text, ha="center", va="center", fontsize="small", color=strong
                )
        axes.set_xticks(range(values.shape[1]), [f"{weight:.2f}" for weight in self.weights_])
        axes.set_yticks([])
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.tick_params(length=0)
        axes.set_xlabel("weights of directions", fontsize="small")
        dress(axes, hidden=("top", "right", "bottom", "left"))


def leading_directions(matrix: Array) -> tuple[Array, Array]:
    """Return the first eigenvectors of ``P P'``, and the roots of their eigenvalues.

    The largest entry of each is positive, and the largest weight is 1.

    >>> directions, weights = leading_directions(np.array([[0.0, -4.0], [1.0, 0.0]]))
    >>> directions
    array([[1., 0.],
           [0., 1.]])
    >>> weights
    array([1.  , 0.25])
    """
    vectors, weights, _ = np.linalg.svd(matrix, full_matrices=False)
    vectors, weights = vectors[:, :DIRECTIONS], weights[:DIRECTIONS]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0) + 0.0, weights / max(weights[0], 1e-300)


def _pair(ax: Any) -> tuple[Axes, Axes | None]:
    """Return axes of importances and of directions, which may be None."""
    if hasattr(ax, "barh"):
        return ax, None
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != 2:
        raise ValueError(f"ax must be axes or a pair of axes, got {len(axes)}")
    return axes[0], axes[1]


def _share(value: float) -> str:
    """Return a share in percent, with a digit where it is small.

    >>> [_share(value) for value in (0.314, 0.0123, 0.0002)]
    ['31 %', '1.2 %', '< 0.1 %']
    """
    if value < 0.001:
        return "< 0.1 %" if value > 0 else "0"
    return f"{100 * value:.0f} %" if value >= 0.1 else f"{100 * value:.1f} %"
