"""Standard deviations of predictions, leverages of rows, and the noise, of a fitted model.

See :mod:`mercer.inference.variance` for the formula. What it needs is built when first asked for
and kept beside the model, not in it: copies, pickles and model files do not hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array, RowBlock, Rows
from mercer.engines import Lanes
from mercer.estimators.kernel_estimator import lock_of
from mercer.inference import Posterior, posterior_of
from mercer.opening.rows_to_predict import encoded_to_predict, rows_to_predict
from mercer.result import Fit
from mercer.solvers import as_solver
from mercer.validation import check_finite, check_flag

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

#: Values held at a time by one thread, of each of three arrays.
ENTRIES = 2**21

_KNOWN: WeakKeyDictionary[Any, tuple[Fit, Posterior]] = WeakKeyDictionary()


def posterior_of_model(model: KernelEstimator) -> Posterior:
    """Return the Gaussian process that a fitted model is the mean of; built once for a fit."""
    check_is_fitted(model, "fit_")
    found: Fit = model.fit_
    with lock_of(model):
        fitted, known = _KNOWN.get(model, (None, None))
        if known is None or fitted is not found:  # rows were added, or another fit took place
            check_is_penalized(model)
            known = posterior_of(found, model._has_intercept())
            _KNOWN[model] = found, known
        return known


def check_is_penalized(model: KernelEstimator) -> None:
    """Raise ValueError unless a model is a ridge solution and has kept what a variance needs."""
    found: Fit = model.fit_
    solver = as_solver(model.solver)
    by_steps = found.path is not None and not found.plan.sample
    if by_steps or solver.regularized_by_steps or solver.cuts_off:
        name = "steps" if by_steps or solver.regularized_by_steps else "a cut-off"
        raise ValueError(
            f"a Gaussian process has a penalty alpha, but this model is regularized by {name}: fit "
            f"it with solver='ridge' or 'pcg'"
        )
    kept = found.folds is not None or found.dual_rows is not None
    combined = found.combination and not found.combination.startswith("exact sum")
    if not (kept or combined or found.plan.sample):
        raise ValueError(
            "this model was loaded from a file without its moments, which variances are made of: "
            "save it with mercer.save(model, path, moments=True)"
        )


def noise_of(model: KernelEstimator) -> Array:
    """Return the standard deviation of the noise in y, of shape (k,), in units of y.

    It is that of a row of weight 1, or of mean weight where weights are smaller than 1.
    """
    posterior = posterior_of_model(model)
    variance = posterior.noise() * max(1.0, posterior.rows_per_weight)
    return np.asarray(np.sqrt(variance) * model._targets.scale)


def deviations_of(model: KernelEstimator, X: object, include_noise: bool = False) -> Array:
    """Return the standard deviation of f(x), or of y given x, of shape (n, k), in units of y."""
    check_flag(include_noise, "include_noise")
    posterior = posterior_of_model(model)
    sigma = posterior.noise() * model._targets.scale**2
    rows = by_row(model, X, posterior.variance.of_rows)
    variance = rows.reshape(len(rows), -1) * sigma
    return np.asarray(np.sqrt(variance + noise_of(model) ** 2 if include_noise else variance))


def leverages_of(model: KernelEstimator, X: object) -> Array:
    """Return by how much f(x) follows the target of a row x of weight 1 that was fitted.

    Of shape (n,), or (n, k) if outputs have alphas of their own.
    """
    return by_row(model, X, posterior_of_model(model).variance.leverage)


def by_row(model: KernelEstimator, X: object, function: Callable[[Rows], Array]) -> Array:
    """Return a function of blocks of rows for all rows of X, in blocks and on all cores."""
    source, _ = encoded_to_predict(model, rows_to_predict(model, X))
    variance = posterior_of_model(model).variance
    out = np.empty((source.n_rows, *variance.shape))
    width = variance.width
    block_rows = max(16, min(2048, ENTRIES // max(1, width)))

    def add(_: list[None], block: RowBlock) -> None:
        check_finite(block.X, start=block.start, names=source.feature_names)
        out[block.start : block.start + block.n_rows] = function(block.X)

    Lanes(list, 1 if source.n_rows <= block_rows else None).run(source.blocks(block_rows), add)
    return out
