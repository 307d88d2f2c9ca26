"""Kernel ridge regression as scikit-learn has it, searched by held-out rows for a given time."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Array = np.ndarray

#: gamma is one of these over the number of columns; the likely ones are tried first.
FACTORS = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01)
#: Penalties of the mean loss: Ridge takes them times the number of rows.
ALPHAS = 10.0 ** -np.arange(1.0, 9.0)
#: Rows and components of the search, and the share of rows that it holds out.
ROWS, COMPONENTS, HELD_OUT = 10_000, 500, 0.2
#: Components of the last fit: the most that the time left allows.
LADDER = (4000, 2000, 1000, 500, 250)
#: Up to so many rows the last fit has the whole kernel matrix.
FEW = 8000
#: The time of a fit grows as this power of its components.
POWER = 1.5


class KernelGrid:
    """StandardScaler, Nystroem and Ridge, or KernelRidge where rows are few.

    Half of ``seconds`` goes to the search of gamma and alpha on a sample of rows, half to the
    last fit of all rows. Classes are columns of +1 and -1.
    """

    def __init__(self, seconds: float, classes: bool, random_state: int = 0) -> None:
        self.seconds, self.classes, self.random_state = seconds, classes, random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Search, then fit all rows."""
        start = time.perf_counter()
        rng = np.random.default_rng(self.random_state)
        self.values_ = np.unique(y)
        Y = np.where(y[:, None] == self.values_, 1.0, -1.0) if self.classes else y[:, None]
        sample = rng.permutation(len(X))[:ROWS]
        cost = self._search(X[sample], Y[sample], start)
        left = self.seconds - (time.perf_counter() - start)
        if len(X) <= FEW:
            kernel = KernelRidge(alpha=self.alpha_ * len(X), kernel="rbf", gamma=self.gamma_)
            steps: list[Any] = [kernel]
        else:
            each = cost * len(X) / len(sample)  # seconds of a fit with as many components
            affordable = [m for m in LADDER if each * (m / COMPONENTS) ** POWER <= left]
            self.components_ = affordable[0] if affordable else LADDER[-1]
            steps = [self._features(self.components_, self.gamma_), Ridge(self.alpha_ * len(X))]
        self.mean_ = Y.mean(axis=0)
        self.model_ = make_pipeline(StandardScaler(), *steps).fit(X, Y - self.mean_)
        return self

    def predict(self, X: Array) -> Array:
        """Return targets, or the class of the largest column."""
        scores = self.model_.predict(X).reshape(len(X), -1) + self.mean_
        return self.values_[scores.argmax(axis=1)] if self.classes else scores[:, 0]

    def _features(self, components: int, gamma: float) -> Nystroem:
        return Nystroem(gamma=gamma, n_components=components, random_state=self.random_state)

    def _search(self, X: Array, Y: Array, start: float) -> float:
        """Set gamma and alpha; return the seconds of one fit."""
        X = StandardScaler().fit_transform(X)
        test = round(HELD_OUT * len(X))
        components, best, cost = min(COMPONENTS, len(X) - test), np.inf, 0.0
        for tried, factor in enumerate(FACTORS, 1):
            gamma, before = factor / X.shape[1], time.perf_counter()
            features = self._features(components, gamma).fit(X[test:])
            H, H_test = features.transform(X[test:]), features.transform(X[:test])
            for alpha in ALPHAS:
                model = Ridge(alpha * len(H)).fit(H, Y[test:])
                if alpha == ALPHAS[0]:
                    cost = time.perf_counter() - before
                error = self._error(model.predict(H_test), Y[:test])
                if error < best:
                    best, self.gamma_, self.alpha_ = error, gamma, alpha
            used = time.perf_counter() - start
            if used + used / tried > self.seconds / 2:
                break
        return cost

    def _error(self, scores: Array, Y: Array) -> float:
        if self.classes:
            return float(np.mean(scores.argmax(axis=1) != Y.argmax(axis=1)))
        return float(np.mean((scores.reshape(Y.shape) - Y) ** 2))
