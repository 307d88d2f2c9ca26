"""Plot where the error of an average over shards comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.bases import as_generator
from mercer.contracts import Array, RandomState
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.kernels.kernel import dense
from mercer.opening.rows_to_predict import encoded_to_predict, rows_to_predict
from mercer.sampling import uniform_indices
from mercer.style import BLUE, GRAY, GREEN, INK, ORANGE, PINK, PURPLE, Axes, dress, grid, pyplot
from mercer.theory import ErrorParts, error_parts
from mercer.validation import check_count, check_same_length

#: Rows of the sample: the kernel matrix is decomposed.
SAMPLE = 1500
#: The parts, in the order of the sum, with color and name.
PARTS = {
    "distributed": (ORANGE, "shards"),
    "sample": (PURPLE, "noise in y"),
    "nystroem": (BLUE, "landmarks"),
    "empirical": (GREEN, "few rows"),
    "approximation": (PINK, "penalty"),
}


class ErrorPartsDisplay:
    """Plot of the parts of an error, against landmarks and against shards.

    See :mod:`mercer.theory.decomposition` for what the parts are, and how they are measured on a
    sample.

    Parameters
    ----------
    parts : list of ErrorParts
        The parts for every number of landmarks and of shards.

    Attributes
    ----------
    figure_, axes_ : matplotlib figure, and its two axes
        The left axes are for the fewest shards, the right axes for the most landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ErrorPartsDisplay, KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 1))
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    >>> model = KernelRegressor("gaussian", random_state=0).fit(X, y)
    >>> display = ErrorPartsDisplay.from_estimator(model, X, y, n_components=[5, 50])
    >>> [part.functions for part in display.parts[:1]]
    [5]
    """

    def __init__(self, *, parts: Sequence[ErrorParts]) -> None:
        self.parts = list(parts)

    @classmethod
    def from_estimator(
        cls,
        estimator: KernelEstimator,
        X: object,
        y: object,
        *,
        n_components: Sequence[int] = (25, 50, 100, 200, 400, 800),
        partitions: Sequence[int] = (1, 2, 5, 10, 20, 50),
        sample: int = SAMPLE,
        random_state: RandomState = 0,
    ) -> Self:
        """Measure the parts with the kernel and the alpha of a fitted model, and plot them.

        Parameters
        ----------
        estimator : KernelRegressor or KernelClassifier
            A fitted model.
        X, y : arrays
            Rows like those of the fit.
        n_components, partitions : sequences of int
            Numbers of landmarks and of shards; those that the sample is too small for are left out.
        sample : int
            Rows of the sample; the time grows with their cube.
        random_state : int, Generator, RandomState or None
            Seed of the sample and of the landmarks.
        """
        check_is_fitted(estimator, "fit_")
        check_count(sample, "sample", minimum=40)
        targets = estimator._targets
        if targets.ranks:
            raise ValueError("the parts of an error are for regression and classes, not rankings")
        rng = as_generator(random_state)
        source, _ = encoded_to_predict(estimator, rows_to_predict(estimator, X))
        labels = np.asarray(y)
        check_same_length(source.n_rows, labels, "y")
        rows = uniform_indices(source.n_rows, sample, rng)
        Y = targets.encode(labels[rows], 0) * targets.scale
        known = ~np.isnan(Y).any(axis=1)
        Y, points = Y[known], dense(source.take(rows))[known]
        trained = int(0.75 * len(Y))
        functions = [check_count(m, "n_components") for m in n_components]
        shards = [check_count(m, "partitions") for m in partitions]
        functions = [m for m in functions if m <= trained]
        shards = [m for m in shards if 10 * m <= trained]
        if not functions or not shards:
            raise ValueError(
                f"a sample of {len(Y)} rows is too small: use more rows, or smaller n_components "
                f"(at most {trained}) and partitions (at most {trained // 10})"
            )
        if np.ndim(estimator.fit_.alpha):
            raise ValueError(
                "the parts of an error are those of one penalty, but outputs have alphas of their "
                "own here: plot a model of one output"
            )
        alpha = float(estimator.fit_.alpha)
        found = error_parts(
            estimator.kernel_, points, Y - Y.mean(axis=0), alpha, functions, shards, rng
        )
        return cls(parts=found).plot()

    def plot(self) -> Self:
        """Draw both panels in a new figure."""
        figure, axes = pyplot().subplots(
            1, 2, figsize=(9.6, 4.0), layout="constrained", sharey=True
        )
        self.figure_, self.axes_ = figure, axes
        fewest = min(part.partitions for part in self.parts)
        largest = max(part.functions for part in self.parts)
        by_functions = [part for part in self.parts if part.partitions == fewest]
        by_shards = [part for part in self.parts if part.functions == largest]
        self._panel(axes[0], by_functions, "functions", f"{fewest:,} shard{'s' * (fewest > 1)}")
        self._panel(axes[1], by_shards, "partitions", f"{largest:,} landmarks")
        axes[0].set(xlabel="landmarks", ylabel="root mean square")
        axes[1].set(xlabel="shards")
        axes[1].legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        return self

    def _panel(self, axes: Axes, parts: list[ErrorParts], against: str, title: str) -> None:
        at: Array = np.array([getattr(part, against) for part in parts])
        total = [part.total for part in parts]
        axes.plot(at, total, "o-", color=INK, linewidth=2.2, markersize=4, label="whole error")
        for name, (color, label) in PARTS.items():
            values = np.array([getattr(part, name) for part in parts])
            values = np.where(values > 1e-6 * max(total), values, np.nan)
            axes.plot(at, values, "o-", color=color, linewidth=1.5, markersize=3, label=label)
        bound = [part.bound_in_probability for part in parts]
        axes.plot(at, bound, color=GRAY, linestyle="--", linewidth=1.2, label="sum of the parts")
        scale = "log" if max(total) > 0 else "linear"  # no error at all, of a constant y
        axes.set(xscale="log", yscale=scale, title=title)
        axes.set_xticks(at, [f"{value:,}" for value in at])
        axes.minorticks_off()
        grid(axes)
        dress(axes)
