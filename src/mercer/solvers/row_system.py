"""The ridge system of a basis by products alone, and what preconditions it.

.. math:: (S/W - m m' + \\lambda \\Gamma)\\, c = t/W - m \\bar y

The preconditioner is the same matrix for a sample of n' rows, with a larger penalty,

.. math:: \\lambda' = \\lambda + \\frac{\\overline{K(x, x)}}{4 n'}:

in directions that the sample has not seen, what a row adds to S/W is of that order. For landmarks
the sample is the landmarks themselves, as in FALKON (Rudi, Carratino and Rosasco, 2017): S is then
Gamma squared, and the inverse that of two commuting factors,

.. math:: \\Big(\\frac{\\Gamma^2}{M} + \\lambda' \\Gamma\\Big)^{-1}
          = \\Gamma^{-1} \\Big(\\frac{\\Gamma}{M} + \\lambda' I\\Big)^{-1}
          = L^{-T} \\Big(\\frac{L'L}{M} + \\lambda' I\\Big)^{-1} L^{-1}, \\qquad \\Gamma = LL'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from mercer.contracts import Array, Rows
from mercer.moments.products import RowProducts, padded_columns
from mercer.validation import check_total_weight

#: Functions up to which the preconditioner is factored in float64.
WIDE = 8000
#: Pivots of Gamma, relative to the largest, above which it is inverted as it is.
COMMUTING = 1e-7
#: Rows of the sample, and of the Gram matrix, taken at a time.
BLOCK = 1024
#: Share of K(x, x) / n' that is added to the penalty of the sample.
UNSEEN = 0.25


class RowSystem:
    """Products with rows and the penalty, for one alpha; see the module.

    Parameters
    ----------
    products : RowProducts
        The sums over rows.
    alpha : float
        The penalty.
    intercept : bool
        Whether a constant is fitted.
    precondition : callable
        R -> P^-1 R.
    """

    def __init__(
        self, products: RowProducts, alpha: float, intercept: bool, preconditioner: Any
    ) -> None:
        check_total_weight(products.weight)
        self.products, self.basis, self.alpha = products, products.basis, alpha
        outputs = products.cross.shape[1]
        weight = products.weight
        self.mean_h = products.sum_h / weight if intercept else np.zeros(len(products.sum_h))
        self.mean_y = products.sum_y / weight if intercept else np.zeros(outputs)
        self.b = products.cross / weight - np.outer(self.mean_h, self.mean_y)
        self.precondition = preconditioner
        # Where there is room for the values of all rows, there is for those of the landmarks.
        self._gram = self.basis.fast_gram() if products.kept is not None else None

    @property
    def mixed(self) -> bool:
        """Whether fast products are coarser than exact ones."""
        return bool(self.basis.precision_ == "float32")

    def product(self, V: Array, exact: bool) -> Array:
        """Return the system times V."""
        image = self.products.product(V, exact) / self.products.weight
        image -= np.outer(self.mean_h, self.mean_h @ V)
        if self.alpha:
            if exact or self._gram is None:
                image += self.alpha * self.basis.penalty(V, exact)
            else:
                image += self.alpha * (self._gram @ V.astype(self._gram.dtype))
        return np.asarray(image)

    def intercept(self, coefficients: Array) -> Array:
        """Return the constant that goes with coefficients of h; shape (k,)."""
        return np.asarray(self.mean_y - self.mean_h @ coefficients)


class SamplePreconditioner:
    """``P = S'/W' - m'm'' + lambda' Gamma`` of a sample of rows, factored in graded coordinates.

    Parameters
    ----------
    basis : BasisTransformer
        The functions.
    X : rows
        The sample.
    weight : array or None
        Its weights.
    alpha : float
        The penalty of the system.
    intercept : bool
        Whether a constant is fitted.
    whole : bool
        Whether the sample is all rows: then P is the system itself.
    attempts : int
        How often to try a Cholesky factorization, each time with more added.

    Attributes
    ----------
    factor : array of shape (M, M) or None
        The Cholesky factor in its lower triangle; None where all attempts failed.
    """

    def __init__(
        self,
        basis: Any,
        X: Rows,
        weight: Array | None,
        alpha: float,
        intercept: bool,
        whole: bool,
        attempts: int = 12,
    ) -> None:
        self.basis = basis
        n_rows = X.shape[0]
        total = float(n_rows if weight is None else weight.sum())
        S, sum_h = _sample_moments(basis, X, weight)
        unseen = UNSEEN * float(np.mean(basis.kernel_.diag(X[:BLOCK]))) / n_rows
        penalty = alpha + (0.0 if whole else unseen)
        P = S.astype(np.float64 if basis.size <= WIDE else np.float32, copy=False)
        mean = sum_h / total if intercept else np.zeros_like(sum_h)
        self.factor = _factored(basis, P, total, mean, penalty, attempts)

    def __call__(self, R: Array) -> Array:
        """Return ``P^-1 R``."""
        assert self.factor is not None
        solve = lapack.dpotrs if self.factor.dtype == np.float64 else lapack.spotrs
        found, _ = solve(self.factor, self.basis.vectors(R).astype(self.factor.dtype), lower=1)
        return np.asarray(self.basis.coefficients(np.asarray(found, dtype=np.float64)))


class LandmarkPreconditioner:
    """``P = Gamma^2 / M + lambda' Gamma``: the sample is the landmarks.

    Parameters
    ----------
    basis : Landmarks
        The functions.
    alpha : float
        The penalty of the system.

    Attributes
    ----------
    factor : array of shape (M, M) or None
        The Cholesky factor of Gamma; None where there is none, to rounding.
    """

    def __init__(self, basis: Any, alpha: float) -> None:
        gram = basis.gram().T  # symmetric, and this way in the order of LAPACK: no copy is made
        size = len(gram)
        penalty = alpha + UNSEEN * float(np.mean(gram.diagonal())) / size
        factor, info = lapack.dpotrf(gram, lower=1, clean=1)
        self.factor = factor if info == 0 else None
        if info != 0:
            return
        pivots = factor.diagonal() ** 2
        # Rounding breaks the symmetry of commuting factors, and Gamma^-1 magnifies that.
        self._commuting = bool(pivots.min() > COMMUTING * pivots.max())
        inner = gram if self._commuting else factor.T @ factor
        inner /= size
        np.einsum("ii->i", inner)[...] += penalty
        self._inner, _ = lapack.dpotrf(np.asfortranarray(inner), lower=1, overwrite_a=1, clean=0)

    def __call__(self, R: Array) -> Array:
        """Return ``P^-1 R``."""
        assert self.factor is not None
        outputs = R.shape[1]
        padded = np.zeros((len(R), padded_columns(outputs)), order="F")
        padded[:, :outputs] = R
        if self._commuting:
            found, _ = lapack.dpotrs(self._inner, padded, lower=1, overwrite_b=1)
            found, _ = lapack.dpotrs(self.factor, found, lower=1, overwrite_b=1)
            return np.asarray(found[:, :outputs])
        white = solve_triangular(self.factor, padded, lower=True, check_finite=False)
        white, _ = lapack.dpotrs(self._inner, white, lower=1, overwrite_b=1)
        found = solve_triangular(self.factor, white, lower=True, trans="T", check_finite=False)
        return np.asarray(found[:, :outputs])


def _sample_moments(basis: Any, X: Rows, weight: Array | None) -> tuple[Array, Array]:
    """Return S (its lower triangle, in the precision of blocks) and the sum of h, both graded."""
    single = basis.precision_ == "float32"
    syrk = blas.ssyrk if single else blas.dsyrk
    S = np.zeros((basis.size, basis.size), dtype=basis.precision_, order="F")
    sum_h = np.zeros(basis.size)
    for start in range(0, X.shape[0], BLOCK):
        H = basis.graded(X[start : start + BLOCK])
        if weight is not None:
            root = np.sqrt(weight[start : start + BLOCK])[:, None]
            H *= root
            sum_h += H.T.astype(np.float64) @ root[:, 0]
        else:
            sum_h += H.sum(axis=0, dtype=np.float64)
        S = syrk(1.0, H.T, beta=1.0, c=S, lower=1, overwrite_c=1)
    return S, sum_h


def _factored(
    basis: Any, S: Array, total: float, mean: Array, penalty: float, attempts: int
) -> Array | None:
    """Return the Cholesky factor of ``S / total - mean mean' + penalty Gamma``.

    More is added where rounding asks for it; S is used up by the last attempt.
    """
    factorize = lapack.dpotrf if S.dtype == np.float64 else lapack.spotrf
    for attempt in range(attempts):
        P = S if attempt == attempts - 1 else S.copy(order="F")
        upper = P.T  # in rows that are contiguous; the other triangle is never looked at
        for start in range(0, len(P), BLOCK):
            rows, rest = slice(start, start + BLOCK), slice(start, None)
            upper[rows, rest] /= upper.dtype.type(total)
            upper[rows, rest] -= np.outer(mean[rows], mean[rest])
            upper[rows, rest] += (penalty * 4**attempt) * basis.graded_gram(rows)
        if attempt:
            # Functions that depend on others have no penalty of their own either.
            diagonal = np.einsum("ii->i", P)
            diagonal += diagonal * (np.finfo(P.dtype).eps * 10 ** (attempt - 1))
        factor, info = factorize(P, lower=1, overwrite_a=1, clean=0)
        if info == 0:
            return np.asarray(factor)
    return None
