"""From a fitted model to its values at rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.bases import BasisTransformer
from mercer.contracts import Array, RowSource
from mercer.engines import Lanes
from mercer.estimators.inputs import RowInputs
from mercer.estimators.steps import SolverSteps
from mercer.fit import (
    unwhitened,
)
from mercer.sources import ArraySource
from mercer.validation import (
    check_finite,
)

#: Columns of solutions that staged predictions evaluate the basis for at a time.
TOGETHER = 64


class Predictions(SolverSteps, RowInputs):
    """The values of a model, and of each step on the way to it."""

    fit_intercept: bool
    basis_: BasisTransformer
    coef_: Array
    intercept_: Array
    _targets: Any

    def _decide(self, X: Any, solution: tuple[Array, Array] | None = None) -> Array:
        """Return f(x) for every row: shape (n, k), in blocks; ``solution`` replaces the model's."""
        check_is_fitted(self, "fit_")
        if isinstance(X, (str, Path, RowSource)):
            source = self._prediction_source(X)
        else:
            names = getattr(self, "feature_names_in_", None)
            rows = self._validated_rows(X, reset=False)
            source = ArraySource(rows, feature_names=None if names is None else list(names))
        basis = self.basis_
        coefficients, intercept = (self.coef_, self.intercept_) if solution is None else solution
        evaluate, coefficients, width = basis.prediction(coefficients)
        out = np.empty((source.n_rows, coefficients.shape[1]))
        block_rows = max(1, min(4096, 2**22 // max(1, width)))

        def predict_block(buffers: list[Array], block: Any) -> None:
            check_finite(block.X, start=block.start, names=source.feature_names)
            if not buffers:
                shape = (min(block_rows, source.n_rows), width)
                buffers += [np.empty(shape, dtype=basis.precision_), np.empty(shape)]
            H = evaluate(block.X, buffers[0][: block.n_rows])
            if H.dtype != np.float64:
                # Coefficients may be large and cancel: the last product is worth float64.
                wide = buffers[1][: block.n_rows]
                wide[...] = H
                H = wide
            np.matmul(H, coefficients, out=out[block.start : block.start + block.n_rows])

        lanes = 1 if source.n_rows <= block_rows else None
        Lanes(list, lanes).run(source.blocks(block_rows), predict_block)
        out += intercept
        return out

    def _staged(self, X: Any) -> Iterator[Array]:
        """Yield f(x) for every row after each step."""
        values = self.path_.values
        if len(values) < self.best_step_:
            raise AttributeError(
                "the steps of this model were not kept: they take too much memory, it was solved "
                "by products, or it was loaded from a file"
            )
        found = unwhitened(self.fit_, values[: self.best_step_], bool(self.fit_intercept))
        while steps := list(islice(found, max(1, TOGETHER // self._targets.outputs))):
            solutions = [self._in_units(*step) for step in steps]
            coefficients, intercept = (np.hstack(part) for part in zip(*solutions, strict=True))
            yield from np.hsplit(self._decide(X, (coefficients, intercept)), len(steps))

    def _in_units(self, coefficients: Array, intercept: Array) -> tuple[Array, Array]:
        """Turn a solution for encoded targets into one in the units of y."""
        scale, origin = self._targets.scale, getattr(self._targets, "origin", 0.0)
        return coefficients * scale, intercept * scale + origin
