"""Leave-one-out from a second pass, for a basis of M functions.

With eigendirections ``T = R U`` and ``g_i = T'(h(x_i) - m)``, the leverage of row i is

.. math:: \\ell_i(\\lambda) = \\frac{w_i}{W}\\Big(1 + \\sum_j \\frac{g_{ij}^2}{s_j + \\lambda}\\Big)

(without the 1 when there is no intercept): one product a row for all alphas together.

A whole query is left out likewise: with G the rows of ``g_i``, centered by query and times the
roots of their shares of the weight, residuals r become

.. math:: \\big(I - G\\, \\mathrm{diag}(s_j + \\lambda)^{-1} G'\\big)^{-1} r.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Rows
from mercer.moments import PairWeights, Workspace
from mercer.moments.queries import WHOLE
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


class QueryErrors:
    """Squared errors of queries left out, one query after another."""

    def __init__(
        self, basis: BasisTransformer, problem: PrimalProblem, alphas: Array, pairs: PairWeights
    ) -> None:
        spectrum = problem.spectrum
        kept = spectrum.values > 0
        self.basis, self.problem, self.pairs = basis, problem, pairs
        self._filters = [spectrum.filter(alpha)[kept] for alpha in alphas]
        self._beta = spectrum.beta[kept]
        self._directions = problem.directions[:, kept]
        self._open: dict[int, list[tuple[Rows, Array, Array]]] = {}  # parts of queries
        self._errors: list[Array] = []
        self._weights: list[float] = []

    def add(self, query: int, X: Rows, Y: Array, weight: Array | None) -> None:
        """Add rows of one query; its errors are computed when all of it is there."""
        parts = self._open.setdefault(query, [])
        parts.append((X, Y, np.ones(len(Y)) if weight is None else weight))
        if sum(float(w.sum()) for *_, w in parts) >= WHOLE * self.pairs.weight[query]:
            del self._open[query]
            stack = scipy.sparse.vstack if scipy.sparse.issparse(X) else np.vstack
            self._leave_out(
                stack([X for X, *_ in parts]),
                np.vstack([Y for _, Y, _ in parts]),
                np.concatenate([w for *_, w in parts]) * self.pairs.factor[query],
            )

    def _leave_out(self, X: Rows, Y: Array, weight: Array) -> None:
        total = float(weight.sum())
        root = np.sqrt(weight / self.problem.total.weight)[:, None]

        def centered(values: Array) -> Array:
            return np.asarray(root * (values - weight @ values / total))

        G = centered(self.basis.graded(X).astype(np.float64) @ self._directions)
        target = centered(Y)
        errors = np.empty(len(self._filters))
        for number, inverse in enumerate(self._filters):
            residual = target - G @ (inverse[:, None] * self._beta)
            if len(G) <= G.shape[1]:
                room = np.eye(len(G)) - (G * inverse) @ G.T
                left = np.linalg.solve(room, residual)
            else:  # the same by the matrix of directions, which is the smaller one
                used = inverse > 0
                room = np.diag(1.0 / inverse[used]) - G[:, used].T @ G[:, used]
                left = residual + G[:, used] @ np.linalg.solve(room, G[:, used].T @ residual)
            errors[number] = np.sum(left**2 @ self.problem.units)
        self._errors.append(errors * (self.problem.total.weight / total))
        self._weights.append(total)

    def found(self) -> tuple[Array, Array]:
        """Return mean squared errors (queries, alphas), and the weights of queries."""
        return np.array(self._errors), np.array(self._weights)


class RowScores:
    """Leverage of rows against the moments of all: ``g_i' (diag(s) + alpha)^-1 g_i``.

    An accumulator for one lane; see :mod:`mercer.sampling.leverage` for what it approximates.
    """

    def __init__(self, basis: BasisTransformer, directions: Array, inverse: Array) -> None:
        precision = basis.precision_
        self.basis = basis
        self.scores: dict[int, Array] = {}
        self._directions = (directions * np.sqrt(inverse)).astype(precision)
        self._workspace = Workspace(basis.size, precision)

    def add(self, start: int, X: Rows) -> None:
        """Score the rows of a block."""
        rows = X.shape[0]
        H = self.basis.graded(X, self._workspace.block(0, rows), self._workspace.block(1, rows))
        G = H @ self._directions
        self.scores[start] = np.einsum("ij,ij->i", G, G, dtype=np.float64)
