"""Bases whose functions are nearly dependent, and are summed in graded form."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mercer.bases.base import BasisTransformer
from mercer.bases.grading import (
    CUT,
    Grading,
    leading_order,
    ordered_cholesky,
    trusted_precision,
)
from mercer.bases.whitening import Whitener
from mercer.contracts import Array, BlockKernel, Precision, Rows
from mercer.kernels.base import dense
from mercer.validation import MercerWarning, check_array, check_count, check_overflow


class GradedBasis(BasisTransformer):
    """Functions made of ``K(z, .)`` at fixed points z, with a Gram matrix ``Gamma = L L'``.

    What is summed over rows are the graded functions of the same span (see
    :mod:`mercer.bases.grading`). Subclasses name the points and define ``evaluate`` and ``gram``.
    """

    #: The attribute that holds the points.
    _points: str
    factor_: Array
    indices_: Array | None
    n_dropped_: int
    _block: BlockKernel

    @staticmethod
    def _warn_if_reduced(asked: int | None, n_rows: int) -> None:
        if asked is not None and asked > n_rows:
            warnings.warn(
                f"n_components={asked} is more than the {n_rows} rows: reduced to {n_rows}. Lower "
                f"n_components, or leave it None",
                MercerWarning,
                stacklevel=3,
            )

    def _factorize(
        self, gram: Array, precision: Precision, may_widen: bool
    ) -> tuple[Array, Precision]:
        """Factor Gamma; return the order of the functions that are kept, and the precision."""
        check_overflow(gram, "float64")
        cut = CUT["float64" if may_widen else precision]
        self.factor_, order = ordered_cholesky(gram, cut)
        self.n_dropped_ = len(gram) - len(order)
        if may_widen:
            precision = trusted_precision(self.factor_, precision)
        return order, precision

    def check_state(self, n_features: int) -> None:
        """Refuse points that are not rows of ``n_features`` columns, by their indices."""
        super().check_state(n_features)
        check_count(self.n_dropped_, "n_dropped", minimum=0)
        name, precomputed = self._points.rstrip("_"), self.kernel_.pairwise
        points = check_array(getattr(self, self._points), name, (None, None))
        if points.shape[1] != (len(points) if precomputed else n_features) or not len(points):
            columns = "a column each" if precomputed else f"{n_features} columns"
            raise ValueError(f"{name} must have {columns}, got shape {points.shape}")
        if self.indices_ is not None:
            check_array(self.indices_, "indices", (len(points),), "iu")
            if self.indices_.min() < 0 or (precomputed and self.indices_.max() >= n_features):
                raise ValueError(f"indices of {name} must be those of rows")
        elif precomputed:
            raise ValueError(f"{name} of a precomputed kernel must have indices")

    def restore_factor(self, factor: Any) -> None:
        """Take a lower triangular matrix with a positive diagonal."""
        check_array(factor, "the factor", (self.size, self.size))
        if np.any(np.triu(factor, 1)) or np.any(np.diagonal(factor) <= 0):
            raise ValueError("the factor must be lower triangular with a positive diagonal")
        self.factor_ = factor

    def bind(self) -> None:
        """Prepare K(., z), and the grading."""
        points = dense(getattr(self, self._points))
        setattr(self, self._points, points)
        self._block = self.kernel_.against(points, self.precision_)
        self.__dict__.pop("_cached_grading", None)

    def _factorize_leading(self, diagonal: Array, column_of: Callable[[int], Array]) -> Array:
        """Factor as much of Gamma as grading needs; return the order of the functions."""
        self.factor_, order = leading_order(diagonal, column_of, CUT["float64"])
        self.n_dropped_ = 0
        return order

    @property
    def _grading(self) -> Grading:
        found: Grading | None = self.__dict__.get("_cached_grading")
        if found is None:
            found = self._cached_grading = Grading(self.factor_, self.precision_)
        return found

    def graded(self, X: Rows, out: Array | None = None, spare: Array | None = None) -> Array:
        """Return the values of graded functions (see :mod:`mercer.bases.grading`)."""
        return self._grading.apply(self.evaluate(X, out), spare)

    def whitener(self) -> Whitener:
        """Return the whitener of the graded functions."""
        return self._grading.whitener()

    def coefficients(self, graded: Array) -> Array:
        """Return coefficients of h for coefficients of the graded functions."""
        return self._grading.coefficients(graded)

    def widen(self) -> None:
        """Evaluate in float64 from now on."""
        self.precision_ = "float64"
        self.bind()

    def vectors(self, t: Array) -> Array:
        """Return sums of the graded functions for sums t of h."""
        return self._grading.vectors(t)

    def graded_gram(self, rows: slice) -> Array:
        """Return rows of the Gram matrix of the graded functions, from ``rows.start`` on."""
        return self._grading.gram_block(self.factor_[rows] @ self.factor_[rows.start :].T, rows)

    def penalty(self, c: Array, exact: bool = False) -> Array:
        """Return ``Gamma c``, from ``Gamma = L L'``."""
        return np.asarray(self.factor_ @ (self.factor_.T @ c))

    def without_whitener(self) -> Self:
        """Return a copy with only those columns of L that grading needs."""
        leading = self._grading.leading
        if not 0 < leading < len(self.factor_):
            return self
        found = copy.copy(self)
        found.factor_ = np.ascontiguousarray(self.factor_[:, :leading])
        found.__dict__.pop("_cached_grading", None)
        return found

    def __getstate__(self) -> dict[str, Any]:
        # These are cheap to rebuild, and the block kernel holds closures.
        state = dict(super().__getstate__())
        state.pop("_block", None)
        state.pop("_cached_grading", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._points in state:
            self.bind()
