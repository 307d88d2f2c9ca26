"""Plot observed frequencies against predicted probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array
from mercer.estimators.calibrating import reliability_by
from mercer.estimators.classifier import KernelClassifier
from mercer.inference.reliability import Reliability
from mercer.opening.fit_input import FitInput
from mercer.style import BLUE, EDGE, GRAY, INK, Axes, finish, legend_above, new_axes

#: Shares of rows are drawn up to this height.
HEIGHT = 0.25
#: Bins with fewer rows say little, and are not joined by the line.
FEW = 10


class ReliabilityDisplay:
    """Reliability curve: the share of rows that are of a class, by its predicted probability.

    Calibrated probabilities are on the diagonal: of the rows with probability 0.8, eight in ten are
    of the class. Bars show the share of rows in each bin, vertical lines two standard errors. No
    rows need be held out: those that were left out of the fit do. Of given rows, scikit-learn's
    ``CalibrationDisplay.from_estimator`` works too.

    Parameters
    ----------
    reliability : Reliability
        Sums over rows by bins.
    pos_class : int or None
        The number of the class; None is the most probable class of each row.
    label : str
        What the curve is of.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure and axes
        The figure and the axes.
    line_ : matplotlib line
        The curve.
    prob_pred, prob_true, share : arrays
        Mean probability, observed frequency and share of rows of each bin.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier, ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier(random_state=0).fit(X, y)
    >>> ReliabilityDisplay.from_estimator(model).ax_.get_ylabel()
    'observed frequency'
    """

    def __init__(
        self,
        reliability: Reliability,
        *,
        pos_class: int | None = None,
        label: str = "",
        name: str | None = None,
    ) -> None:
        self.reliability = reliability
        self.pos_class = pos_class
        self.label = label
        self.name = name
        self.prob_pred, self.prob_true, self.share = reliability.curve(pos_class)

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelClassifier,
        X: object = None,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        pos_label: object = None,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Plot the curve of a fitted classifier.

        Parameters
        ----------
        estimator : KernelClassifier
            A fitted classifier.
        X, y, sample_weight
            Rows that the model has not seen. None takes those that were left out of its fit.
        pos_label : label or None
            The class. None is the second of two classes, and of more the most probable class of
            each row.
        ax : matplotlib axes or None
            Where to plot; None creates a figure.
        name : str or None
            Title of the plot.
        """
        check_is_fitted(estimator, "fit_")
        number = _number(estimator.classes_, pos_label)
        if X is None:
            known = estimator.calibration_
            if known is None:
                raise ValueError(
                    "the model has no map of probabilities, and no rows that were left out: give "
                    "rows that it has not seen, X and y, or call calibrate(X, y)"
                )
            reliability, rows = known.reliability, f"rows {known.rows}"
        else:
            given = FitInput(X, y, sample_weight)
            reliability, rows = reliability_by(estimator, given), "given rows"
        label = f"{reliability.n_rows:,} {rows}"
        return cls(reliability, pos_class=number, label=label, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot; ``ax=None`` creates a figure."""
        ax = new_axes(5.2, 4.6) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        width = 1.0 / len(self.reliability.confidence)
        at = (np.minimum((self.prob_pred / width).astype(int), round(1 / width) - 1) + 0.5) * width
        tallest = self.share.max(initial=1e-300)
        ax.bar(
            at, HEIGHT * self.share / tallest, 0.85 * width, color=EDGE, alpha=0.35, linewidth=0,
            label=f"share of rows (tallest {tallest:.0%})",
        )  # fmt: skip
        ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1.0, linestyle="--", label="calibrated")
        count = self.share * self.reliability.n_rows
        many = count >= FEW if np.any(count >= FEW) else count > 0
        x, y, spread = self.prob_pred, self.prob_true, self._noise(count)
        low, high = np.maximum(0.0, y - spread), np.minimum(1.0, y + spread)
        ax.vlines(x[many], low[many], high[many], color=BLUE, alpha=0.45, linewidth=1.2)
        style: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 4, "linewidth": 1.8}
        (self.line_,) = ax.plot(x[many], y[many], label=self.label, **style)
        if not many.all():
            style |= {"markerfacecolor": "none", "linestyle": "none", "alpha": 0.6}
            ax.plot(x[~many], y[~many], label=f"bins of fewer than {FEW} rows", **style)
        self._dress()
        return self

    def _noise(self, count: Array) -> Array:
        """Return two standard errors of each frequency, if all rows weigh the same."""
        count = np.maximum(1.0, count)
        p = (self.prob_true * count + 1.0) / (count + 2.0)
        return np.asarray(2.0 * np.sqrt(p * (1.0 - p) / count))

    def _dress(self) -> None:
        axes, found = self.ax_, self.reliability
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        text = f"log loss {found.log_loss:.4g}\nBrier score {found.brier:.4g}"
        place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
        axes.text(0.97, 0.28, text, color=INK, fontsize="small", **place)
        of = " of the most probable class" if self.pos_class is None else ""
        finish(axes, f"probability{of}", "observed frequency")
        handles, labels = axes.get_legend_handles_labels()
        legend_above(axes, dict(zip(labels, handles, strict=True)), self.name)


def _number(classes: Array, pos_label: object) -> int | None:
    """Return the number of a class."""
    if pos_label is None:
        return 1 if len(classes) == 2 else None
    known = classes.tolist()
    if pos_label not in known:
        raise ValueError(f"pos_label must be one of the classes {known}, got {pos_label!r}")
    return int(known.index(pos_label))
