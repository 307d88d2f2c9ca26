"""Preconditioners for a solve by products: the same problem on a sample of n' rows.

.. math:: P = \\frac{S'}{W'} - m'm'^\\top + \\lambda' \\Gamma, \\qquad
          \\lambda' = \\lambda + \\frac{\\overline{K(x, x)}}{10 n'}:

in directions missing from the sample, one row contributes about that much to S/W. Landmarks are
rows of the sample themselves, as in FALKON (Rudi, Carratino and Rosasco, 2017): their part of S' is
Gamma squared. With values H of more rows,

.. math:: \\Big(\\frac{\\Gamma^2 + H'H}{n'} + \\lambda' \\Gamma\\Big)^{-1}
          = L^{-T} \\Big(\\frac{L'L + L^{-1} H'H L^{-T}}{n'} + \\lambda' I\\Big)^{-1} L^{-1},
          \\qquad \\Gamma = LL',

where all eigenvalues of the matrix in parentheses are at least lambda', so that float32 is enough.
"""

from __future__ import annotations

import copy

import numpy as np
import scipy.sparse
from scipy.linalg import blas, lapack

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Precision, Reading, Rows, Targets
from mercer.engines.memory import large_array
from mercer.kernels import Kernel
from mercer.moments.products import padded_columns
from mercer.rows.labels import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import uniform_indices

#: Up to this many functions, the preconditioner is factored in float64.
WIDE = 8000
#: If all pivots of Gamma, relative to the largest, are above this, float32 factors it.
COARSE = 1e-5
#: If all pivots of Gamma, relative to the largest, are above this, values of other rows are
#: whitened; smaller ones magnify their rounding.
WHITENED = 1e-7
#: Rows at which values of both precisions are compared.
COMPARED = 64
#: Rows of the sample, and of the Gram matrix, processed at a time.
BLOCK = 1024
#: Share of K(x, x) / n' that is added to the penalty of the sample; ten times as much, up to so
#: many times, where rounding leaves its matrix without a Cholesky factor.
UNSEEN, ATTEMPTS = 0.1, 6


class SamplePreconditioner:
    """``P = S'/W' - m'm'' + lambda' Gamma`` of a sample, in orthogonalized coordinates.

    Parameters
    ----------
    basis : BasisTransformer
        The fitted basis.
    X : rows
        The sampled rows.
    weight : array or None
        Weights of the sampled rows.
    alpha : float
        The penalty of the system.
    intercept : bool
        Whether to fit an intercept.
    whole : bool
        Whether the sample contains all rows, so that P is the system itself.
    attempts : int
        How often to try a Cholesky factorization, each time with a larger diagonal shift.

    Attributes
    ----------
    factor : array of shape (M, M) or None
        The Cholesky factor in its lower triangle; None if all attempts failed.
    weakest : float
        ``lambda / lambda'``: what P^-1 makes of the system where S' and S have nothing.
    rounding : float
        The root mean square rounding of values, at some rows.
    """

    def __init__(
        self,
        basis: BasisTransformer,
        X: Rows,
        weight: Array | None,
        alpha: float,
        intercept: bool,
        whole: bool,
        attempts: int = 12,
    ) -> None:
        self.basis, self.rounding = basis, value_rounding(basis, X[:COMPARED])
        n_rows = X.shape[0]
        total = float(n_rows if weight is None else weight.sum())
        S, sum_h = _sample_moments(basis, X, weight)
        unseen = UNSEEN * float(np.mean(basis.kernel_.diag(X[:BLOCK]))) / n_rows
        penalty = alpha + (0.0 if whole else unseen)
        P = S.astype(np.float64 if basis.size <= WIDE else np.float32, copy=False)
        mean = sum_h / total if intercept else np.zeros_like(sum_h)
        self.factor, penalty = _factored(basis, P, total, mean, penalty, attempts)
        self.weakest = alpha / penalty if penalty else 1.0

    def __call__(self, R: Array) -> Array:
        """Return ``P^-1 R``."""
        assert self.factor is not None
        solve = lapack.dpotrs if self.factor.dtype == np.float64 else lapack.spotrs
        found, _ = solve(self.factor, self.basis.vectors(R).astype(self.factor.dtype), lower=1)
        return np.asarray(self.basis.coefficients(np.asarray(found, dtype=np.float64)))


