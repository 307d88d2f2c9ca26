"""Leave-one-out from a second pass, for a basis of M functions.

With eigendirections ``T = R U`` and ``g_i = T'(h(x_i) - m)``, the leverage of row i is

.. math:: \\ell_i(\\lambda) = \\frac{w_i}{W}\\Big(1 + \\sum_j \\frac{g_{ij}^2}{s_j + \\lambda}\\Big)

(without the 1 when there is no intercept): one product a row for all alphas together.
"""

from __future__ import annotations

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Rows
from mercer.moments import Workspace
from mercer.selection.problems import PrimalProblem


class RowErrors:
    """Leave-one-out squared errors of blocks of rows; an accumulator for one lane."""

    def __init__(self, basis: BasisTransformer, problem: PrimalProblem, alphas: Array) -> None:
        spectrum = problem.spectrum
        kept = spectrum.values > 0
        self.basis = basis
        self.problem = problem
        self.errors: dict[int, Array] = {}
        self.weights: dict[int, Array] = {}
        filters = np.stack([spectrum.filter(alpha)[kept] for alpha in alphas], axis=1)
        beta = spectrum.beta[kept]
        T = problem.directions[:, kept]
        precision = basis.precision_
        self._shift = (problem.mean_h @ T).astype(precision)
        self._directions = T.astype(precision)
        self._filters = filters.astype(precision)
        # (r, alphas * k): the solution in eigencoordinates, for every alpha and output
        self._solutions = np.hstack([f[:, None] * beta for f in filters.T]).astype(precision)
        self._workspace = Workspace(basis.size, precision)

    def add(self, start: int, X: Rows, Y: Array, weight: Array | None) -> None:
        """Compute the errors of a block."""
        rows = X.shape[0]
        H = self.basis.graded(X, self._workspace.block(0, rows), self._workspace.block(1, rows))
        G = H @ self._directions
        G -= self._shift
        fitted = (G @ self._solutions).astype(np.float64)
        np.square(G, out=G)
        w = np.ones(len(Y)) if weight is None else weight
        leverage = (G @ self._filters).astype(np.float64)
        leverage += self.problem.intercept
        leverage *= (w / self.problem.total.weight)[:, None]
        room = np.maximum(1.0 - leverage, 1e-12)
        outputs = Y.shape[1]
        fitted = fitted.reshape(len(Y), -1, outputs)
        residual = (Y - self.problem.mean_y)[:, None, :] - fitted
        self.errors[start] = (residual / room[:, :, None]) ** 2 @ self.problem.units
        self.weights[start] = w
