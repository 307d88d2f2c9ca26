"""Small fits of a candidate kernel, judged by rows that they have not seen.

The moments of the rows come in two folds. The fit is that of the first, and the error on the second
is a function of its moments alone: for coefficients c,

.. math:: \\sum_{i \\in \\text{held out}} w_i (y_i - h(x_i)'c)^2 = s_{yy} - 2 c't + c'Sc,

so one pass gives the error for every alpha, for any number of outputs, within queries, over files
and over shards. Where rows are few there are several splits, each with folds of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.columns.scaling import Scaling
from mercer.contracts import Array, Reading, Targets
from mercer.kernels import InMetric, Kernel
from mercer.metric import gradient_outer_product
from mercer.moments import Moments, sum_moments
from mercer.plan import make_plan
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.selection import default_alphas
from mercer.solvers import Ridge
from mercer.systems import MomentSystem

#: The share of rows that judge the fits.
HELD_OUT = 0.25
#: Rows of a block: small fits should take little memory.
BLOCK_ROWS = 1024
#: Up to this many rows there are three splits, because few held-out rows judge badly.
FEW_ROWS = 500


@dataclass(frozen=True)
class SmallFit:
    """A fit of the rows that are not held out, at the alpha that held-out rows prefer."""

    basis: BasisTransformer
    coefficients: Array  # (M, k)
    error: float  # on held-out rows, relative to predicting the mean


class Trial:
    """Rows, functions and splits that all candidates share, so that their errors compare.

    Parameters
    ----------
    rows, targets
        The rows of the small fits.
    request : Request
        The parameters of the fit; its kernel is that of each candidate.
    points : array
        The landmarks of the small fits.
    seed : int
        Assigns rows to folds.
    """

    def __init__(
        self, rows: RowSet, targets: Targets, request: Request, points: Array, seed: int
    ) -> None:
        self.rows, self.targets, self.intercept = rows, targets, request.intercept
        self.points, self.seed = points, seed
        small = replace(
            request,
            targets=targets,
            basis=Landmarks(sampling=points),
            solver=Ridge(),
            alpha=0.0,
            dtype="auto",
            needs_sums=True,
            memory_limit="auto",
            previous=None,
            progress=None,
        )
        self.plan = make_plan(rows, small)
        self.splits = 3 if rows.n_rows <= FEW_ROWS else 1
        folds, held_out = (self.splits, None) if self.splits > 1 else (2, HELD_OUT)
        block_rows = min(self.plan.block_rows, BLOCK_ROWS)
        self.reading = Reading(block_rows, self.plan.lanes, folds, held_out)

    def fits(self, kernels: list[Kernel]) -> list[SmallFit]:
        """Return a fit per split, for a kernel per split, or one for all."""
        if len(kernels) == 1:
            basis, folds = self._moments(kernels[0])
            held = range(self.splits) if self.splits > 1 else [len(folds) - 1]
            return [self._fit(basis, folds, at) for at in held]
        found = []
        for split, kernel in enumerate(kernels):
            basis, folds = self._moments(kernel)
            found.append(self._fit(basis, folds, split))
        return found

    def _moments(self, kernel: Kernel) -> tuple[BasisTransformer, list[Moments]]:
        basis = Landmarks(sampling=self.points).fit_source(
            self.rows,  # type: ignore[arg-type]
            kernel,
            np.random.default_rng(self.seed),
            self.plan.precision,
            self.plan.may_widen,
        )
        folds = sum_moments(
            self.rows, self.targets, basis, self.reading, self.seed, record="search"
        )
        return basis, folds

    def _fit(self, basis: BasisTransformer, folds: list[Moments], held: int) -> SmallFit:
        """Fit all folds but one, and choose alpha by that one."""
        total = folds[0]
        for fold in folds[1:]:
            total = total + fold
        fold = folds[held]
        train = total - fold
        units = np.ones(self.targets.outputs)
        system = MomentSystem([train], basis, self.intercept, units)
        alphas = default_alphas(system)
        found = system.whitener.coefficients(system.solutions(alphas))
        equations = system.equations
        intercepts = np.tile(equations.mean_y, len(alphas)) - equations.mean_h @ found
        by_column = fold.squared_error(found, intercepts).reshape(len(alphas), -1)
        errors = by_column.sum(axis=1)
        nothing = fold.squared_error(np.zeros((len(found), len(units))), equations.mean_y).sum()
        best = int(np.nanargmin(np.where(np.isfinite(errors), errors, np.inf)))
        error = float(errors[best] / nothing) if nothing > 0 else 1.0
        outputs = len(units)
        orthogonal = found[:, best * outputs : (best + 1) * outputs]
        return SmallFit(basis, basis.coefficients(orthogonal), max(error, 0.0))

    def gradients(self, fit: SmallFit, diagonal: bool, scaling: Scaling | None) -> Array:
        """Return the average gradient outer product of a fit, in the scaled columns."""
        return gradient_outer_product(
            self.rows,
            fit.basis,
            fit.coefficients,
            replace(self.reading, folds=1, held_out=None),
            diagonal=diagonal,
            scaling=scaling,
            targets=self.targets,
        )


def with_bandwidth(kernel: Kernel, X: Array, factor: float) -> Kernel:
    """Return a kernel with numeric bandwidths: the median distance, times a factor where open."""
    open_ones = (
        kernel.kernel.parameters_with("auto")
        if isinstance(kernel, InMetric)
        else (kernel.parameters_with("auto"))
    )
    fitted = kernel.fitted(X)
    inner = fitted.kernel if isinstance(fitted, InMetric) else fitted
    known = inner.get_params()
    inner.set_params(**{name: factor * known[name] for name in open_ones})
    return fitted