class LandmarkPreconditioner:
    """``P = (Gamma^2 + H'H) / n' - m'm'' + lambda' Gamma``: the landmarks and n' - M more rows.

    Parameters
    ----------
    basis : Landmarks
        The fitted basis.
    alpha : float
        The penalty of the system.
    intercept : bool
        Whether to fit an intercept: only then is the mean m' subtracted.
    X, weight : rows and array, or None
        More sampled rows and their weights.
    attempts : int
        How often to try a Cholesky factorization, each time with a larger diagonal shift.

    Attributes
    ----------
    factor : array of shape (M, M) or None
        The Cholesky factor of Gamma; None if all attempts failed.
    weakest : float
        ``lambda / lambda'``: what P^-1 makes of the system where S' and S have nothing.
    rounding : float
        The root mean square rounding of values, at some rows.
    """

    def __init__(
        self,
        basis: Landmarks,
        alpha: float,
        intercept: bool,
        attempts: int = 1,
        X: Rows | None = None,
        weight: Array | None = None,
    ) -> None:
        self.factor: Array | None = None
        if basis.precision_ == "float32":
            self.factor = _coarse_factor(basis)
        if self.factor is None:
            # Symmetric, and in Fortran order, so LAPACK makes no copy.
            self.factor = _shifted_factor(basis.gram().T, attempts)
        if self.factor is None:
            return
        factorize = lapack.spotrf if self.factor.dtype == np.float32 else lapack.dpotrf
        for attempt in range(ATTEMPTS):  # coarse sums may hide what alpha and one row add
            inner = self._inner_matrix(basis, alpha, intercept, X, weight, 10**attempt)
            inner, info = factorize(inner, lower=1, overwrite_a=1, clean=0)
            if info == 0:
                break
        else:
            self.factor = None
            return
        points = None if basis.kernel_.pairwise else basis.landmarks_[:: -(-basis.size // COMPARED)]
        self.rounding = value_rounding(basis, points)
        # Factors may be coarse, but P must be the same matrix whenever it is applied.
        self._inner, self.factor = _widened(inner), _widened(self.factor)

    def _inner_matrix(
        self,
        basis: BasisTransformer,
        alpha: float,
        intercept: bool,
        X: Rows | None,
        weight: Array | None,
        unseen: float,
    ) -> Array:
        """Return ``(L'L + L^-1 H'H L^-T) / n' - m'm'' + lambda' I`` in its lower triangle."""
        assert self.factor is not None
        single = self.factor.dtype == np.float32
        square, rank_one = (lapack.slauum, blas.ssyr) if single else (lapack.dlauum, blas.dsyr)
        inner, _ = square(self.factor, lower=1)
        number = size = len(self.factor)
        trace = float(np.trace(inner, dtype=np.float64)) / size  # the mean of K(z, z)
        total = self.factor.sum(axis=0)  # L^-1 h of the landmarks are the rows of L
        pivots = self.factor.diagonal() ** 2
        if X is not None and pivots.min() > WHITENED * pivots.max():
            inner, more = self._with_rows(inner, basis, X, weight)
            total += more
            number += X.shape[0]
        inner /= number
        if intercept:  # or the constants, which A does not see, would take many steps to leave out
            inner = rank_one(-1.0, total / number, a=inner, lower=1, overwrite_a=1)
        penalty = alpha + unseen * UNSEEN * trace / number
        self.weakest = alpha / penalty
        np.einsum("ii->i", inner)[...] += penalty
        return np.asarray(inner)

    def _with_rows(
        self, inner: Array, basis: BasisTransformer, X: Rows, weight: Array | None
    ) -> tuple[Array, Array]:
        """Add ``L^-1 H'H L^-T`` to the lower triangle of a matrix; return also ``L^-1 H'1``."""
        assert self.factor is not None
        syrk, solve = blas.dsyrk, lapack.dtrtrs
        if self.factor.dtype == np.float32:
            syrk, solve = blas.ssyrk, lapack.strtrs
        roots = None if weight is None else np.sqrt(weight / weight.mean())[:, None]
        total = np.zeros(len(inner), dtype=inner.dtype)
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            H = basis.evaluate(X[rows]).astype(self.factor.dtype, copy=False)
            if roots is not None:
                H *= roots[rows]
            white, _ = solve(self.factor, H.T, lower=1, overwrite_b=1)
            total += white.sum(axis=1) if roots is None else white @ roots[rows, 0]
            inner = syrk(1.0, white, beta=1.0, c=inner, lower=1, overwrite_c=1)
        return np.asarray(inner), total

    def __call__(self, R: Array) -> Array:
        """Return ``P^-1 R``."""
        assert self.factor is not None
        outputs = R.shape[1]
        padded = np.zeros((len(R), padded_columns(outputs)), order="F")
        padded[:, :outputs] = R
        white, _ = lapack.dtrtrs(self.factor, padded, lower=1, overwrite_b=1)
        white, _ = lapack.dpotrs(self._inner, white, lower=1, overwrite_b=1)
        found, _ = lapack.dtrtrs(self.factor, white, lower=1, trans=1, overwrite_b=1)
        return np.asarray(found[:, :outputs])


def value_rounding(basis: BasisTransformer, X: Rows | None) -> float:
    """Return the root mean square rounding of ``h_j(x)`` in the precision of the basis.

    That of float32 is measured, if there are rows, and float64 has as many units in the last place.
    """
    eps: dict[Precision, float] = {"float32": 2.0**-23, "float64": 2.0**-52}
    units = 1.0 / np.sqrt(12)
    if X is not None:
        values = []
        for name in eps:
            same = copy.copy(basis)
            same.precision_ = name
            same.bind()
            values.append(same.evaluate(X))
        units = float(np.sqrt(np.mean((values[1] - values[0]) ** 2))) / eps["float32"]
    found = float(units * eps[basis.precision_])
    if isinstance(basis, Landmarks):  # far from each other, they are rounded more
        found = max(found, float64_rounding(basis.kernel_, basis.landmarks_))
    return found


def float64_rounding(kernel: Kernel, X: Rows) -> float:
    """Return the root mean square rounding of ``K(x, z)`` in float64, at some pairs of rows.

    ``K(x, z)`` and ``K(z, x)`` differ by it: distances are taken from the mean of the points, and
    their rounding grows with the distances from there.
    """
    least = float(np.finfo(np.float64).eps)
    if kernel.pairwise:
        return least
    step = max(1, X.shape[0] // (4 * COMPARED))
    many, few = X[::step], X[:: 4 * step]
    difference = kernel.against(many)(few) - kernel.against(few)(many).T
    return max(least, float(np.sqrt(np.mean(difference**2) / 2)))


def _widened(matrix: Array) -> Array:
    """Return a matrix in float64 and Fortran order."""
    if matrix.dtype == np.float64:
        return np.asfortranarray(matrix)
    wide = large_array((len(matrix), len(matrix)), "float64")
    wide[...] = matrix.T
    return wide.T


def _coarse_factor(basis: Landmarks) -> Array | None:
    """Return the Cholesky factor of Gamma in float32, or None if that is too coarse."""
    factor, info = lapack.spotrf(basis.fast_gram().T, lower=1, overwrite_a=1, clean=1)
    pivots = factor.diagonal() ** 2
    if info == 0 and pivots.min() > COARSE * pivots.max():
        return np.asarray(factor)
    return None


def _shifted_factor(gram: Array, attempts: int) -> Array | None:
    """Return the Cholesky factor of Gamma in float64, if need be with a larger diagonal."""
    diagonal = gram.diagonal().copy()
    for attempt in range(attempts):
        if attempt:  # any positive definite P will do: it costs steps, not accuracy
            shift = len(gram) * np.finfo(np.float64).eps * 10**attempt
            np.einsum("ii->i", gram)[...] = diagonal * (1.0 + shift)
        factor, info = lapack.dpotrf(gram, lower=1, clean=1)
        if info == 0:
            return np.asarray(factor)
    return None


def _sample_moments(basis: BasisTransformer, X: Rows, weight: Array | None) -> tuple[Array, Array]:
    """Return the lower triangle of S and the sum of h, both of orthogonalized functions."""
    single = basis.precision_ == "float32"
    syrk = blas.ssyrk if single else blas.dsyrk
    S = np.zeros((basis.size, basis.size), dtype=basis.precision_, order="F")
    sum_h = np.zeros(basis.size)
    for start in range(0, X.shape[0], BLOCK):
        H = basis.orthogonalized(X[start : start + BLOCK])
        if weight is not None:
            root = np.sqrt(weight[start : start + BLOCK])[:, None]
            H *= root
            sum_h += H.T.astype(np.float64) @ root[:, 0]
        else:
            sum_h += H.sum(axis=0, dtype=np.float64)
        S = syrk(1.0, H.T, beta=1.0, c=S, lower=1, overwrite_c=1)
    return S, sum_h


def _factored(
    basis: BasisTransformer, S: Array, total: float, mean: Array, penalty: float, attempts: int
) -> tuple[Array | None, float]:
    """Return the Cholesky factor of ``S / total - mean mean' + penalty Gamma``, and the penalty.

    The diagonal shift grows if rounding requires it; the last attempt overwrites S.
    """
    factorize = lapack.dpotrf if S.dtype == np.float64 else lapack.spotrf
    for attempt in range(attempts):
        used = penalty * 4**attempt
        P = S if attempt == attempts - 1 else S.copy(order="F")
        upper = P.T  # contiguous rows; the other triangle is never read
        for start in range(0, len(P), BLOCK):
            rows, rest = slice(start, start + BLOCK), slice(start, None)
            upper[rows, rest] /= upper.dtype.type(total)
            upper[rows, rest] -= np.outer(mean[rows], mean[rest])
            upper[rows, rest] += used * basis.orthogonalized_gram(rows)
        if attempt:
            # Dependent functions have no penalty of their own either.
            diagonal = np.einsum("ii->i", P)
            diagonal += diagonal * (np.finfo(P.dtype).eps * 10 ** (attempt - 1))
        factor, info = factorize(P, lower=1, overwrite_a=1, clean=0)
        if info == 0:
            return np.asarray(factor), used
    return None, penalty


def sample_rows(
    rows: RowSet, targets: Targets, reading: Reading, number: int, rng: np.random.Generator
) -> tuple[Rows, Array | None]:
    """Return a sample of all rows, with their weights (None: equal weights)."""
    wanted = rows.split_indices(uniform_indices(rows.n_rows, number, rng))
    parts = rows.map(sample_of, targets, reading, wanted, label="sample", record="sample")
    sampled = [X for X, _ in parts if X is not None]
    weights = [weight for _, weight in parts if weight is not None]
    weight = np.concatenate(weights) if weights else None
    if weight is not None and not weight.sum() > 0:
        weight = None  # the few rows with weight are not in the sample
    stack = scipy.sparse.vstack if scipy.sparse.issparse(sampled[0]) else np.vstack
    return stack(sampled), weight


def sample_of(
    shard: Shard, targets: Targets, reading: Reading, wanted: dict[int, Array]
) -> tuple[Rows | None, Array | None]:
    """Task: return the given rows of a shard, with their weights."""
    chosen = wanted.get(shard.number)
    if chosen is None:
        return None, None
    rows, weights = [], []
    with shard.naming():
        for block, _ in checked_blocks(shard.source, targets, reading.block_rows):
            low, high = np.searchsorted(chosen, [block.start, block.start + block.n_rows])
            at = chosen[low:high] - block.start
            rows.append(block.X[at])
            if block.weight is not None:
                weights.append(block.weight[at])
    stack = scipy.sparse.vstack if scipy.sparse.issparse(rows[0]) else np.vstack
    return stack(rows), np.concatenate(weights) if weights else None
