"""The system of a basis from sums over rows, for any alpha, and by fold.

.. math:: A = R'(S/W - m m')R, \\qquad b = R'(t/W - m \\bar y), \\qquad f(x) = h(x)'Rv + \\mu,
          \\quad \\mu = \\bar y - m'Rv

(without m and the mean of y if there is no intercept).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, Whitener
from mercer.contracts import Array, ErrorOf, Solution, Status
from mercer.moments import Moments, NormalEquations, Pass
from mercer.precision import hidden_directions
from mercer.systems.direct import DirectSystem
from mercer.systems.iterated import MatrixSystem
from mercer.systems.spectrum import RowMap


class MomentSystem(DirectSystem):
    """``(A + alpha) v = b``, with ``A = R'(S/W - m m')R`` and ``b = R'(t/W - m ybar)``.

    Parameters
    ----------
    folds : sequence of Moments
        The moments of each fold; a single one if there are no folds.
    basis : BasisTransformer
        The fitted basis.
    intercept : bool
        Whether to fit an intercept.
    units : array of shape (k,) or (k, k)
        Squared scale of each target column: errors are reported in the units of y. A diagonal
        matrix keeps those of the columns apart.
    cutoff : bool
        Whether alpha is an eigenvalue threshold instead of a penalty.
    again : Pass or None
        The rows, if they can be read again to leave some of them out.
    """

    offers = frozenset({"matrix", "steps"})

    def __init__(
        self,
        folds: Sequence[Moments],
        basis: BasisTransformer,
        intercept: bool,
        units: Array,
        cutoff: bool = False,
        again: Pass | None = None,
    ) -> None:
        self.folds, self.basis, self.intercept = folds, basis, intercept
        self.units, self.cutoff, self.again = units, cutoff, again

    @cached_property
    def whitener(self) -> Whitener:
        """The whitener R of the basis."""
        return self.basis.whitener()

    @cached_property
    def total(self) -> Moments:
        """The sum of the moments of all folds."""
        total = self.folds[0]
        for fold in self.folds[1:]:
            total = total + fold
        return total

    @cached_property
    def equations(self) -> NormalEquations:
        """(A, b) of all rows, in whitened coordinates."""
        return self.normal_equations(self.total)

    @property
    def A(self) -> Array:  # type: ignore[override]
        """The matrix of all rows."""
        return self.equations.A

    @property
    def b(self) -> Array:  # type: ignore[override]
        """The right-hand sides of all rows."""
        return self.equations.b

    @property
    def target_square(self) -> Array:
        """Mean square of y, centered with an intercept; shape (k,)."""
        return np.asarray(self.equations.target_square)

    @property
    def count(self) -> float:
        """The effective number of rows."""
        return float(self.equations.count)

    @property
    def weight(self) -> float:
        """The sum of the rows' weights."""
        return self.total.weight

    @property
    def mean_h(self) -> Array:
        """Mean of h, zeros without an intercept."""
        return np.asarray(self.equations.mean_h)

    @property
    def mean_y(self) -> Array:
        """Mean of y, zeros without an intercept."""
        return np.asarray(self.equations.mean_y)

    def coordinates_of(self, sums: Array) -> Array:
        """Return sums over rows, (M,) or (M, k), in the coordinates of the decomposition."""
        return self.decomposition.inward(self.whitener.vectors(sums))

    def functions_of(self, value: Array) -> Array:
        """Return what is given in the coordinates of the decomposition in the summed functions."""
        return self.whitener.coefficients(self.decomposition.outward(value))

    def row_map(self) -> RowMap:
        """Return the map of rows of summed functions to coordinates of the decomposition."""
        return self.decomposition.for_rows(self.whitener, self.basis.precision_)

    @cached_property
    def directions(self) -> Array:
        """``T = R U`` of shape (M, M): the eigenvectors of A in terms of the summed functions."""
        return self.whitener.coefficients(self.spectrum.vectors)

    def normal_equations(self, moments: Moments) -> NormalEquations:
        """Return (A, b) of the given moments, in whitened coordinates."""
        return moments.normal_equations(self.whitener, self.intercept)

    def coefficients(self, value: Array) -> tuple[Array, Array]:
        """Return coefficients (M, k) and intercept (k,) for a solution in whitened coordinates."""
        orthogonal = self.whitener.coefficients(value)
        mean_h, mean_y = self.total.means(self.intercept)
        return self.basis.coefficients(orthogonal), mean_y - mean_h @ orthogonal

    def hidden(self, solution: Solution) -> int:
        """Return how many directions are lost in float32 rounding; 0 if only a few."""
        if self.basis.precision_ != "float32" or solution.status is not Status.RANK_REDUCED:
            return 0
        return hidden_directions(self.spectrum.dropped, len(self.spectrum.values))

    def kept(self) -> dict[str, Any]:
        """Return what a fit stores to add rows or to resume."""
        return {"folds": list(self.folds)}

    # -- iterations

    def at(self, alpha: float) -> MatrixSystem:
        """Return the system of all rows for one alpha."""
        return self.iterated(self.equations, alpha)

    def training_error(self) -> ErrorOf:
        """Return a function that computes the error of a solution on all rows."""
        return self._error(self.total, self.equations)

    def held_out(
        self, rule: Any, alpha: float, rng: np.random.Generator, labels: Array | None
    ) -> tuple[list[tuple[MatrixSystem, ErrorOf]], None]:
        """Return, for each fold, the system without it and its held-out error."""
        found = []
        for fold in self.folds if rule.held_out is None else self.folds[-1:]:
            train = self.total - fold
            if fold.target_rows > 0 and train.target_rows > 0:  # labels on both sides
                part = self.normal_equations(train)
                found.append((self.iterated(part, alpha), self._error(fold, part)))
        return found, None

    def _error(self, moments: Moments, equations: NormalEquations) -> ErrorOf:
        def error(value: Array) -> float:
            c = self.whitener.coefficients(value)
            by_column = moments.squared_error(c, equations.intercept(c)) / moments.target_weight
            return float(by_column @ self.units)

        return error

    def iterated(self, equations: NormalEquations, alpha: float) -> MatrixSystem:
        """Return the system of normal equations; zero if all rows are equal.

        Centering then leaves only rounding in A and b, which a step of size 1 / ||A|| would blow
        up.
        """
        m = self.whitener.vectors(equations.mean_h)
        rounding = 8 * np.finfo(self.basis.precision_).eps * float(m @ m)
        empty = bool(np.trace(equations.A) <= rounding)
        A, b = equations.A, equations.b
        return MatrixSystem(A, np.zeros_like(b) if empty else b, alpha)
