"""Every method of intervals: fit to rows, then ask for the intervals of others, (n, 2, levels).

All are at the defaults of their libraries, on one thread. Conformal methods hold out a quarter of
the training rows and take the quantile of rank ``ceil((n + 1) level)`` of what these rows tell:
``|y - f(x)|`` for split conformal (Lei et al., 2018), ``max(low(x) - y, y - high(x))`` for
conformalized quantiles (Romano, Patterson and Candes, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from benchmarks import peers
from benchmarks.table_sets import REGRESSION

from experiments.scaffold import Array
from experiments.uncertainty.availability import Needs

#: The share of training rows that conformal methods hold out.
HELD_OUT = 0.25
#: Rows whose likelihood chooses the length scales of the Gaussian process.
LIKELIHOOD_ROWS = 500
Levels = Sequence[float]
Intervals = Callable[[Array], Array]


@dataclass(frozen=True)
class Method:
    """What it needs, what a fit returns, and what readers are told."""

    needs: Needs
    fit: Callable[[Array, Array, Levels, int], Intervals]
    told: str


def mercer(settings: Mapping[str, Any], X: Array, y: Array, levels: Levels, seed: int) -> Intervals:
    """Fit mercer's default, which keeps what intervals are made of."""
    model = peers.mercer(settings, REGRESSION, seed).fit(X, y)
    return lambda new: np.asarray(model.predict_interval(new, coverage=list(levels)))


def held_out(n: int, seed: int) -> tuple[Array, Array]:
    """Return which rows are fitted, and which a conformal method looks at."""
    order = np.random.default_rng(seed).permutation(n)
    number = round(HELD_OUT * n)
    return order[number:], order[:number]


def conformal_quantile(values: Array, level: float) -> float:
    """Return the value of rank ``ceil((n + 1) level)``, infinite beyond n.

    >>> conformal_quantile(np.arange(1.0, 10.0), 0.9), conformal_quantile(np.arange(3.0), 0.9)
    (9.0, inf)
    """
    rank = math.ceil((len(values) + 1) * level)
    return math.inf if rank > len(values) else float(np.sort(values)[rank - 1])


def catboost_conformal(X: Array, y: Array, levels: Levels, seed: int) -> Intervals:
    """Fit CatBoost, and add quantiles of its absolute residuals."""
    fitted, looked_at = held_out(len(X), seed)
    model = peers.catboost(peers.SUFFIX, REGRESSION, seed).fit(X[fitted], y[fitted])
    residuals = np.abs(y[looked_at] - model.predict(X[looked_at]))
    half = np.array([conformal_quantile(residuals, level) for level in levels])

    def intervals(new: Array) -> Array:
        middle = model.predict(new)[:, None]
        return np.stack([middle - half, middle + half], axis=1)

    return intervals


def lightgbm_at(quantile: float, seed: int) -> Any:
    """Return LightGBM for a quantile."""
    model = peers.lightgbm(peers.SUFFIX, REGRESSION, seed)
    return model.set_params(objective="quantile", alpha=quantile)


def histogram_at(quantile: float, seed: int) -> Any:
    """Return scikit-learn's boosted trees for a quantile."""
    return peers.histogram(REGRESSION, seed).set_params(loss="quantile", quantile=quantile)


def by_quantiles(
    make: Callable[[float, int], Any], X: Array, y: Array, levels: Levels, seed: int
) -> Intervals:
    """Fit a model for either end of every level; ends that cross change places."""
    ends = [((1 - level) / 2, (1 + level) / 2) for level in levels]
    models = [[make(quantile, seed).fit(X, y) for quantile in both] for both in ends]

    def intervals(new: Array) -> Array:
        values = [[model.predict(new) for model in both] for both in models]
        return np.sort(np.array(values).transpose(2, 1, 0), axis=1)

    return intervals


def conformalized(
    make: Callable[[float, int], Any], X: Array, y: Array, levels: Levels, seed: int
) -> Intervals:
    """Fit quantiles, and move both ends so that rows held out are covered."""
    fitted, looked_at = held_out(len(X), seed)
    plain = by_quantiles(make, X[fitted], y[fitted], levels, seed)
    found, known = plain(X[looked_at]), y[looked_at][:, None]
    outside = np.maximum(found[:, 0] - known, known - found[:, 1])
    move = np.array([conformal_quantile(outside[:, j], q) for j, q in enumerate(levels)])

    def intervals(new: Array) -> Array:
        low, high = np.moveaxis(plain(new), 1, 0)
        # narrowed by more than their width, ends meet in the middle
        move_by = np.maximum(move, (low - high) / 2)
        return np.stack([low - move_by, high + move_by], axis=1)

    return intervals


def gaussian_process(most: int, X: Array, y: Array, levels: Levels, seed: int) -> Intervals:
    """Fit scikit-learn's Gaussian process to at most so many of the rows, standardized.

    ``y ~ N(m(x), v(x) + noise)``; one length scale a column. The likelihood of the first 500 of
    these rows chooses length scales and noise: that of 1,500 takes minutes a fit.
    """
    import warnings

    from scipy.stats import norm
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    some = np.random.default_rng(seed).permutation(len(X))[:most]
    center, scale = X[some].mean(axis=0), X[some].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    known, told = (X[some] - center) / scale, y[some]
    kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length scale at its bound
        first = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
        first.fit(known[:LIKELIHOOD_ROWS], told[:LIKELIHOOD_ROWS])
    model = GaussianProcessRegressor(first.kernel_, optimizer=None, normalize_y=True)
    model.fit(known, told)
    ends = norm.ppf([[(1 - level) / 2, (1 + level) / 2] for level in levels]).T

    def intervals(new: Array) -> Array:
        mean, spread = model.predict((new - center) / scale, return_std=True)
        return np.asarray(mean[:, None, None] + spread[:, None, None] * ends)

    return intervals


def methods(gp_rows: int) -> dict[str, Method]:
    """Return all methods by their names."""
    mercer_needs = Needs("mercer", "KernelRegressor", "intervals")
    catboost, lightgbm, sklearn = map(Needs, ("catboost", "lightgbm", "sklearn"))
    process = partial(gaussian_process, gp_rows)
    raw, moved = partial(by_quantiles, lightgbm_at), partial(conformalized, lightgbm_at)
    trees = partial(by_quantiles, histogram_at)
    return {
        "mercer": Method(mercer_needs, partial(mercer, {}), "mercer"),
        "catboost-conformal": Method(catboost, catboost_conformal, "CatBoost, split conformal"),
        "lightgbm-quantile": Method(lightgbm, raw, "LightGBM, quantiles"),
        "lightgbm-cqr": Method(lightgbm, moved, "LightGBM, conformalized quantiles"),
        "histogram-quantile": Method(sklearn, trees, "HistGradientBoosting, quantiles"),
        "gaussian-process": Method(sklearn, process, "Gaussian process, subset"),
    }
