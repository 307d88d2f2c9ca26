"""Plot the residuals of rows against their leverage, and name those that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from mercer.contracts import Array
from mercer.estimators.deviations import leverages_of, posterior_of_model
from mercer.estimators.regressor import KernelRegressor
from mercer.opening.inputs import with_named_columns
from mercer.style import BLUE, EDGE, INK, ORANGE, WIDE, Axes, finish, new_axes
from mercer.validation import check_count, check_flag, check_same_length

#: A row stands alone above this many times the mean leverage, or standard deviations.
MANY_TIMES, DEVIATIONS = 3.0, 3.0
#: A leverage is at least this far from 1: rounding.
CLOSEST = 1e-12
#: About the width and height of a letter of a name, in pixels of a figure on the screen.
LETTER = 7.0, 14.0


class ResidualLeverageDisplay:
    """Plot of standardized residuals against leverages, with the rows that stand alone named.

    .. math:: t_i = \\frac{y_i - f(x_i)}{\\sigma \\sqrt{(1 - l_i) / w_i}}, \\qquad
              l_i = \\frac{\\partial f(x_i)}{\\partial y_i}

    for rows of the fit; for new rows, which have pulled f nowhere, the variance in the denominator
    is ``sigma^2 + v(x)``. A row stands alone if its leverage is above three times the mean leverage
    of the fit, ``(N(alpha) + 1) / n``, or its residual above three standard deviations. Those with
    the most influence, by Cook's distance ``t^2 l / (1 - l)`` (Cook, 1977), are named.

    Parameters
    ----------
    leverages, residuals : arrays of shape (n,)
        Leverages, and standardized residuals.
    mean_leverage : float
        The mean leverage of the rows of the fit.
    labels : sequence of length n, or None
        Names of the rows; None numbers them.
    names : int
        How many rows to name at most.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    alone : array of int
        The rows that stand alone, those with the most influence first.
    figure_, ax_ : matplotlib figure and axes
        The figure, and its axes.
    points_, alone_points_ : matplotlib lines
        All rows, and those that stand alone.
    texts_ : list of matplotlib annotations
        The names.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, ResidualLeverageDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = np.append(rng.random(80), 3.0)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(81)
    >>> y[40] += 2
    >>> model = KernelRegressor("gaussian", random_state=0).fit(X, y)
    >>> display = ResidualLeverageDisplay.from_estimator(model, X, y)
    >>> sorted(display.alone[:2].tolist())
    [40, 80]
    """

    def __init__(
        self,
        *,
        leverages: ArrayLike,
        residuals: ArrayLike,
        mean_leverage: float,
        labels: Sequence[Any] | None = None,
        names: int = 8,
        name: str | None = None,
    ) -> None:
        self.leverages: Array = np.asarray(leverages, dtype=float)
        self.residuals: Array = np.asarray(residuals, dtype=float)
        check_same_length(len(self.leverages), self.residuals, "residuals")
        self.mean_leverage = float(mean_leverage)
        self.labels = list(range(len(self.leverages))) if labels is None else list(labels)
        check_same_length(len(self.leverages), np.array(self.labels, dtype=object), "labels")
        self.names, self.name = check_count(names, "names", minimum=0), name

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelRegressor,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fitted: bool = True,
        output: int = 0,
        labels: Sequence[Any] | None = None,
        names: int = 8,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Plot the residuals of rows of a fitted regressor.

        Parameters
        ----------
        estimator : KernelRegressor
            A fitted model.
        X, y, sample_weight : arrays, or a data frame and names of its columns
            The rows, as in ``fit``. Rows without a label are left out.
        fitted : bool
            Whether these are rows of the fit.
        output : int
            The column of y, if it has several.
        labels : sequence or None
            Names of the rows; None means the index of a data frame, or their numbers.
        names : int
            How many rows to name at most.
        ax : matplotlib axes or None
            The axes to plot on; None creates a figure.
        name : str or None
            Title of the plot.
        """
        check_flag(fitted, "fitted")
        X, y, weight, _ = with_named_columns(X, y, sample_weight, None)
        posterior, targets = posterior_of_model(estimator), estimator._targets
        if not 0 <= output < targets.outputs:
            raise ValueError(f"output must be a column of y, 0 to {targets.outputs - 1}: {output}")
        found = targets.encode(np.asarray(y), 0) * targets.scale + targets.origin
        mean = np.reshape(estimator.predict(X), found.shape)
        left = (found - mean)[:, output]
        if weight is None:
            w = np.ones(len(left))
        else:
            w = check_array(weight, ensure_2d=False, input_name="sample_weight", dtype=np.float64)
        check_same_length(len(left), w, "sample_weight")
        leverages, effective = leverages_of(estimator, X), posterior.effective_dimension
        if isinstance(effective, np.ndarray):  # an alpha of each output
            leverages, effective = leverages[:, output], float(effective[output])
        leverages = w * leverages
        if fitted:
            sigma = np.sqrt(posterior.noise()[output]) * targets.scale[output]
            spread = sigma * np.sqrt(np.maximum(1.0 - leverages, CLOSEST))
            left = left * np.sqrt(w)
        else:
            std = estimator.predict(X, return_std=True, include_noise=True)[1]
            spread = np.reshape(std, found.shape)[:, output]
        # Where y is constant, there is no noise, and no residual either.
        standardized = np.divide(left, spread, out=0 * left, where=spread > 0)
        if labels is None and hasattr(X, "iloc"):
            labels = list(X.index)
        known = np.flatnonzero(~np.isnan(standardized))
        return cls(
            leverages=leverages[known],
            residuals=standardized[known],
            mean_leverage=(effective + posterior.intercept) / posterior.count,
            labels=known.tolist() if labels is None else [labels[int(at)] for at in known],
            names=names,
            name=name,
        ).plot(ax)

    @property
    def alone(self) -> Array:
        """The rows that stand alone, those with the most influence first."""
        t, leverages = self.residuals, self.leverages
        far = (leverages > MANY_TIMES * self.mean_leverage) | (np.abs(t) > DEVIATIONS)
        influence = t**2 * leverages / np.maximum(1.0 - leverages, CLOSEST)
        order = np.argsort(-influence, kind="stable")
        return np.asarray(order[far[order]])

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on the given axes, or in a new figure."""
        axes = new_axes() if ax is None else ax
        self.ax_, self.figure_ = axes, axes.figure
        named = self.alone
        dots: dict[str, Any] = {"linestyle": "", "marker": "o", "markeredgewidth": 0}
        rest = np.setdiff1d(np.arange(len(self.residuals)), named)
        faint = float(np.clip(30 / np.sqrt(max(1, len(rest))), 0.15, 0.7))
        for at in (-DEVIATIONS, 0.0, DEVIATIONS):
            style = "-" if at == 0 else (0, (4, 3))
            axes.axhline(at, color=EDGE, linewidth=0.9, linestyle=style, zorder=1)
        threshold = MANY_TIMES * self.mean_leverage
        axes.axvline(threshold, color=EDGE, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        (self.points_,) = axes.plot(
            self.leverages[rest],
            self.residuals[rest],
            color=BLUE,
            markersize=4,
            alpha=faint,
            **dots,
        )
        (self.alone_points_,) = axes.plot(
            self.leverages[named], self.residuals[named], color=ORANGE, markersize=5.5, **dots
        )
        positive = self.leverages[self.leverages > 0]
        if len(positive) == len(self.leverages) and positive.max() > WIDE * positive.min():
            axes.set_xscale("log")
        axes.annotate(
            f"{MANY_TIMES:g} x mean",
            (threshold, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -2),
            textcoords="offset points",
            va="top",
            fontsize="small",
            color=EDGE,
        )
        axes.margins(x=0.08, y=0.12)
        self.texts_ = self._write_names(named[: self.names])
        finish(axes, "leverage", "residual / its standard deviation", self.name)
        return self

    def _write_names(self, rows: Array) -> list[Any]:
        """Write the labels of rows beside them: at the first of four places that is free."""
        taken: list[tuple[float, float, float, float]] = []
        written = []
        for at in rows:
            x, y = self.ax_.transData.transform((self.leverages[at], self.residuals[at]))
            label, up = str(self.labels[at]), 1 if self.residuals[at] >= 0 else -1
            width, height = LETTER[0] * len(label) + 4, LETTER[1]
            places = [(right, side) for side in (up, -up) for right in (1, -1)]
            boxes = [(x + right * (4 + width / 2), y + side * 10) for right, side in places]
            free = [
                not any(
                    abs(bx - tx) < (width + tw) / 2 and abs(by - ty) < (height + th) / 2
                    for tx, ty, tw, th in taken
                )
                for bx, by in boxes
            ]
            chosen = free.index(True) if any(free) else 0
            taken.append((*boxes[chosen], width, height))
            right, side = places[chosen]
            written.append(
                self.ax_.annotate(
                    label,
                    (self.leverages[at], self.residuals[at]),
                    xytext=(4 * right, 4 * side),
                    textcoords="offset points",
                    ha="left" if right > 0 else "right",
                    va="bottom" if side > 0 else "top",
                    fontsize="small",
                    color=INK,
                )
            )
        return written
