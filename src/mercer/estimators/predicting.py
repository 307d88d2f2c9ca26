"""Predictions ``f(x) = h(x)'c + intercept`` of a fitted model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.contracts import Array, RowBlock, Rows
from mercer.engines import Lanes
from mercer.estimators.fitted import in_units
from mercer.opening.rows_to_predict import (
    encoded_to_predict,
    rows_to_predict,
    warn_of_notes,
    with_columns_of_fit,
)
from mercer.refit import coefficients_of_steps
from mercer.request import Request
from mercer.rows.dask_partitions import is_partitioned, mapped
from mercer.validation import check_finite

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

#: Columns of solutions that staged predictions evaluate at a time.
TOGETHER = 64
#: Values of functions that are evaluated at a time, so that they stay in the cache.
VALUES = 2**18
#: Tiles of so many values in a block of rows, which is what a thread is given: handing a block over
#: takes as long as a thousand values.
TILES = 8


def by_partition(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of rows take a Dask collection: it returns another, with the same partitions."""

    @functools.wraps(method)
    def applied(self: Any, X: object, *args: Any, **named: Any) -> Any:
        if not is_partitioned(X):
            return method(self, X, *args, **named)
        check_is_fitted(self, "fit_")
        if named.get("return_std") or (method.__name__ == "predict" and any(args)):
            raise ValueError(
                "return_std=True needs rows in one place, got a Dask collection: use "
                "predict_interval, or map_partitions"
            )
        if hasattr(X, "columns"):  # what is wrong with them is said once, not in each partition
            X = with_columns_of_fit(self, X)
        return mapped(getattr(self, method.__name__), X, args, named)

    return applied


def values_of(
    model: KernelEstimator,
    X: object,
    solution: tuple[Array, Array] | None = None,
    also: Callable[[int, int, Rows], None] | None = None,
) -> Array:
    """Return f(x), of shape (n, k), in blocks; ``solution`` replaces that of the model.

    ``also`` is called with the number of rows, and with the first row of each block and the block.
    """
    if not hasattr(model, "fit_"):  # else its tags would be made, too
        check_is_fitted(model, "fit_")
    source, notes = encoded_to_predict(model, rows_to_predict(model, X))
    precision = model.fit_.prediction_precision
    coefficients, intercept = (model.dual_coef_, model.intercept_) if solution is None else solution
    evaluate, coefficients, width = model.basis_.prediction(coefficients, precision)
    out = np.empty((source.n_rows, coefficients.shape[1]))
    tile = max(1, min(4096, VALUES // max(1, width)))

    def predict_block(buffers: list[Array], block: RowBlock) -> None:
        check_finite(block.X, start=block.start, names=source.feature_names)
        if not buffers:
            shape = (min(tile, source.n_rows), width)
            buffers += [np.empty(shape, dtype=precision), np.empty(shape)]
        n_rows = block.X.shape[0]
        for first in range(0, n_rows, tile):
            rows = block.X if n_rows <= tile else block.X[first : first + tile]
            H = evaluate(rows, buffers[0][: rows.shape[0]])
            if H.dtype != np.float64:
                # Large coefficients may cancel, so the last product is in float64.
                wide = buffers[1][: len(H)]
                wide[...] = H
                H = wide
            start = block.start + first
            np.matmul(H, coefficients, out=out[start : start + len(H)])
        if also is not None:
            also(source.n_rows, block.start, block.X)

    lanes: Lanes[list[Array]] = Lanes(list, 1 if source.n_rows <= tile else None)
    share = -(-source.n_rows // (4 * lanes.count))
    lanes.run(source.blocks(max(tile, min(TILES * tile, share))), predict_block)
    warn_of_notes(notes, source.n_rows)
    out += intercept
    return out


def staged_values(model: KernelEstimator, X: object) -> Iterator[Array]:
    """Yield f(x) for every row after each step of an iterative solver."""
    values, targets = model.path_.values, model._targets
    if len(values) < model.best_step_:
        raise AttributeError(
            "the steps of this model were not stored: they need too much memory, it was solved "
            "by products, or it was loaded from a file"
        )
    request = Request(targets, intercept=model._has_intercept())
    found = coefficients_of_steps(model.fit_, values[: model.best_step_], request)
    while steps := list(islice(found, max(1, TOGETHER // targets.outputs))):
        solutions = [in_units(targets, *step) for step in steps]
        coefficients, intercept = (np.hstack(part) for part in zip(*solutions, strict=True))
        yield from np.hsplit(values_of(model, X, (coefficients, intercept)), len(steps))
