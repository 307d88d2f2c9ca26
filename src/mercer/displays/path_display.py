"""Plot the path of an iterative solver."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.style import (
    BLUE,
    GRAY,
    INK,
    ORANGE,
    PURPLE,
    Axes,
    dress,
    grid,
    is_wide,
    legend_above,
    new_axes,
)

VALIDATION, TRAINING, CHOSEN, RESIDUAL = BLUE, PURPLE, ORANGE, GRAY
#: With more steps than this, the axis is logarithmic: t steps act like a penalty of 1 / t.
MANY = 60


class SolverPathDisplay:
    """Plot of errors and residuals of an iterative solver against the number of steps.

    The left axis shows the mean squared errors on training rows and, if the rule uses them, on
    held-out rows (thin lines: by fold); the right axis shows the relative residual. The number of
    steps of the model is marked. Without errors, only the residual is plotted.

    Parameters
    ----------
    residuals : array of shape (steps,)
        Relative residual after each step.
    training_error : array of shape (steps,), or None
        Mean squared error on the training rows.
    validation_error : array, or None
        Mean squared error on held-out rows; it may have more steps.
    by_fold : array of shape (folds, steps), or None
        The same, fold by fold.
    best_step : int or None
        The number of steps of the model.
    name : str or None
        Title of the plot.

    Attributes
    ----------
    figure_, ax_ : matplotlib figure and axes
        The figure, and the axes of the errors.
    residual_ax_ : matplotlib axes
        The axes of the residual: on the right, or ``ax_`` if there are no errors.
    lines_ : list of matplotlib lines
        Training error, validation error, folds and residual, as available.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, SolverPathDisplay
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> model = KernelRegressor(solver="kcgm", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> SolverPathDisplay.from_estimator(model).ax_.get_xlabel()
    'steps'
    """

    def __init__(
        self,
        *,
        residuals: ArrayLike,
        training_error: ArrayLike | None = None,
        validation_error: ArrayLike | None = None,
        by_fold: ArrayLike | None = None,
        best_step: int | None = None,
        name: str | None = None,
    ) -> None:
        self.residuals = np.asarray(residuals, dtype=float)
        self.training_error = _curve(training_error)
        self.validation_error = _curve(validation_error)
        self.by_fold = _curve(by_fold)
        self.best_step = best_step
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelEstimator,
        *,
        ax: Axes | None = None,
        folds: bool = True,
        name: str | None = None,
    ) -> Self:
        """Plot the path of a fitted estimator with an iterative solver.

        ``ax`` are the axes to plot on (None creates a figure), ``folds`` is whether to plot the
        curves of the folds, and ``name`` is the title.
        """
        path = estimator.path_
        display = cls(
            residuals=path.residuals,
            training_error=path.training_error,
            validation_error=path.validation_error,
            by_fold=path.by_fold,
            best_step=estimator.best_step_,
            name=name,
        )
        return display.plot(ax, folds=folds)

    def plot(self, ax: Axes | None = None, *, folds: bool = True) -> Self:
        """Plot; ``ax=None`` creates a figure, and ``folds=False`` omits the thin lines."""
        ax = new_axes() if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Any] = []
        errors = [e for e in (self.training_error, self.validation_error) if e is not None]
        self.residual_ax_ = ax.twinx() if errors else ax
        self._draw_residual(only=not errors)
        if errors:
            self._draw_errors(folds)
        self._mark_best(errors)
        self._dress(max(len(curve) for curve in (*errors, self.residuals)))
        return self

    def _draw_errors(self, folds: bool) -> None:
        axes = self.ax_
        if folds and self.by_fold is not None and len(self.by_fold) > 1:
            for errors in self.by_fold:
                self._add(axes, errors, color=VALIDATION, linewidth=0.7, alpha=0.35, marker="")
        if self.training_error is not None:
            self._add(axes, self.training_error, color=TRAINING, label="training error")
        if self.validation_error is not None:
            self._add(axes, self.validation_error, color=VALIDATION, label="validation error")
        if is_wide(axes):
            axes.set_yscale("log")
        axes.set_ylabel("mean squared error")

    def _draw_residual(self, only: bool) -> None:
        axes, style = self.residual_ax_, {} if only else {"linestyle": (0, (4, 2)), "marker": ""}
        color = VALIDATION if only else RESIDUAL
        self._add(axes, self.residuals, **{"color": color, "label": "relative residual", **style})
        usable = self.residuals[self.residuals > 0]
        if len(usable):  # whole decades from 1, the residual at zero, for few ticks
            axes.set_yscale("log")
            axes.set_ylim(0.8 * 10 ** np.floor(np.log10(usable.min())), 1.25 * max(1, usable.max()))
        axes.set_ylabel("relative residual", color=INK if only else RESIDUAL)

    def _add(self, axes: Axes, values: Array, **style: Any) -> None:
        steps = np.arange(1, len(values) + 1)
        marker = "o" if len(values) <= MANY else ""
        style = {"linewidth": 1.8, "marker": marker, "markersize": 3.5, **style}
        self.lines_ += axes.plot(steps, values, **style)

    def _mark_best(self, errors: list[Array]) -> None:
        if not self.best_step:
            return
        axes, at = self.ax_, self.best_step
        axes.axvline(at, color=CHOSEN, linewidth=1.2, linestyle="--", zorder=1)
        curve = errors[-1] if errors else self.residuals
        if at <= len(curve):
            axes.plot(at, curve[at - 1], "o", markersize=8, color=CHOSEN, zorder=4)
        axes.plot([], [], "o--", color=CHOSEN, label=f"{at} step{'s' * (at > 1)} taken")

    def _dress(self, steps: int) -> None:
        from matplotlib.ticker import MaxNLocator

        if steps > MANY:
            self.ax_.set_xscale("log")
        else:
            self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        self.ax_.set_xlabel("steps")
        grid(self.ax_)
        both = self.residual_ax_ is not self.ax_
        dress(self.ax_, self.residual_ax_, hidden=("top",) if both else ("top", "right"))
        if both:
            self.residual_ax_.tick_params(axis="y", which="both", colors=RESIDUAL)
            # Errors are the main content: draw them and the text over the residual.
            self.ax_.set_zorder(self.residual_ax_.get_zorder() + 1)
            self.ax_.patch.set_visible(False)
        entries: dict[str, Any] = {}
        for axes in (self.ax_, self.residual_ax_):
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
        legend_above(self.ax_, entries, self.name)


def _curve(values: ArrayLike | None) -> Array | None:
    return None if values is None or np.size(values) == 0 else np.asarray(values, dtype=float)
