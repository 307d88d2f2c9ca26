"""Slow and obvious: the formulas as they are written, against which the library is tested.

Kernels take two rows. Solvers take whole matrices. Nothing here is clever, and nothing here
imports the library.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan2, cos, exp, pi, prod, sin, sqrt
from typing import Any

import mpmath
import numpy as np
import scipy.linalg

Array = np.ndarray

# -- kernels of two rows ---------------------------------------------------------------------------


def gaussian(x: Array, z: Array, bandwidth: Any = 1.0) -> float:
    """exp(-||(x - z) / bandwidth||^2 / 2)"""
    return exp(-float(np.sum(((x - z) / bandwidth) ** 2)) / 2)


def laplacian_l1(x: Array, z: Array, bandwidth: Any = 1.0) -> float:
    """exp(-||(x - z) / bandwidth||_1)"""
    return exp(-float(np.sum(np.abs((x - z) / bandwidth))))


def laplacian_l2(x: Array, z: Array, bandwidth: Any = 1.0) -> float:
    """exp(-||(x - z) / bandwidth||_2)"""
    return exp(-sqrt(float(np.sum(((x - z) / bandwidth) ** 2))))


def matern(x: Array, z: Array, nu: float = 1.5, bandwidth: Any = 1.0) -> float:
    """The Matern kernel of smoothness 1/2, 3/2 or 5/2."""
    r = sqrt(float(np.sum(((x - z) / bandwidth) ** 2)))
    if nu == 0.5:
        return exp(-r)
    if nu == 1.5:
        return (1 + sqrt(3) * r) * exp(-sqrt(3) * r)
    if nu == 2.5:
        return (1 + sqrt(5) * r + 5 * r**2 / 3) * exp(-sqrt(5) * r)
    raise ValueError(nu)


def linear(x: Array, z: Array) -> float:
    """x'z"""
    return sum(float(a) * float(b) for a, b in zip(x, z, strict=True))


def polynomial(
    x: Array, z: Array, degree: int = 3, gamma: float | None = None, offset: float = 1.0
) -> float:
    """(gamma x'z + offset)^degree"""
    gamma = 1 / len(x) if gamma is None else gamma
    return (gamma * linear(x, z) + offset) ** degree


def cosine(x: Array, z: Array) -> float:
    """x'z / (||x|| ||z||), 0 for rows of zeros"""
    lengths = sqrt(linear(x, x)) * sqrt(linear(z, z))
    return linear(x, z) / lengths if lengths > 0 else 0.0


def chi_squared(x: Array, z: Array, bandwidth: float = 1.0) -> float:
    """exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) / bandwidth), without columns that are both 0"""
    terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
    return exp(-float(sum(terms)) / bandwidth)


def arc_cosine(x: Array, z: Array, order: int = 1) -> float:
    """The closed forms of Cho and Saul for threshold (0) and rectified (1) units."""
    lengths = sqrt(linear(x, x)) * sqrt(linear(z, z))
    angle = pi / 2
    if lengths > 0:
        u, v = x / sqrt(linear(x, x)), z / sqrt(linear(z, z))
        # Kahan's formula, accurate for rows that are almost parallel, where acos is not.
        angle = 2 * atan2(sqrt(linear(u - v, u - v)), sqrt(linear(u + v, u + v)))
    if order == 0:
        return 1 - angle / pi
    return lengths * (sin(angle) + (pi - angle) * cos(angle)) / pi


def periodic_spline(x: Array, z: Array, order: float = 2.0, terms: int = 2000) -> float:
    """The product over columns of 1 + 2 sum_k cos(2 pi k (x - z)) / k^order."""
    k = np.arange(1, terms + 1, dtype=float)
    series = [1 + 2 * np.sum(np.cos(2 * pi * k * t) / k**order) for t in (x - z)]
    return float(np.prod(series))


def sobolev(x: Array, z: Array) -> float:
    """The product over columns of 1 + min(x, z)."""
    return prod(1 + min(float(a), float(b)) for a, b in zip(x, z, strict=True))


def matrix(kernel: Callable[[Array, Array], float], X: Array, Z: Array | None = None) -> Array:
    """K(X, Z), a pair at a time."""
    Z = X if Z is None else Z
    return np.array([[kernel(x, z) for z in Z] for x in X])


# -- sketches --------------------------------------------------------------------------------------


def hadamard_matrix(n: int) -> Array:
    """The first n columns of the orthogonal Hadamard matrix of the next power of two."""
    size = 1
    while size < n:
        size *= 2
    return scipy.linalg.hadamard(size)[:, :n] / sqrt(size)


def cosine_matrix(n: int) -> Array:
    """The orthonormal matrix of discrete cosines (DCT-II), a cosine at a time."""
    Q = np.empty((n, n))
    for r in range(n):
        for column in range(n):
            Q[r, column] = sqrt((1 if r == 0 else 2) / n) * cos(pi * r * (2 * column + 1) / (2 * n))
    return Q


def orthogonal_sketch(Q: Array, signs: Array, rows: Array, drawn: int) -> Array:
    """sqrt(N / M) P Q diag(signs): some rows of an orthogonal matrix, with random signs."""
    return sqrt(len(Q) / drawn) * Q[rows] @ np.diag(signs.astype(float))


# -- least squares ---------------------------------------------------------------------------------


def dual_ridge(
    K: Array, Y: Array, weight: Array, alpha: float, intercept: bool
) -> tuple[Array, Array]:
    """Solve the bordered system of kernel ridge regression; return (n, k) and (k,).

    [ K + alpha W diag(1/w)   1 ] [a]   [y]
    [ 1'                      0 ] [b] = [0]
    """
    n, k = Y.shape
    regular = K + alpha * weight.sum() * np.diag(1 / weight)
    if not intercept:
        return np.linalg.solve(regular, Y), np.zeros(k)
    ones = np.ones((n, 1))
    system = np.block([[regular, ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([Y, np.zeros((1, k))]))
    return solved[:-1], solved[-1]


def primal_ridge(
    H: Array, Gamma: Array, Y: Array, weight: Array, alpha: float, intercept: bool
) -> tuple[Array, Array]:
    """Minimize sum_i w_i (h_i'c + b - y_i)^2 / W + alpha c'Gamma c; return c (M, k) and b (k,).

    As one ordinary least-squares problem, with a row sqrt(alpha g) u' for every eigenvalue g and
    eigenvector u of Gamma.
    """
    values, vectors = np.linalg.eigh(Gamma)
    penalty = np.sqrt(alpha * np.maximum(values, 0.0))[:, None] * vectors.T
    root = np.sqrt(weight / weight.sum())[:, None]
    rows = np.hstack([H, np.ones((len(H), 1))]) if intercept else H
    if intercept:
        penalty = np.hstack([penalty, np.zeros((len(penalty), 1))])
    left = np.vstack([root * rows, penalty])
    right = np.vstack([root * Y, np.zeros((len(penalty), Y.shape[1]))])
    solved = np.linalg.lstsq(left, right, rcond=None)[0]
    return (solved[:-1], solved[-1]) if intercept else (solved, np.zeros(Y.shape[1]))


class FullKernelRidge:
    """Kernel ridge regression on any subset of rows, from the kernel matrix of all rows."""

    def __init__(self, K: Array, intercept: bool) -> None:
        self.K, self.intercept = K, intercept

    def fit(self, rows: Array, Y: Array, weight: Array, alpha: float) -> FullKernelRidge:
        self.rows = rows
        square = self.K[np.ix_(rows, rows)]
        self.a, self.b = dual_ridge(square, Y[rows], weight[rows], alpha, self.intercept)
        return self

    def predict(self, rows: Array) -> Array:
        return self.K[np.ix_(rows, self.rows)] @ self.a + self.b


class BasisRidge:
    """Least squares over M functions on any subset of rows, from their values on all rows."""

    def __init__(self, H: Array, Gamma: Array | None, intercept: bool) -> None:
        self.H, self.intercept = H, intercept
        self.Gamma = np.eye(H.shape[1]) if Gamma is None else Gamma

    def fit(self, rows: Array, Y: Array, weight: Array, alpha: float) -> BasisRidge:
        self.c, self.b = primal_ridge(
            self.H[rows], self.Gamma, Y[rows], weight[rows], alpha, self.intercept
        )
        return self

    def predict(self, rows: Array) -> Array:
        return self.H[rows] @ self.c + self.b


def cutoff(A: Array, b: Array, threshold: float) -> Array:
    """Pseudo-inverse of A, without its eigenvalues below the threshold, times b."""
    s, U = np.linalg.eigh(A)
    kept = U[:, s >= threshold]
    return np.linalg.pinv(kept @ kept.T @ A @ kept @ kept.T, rcond=1e-13, hermitian=True) @ b


# -- iterations ------------------------------------------------------------------------------------


def kcgm(A: Array, b: Array, steps: int) -> list[Array]:
    """The minimizers of ||A v - b|| over span{b, Ab, ..., A^(t-1) b}, for t = 1..steps.

    By normal equations on the powers themselves, with digits enough for that.
    """
    found = [np.zeros(b.shape) for _ in range(steps)]
    with mpmath.workdps(400):
        exact = mpmath.matrix(A.tolist())
        for column in range(b.shape[1]):
            right = mpmath.matrix(b[:, column].tolist())
            powers = [right]
            for _ in range(steps):
                powers.append(exact * powers[-1])
            inner = [[(p.T * q)[0] for q in powers] for p in powers]
            for t in range(1, steps + 1):
                # (A p_i)'(A p_j) = p_(i+1)'p_(j+1), and (A p_i)'b = p_(i+1)'p_0
                left = mpmath.matrix([row[1 : t + 1] for row in inner[1 : t + 1]])
                y = mpmath.lu_solve(left, mpmath.matrix([row[0] for row in inner[1 : t + 1]]))
                v = sum((y[i] * powers[i] for i in range(t)), mpmath.zeros(len(b), 1))
                found[t - 1][:, column] = [float(entry) for entry in v]
    return found


def descent_filters(s: Array, eta: float, steps: int) -> list[Array]:
    """What gradient descent makes of 1 / s: eta sum_(j<t) (1 - eta s)^j, for t = 1..steps."""
    return [eta * sum((1 - eta * s) ** j for j in range(t)) for t in range(1, steps + 1)]


def accelerated_filters(s: Array, eta: float, steps: int) -> list[Array]:
    """The same with Nesterov's momentum, by the residual polynomials p_t of the recursion.

    p_t = (1 - eta s) (p_(t-1) + m_t (p_(t-1) - p_(t-2))), m_t = (t - 1) / (t + 2),
    and the filter is (1 - p_t) / s.
    """
    before, now, found = np.ones_like(s), np.ones_like(s), []
    for t in range(1, steps + 1):
        before, now = now, (1 - eta * s) * (now + (t - 1) / (t + 2) * (now - before))
        found.append((1 - now) / s)
    return found


def filtered(filters: Callable[[Array, float, int], list[Array]]) -> Callable[..., list[Array]]:
    """An iteration by its filters on the eigenvalues of A, with eta = 1 / ||A||."""

    def solve(A: Array, b: Array, steps: int) -> list[Array]:
        s, U = np.linalg.eigh(A)
        s = np.maximum(s, 1e-17 * s[-1])  # not 0, where the filter's limit is meant
        return [U @ (f[:, None] * (U.T @ b)) for f in filters(s, 1 / s[-1], steps)]

    return solve


class Iterated:
    """An iteration on M functions and any subset of rows, from their values on all rows.

    ``solve(A, b, steps)`` returns the solutions of all steps. A full kernel has a function at every
    row of the subset.
    """

    def __init__(
        self, H: Array, Gamma: Array | None, intercept: bool, solve: Callable[..., list[Array]]
    ) -> None:
        self.H, self.Gamma, self.intercept, self.solve = H, Gamma, intercept, solve

    def fit(self, rows: Array, Y: Array, weight: Array, steps: int, alpha: float = 0.0) -> Iterated:
        self.functions = rows if self.Gamma is self.H else np.arange(self.H.shape[1])
        H, share = self.H[np.ix_(rows, self.functions)], weight[rows] / weight[rows].sum()
        R = np.eye(H.shape[1])
        if self.Gamma is not None:
            values, vectors = np.linalg.eigh(self.Gamma[np.ix_(self.functions, self.functions)])
            R = vectors / np.sqrt(values)
        m = share @ H * self.intercept
        ybar = share @ Y[rows] * self.intercept
        A = R.T @ ((H - m).T * share @ (H - m)) @ R + alpha * np.eye(R.shape[1])
        b = R.T @ ((H - m).T * share @ (Y[rows] - ybar))
        self.c = [R @ v for v in self.solve((A + A.T) / 2, b, steps)]
        self.b = [ybar - m @ c for c in self.c]
        return self

    def predict(self, rows: Array) -> list[Array]:
        H = self.H[np.ix_(rows, self.functions)]
        return [H @ c + b for c, b in zip(self.c, self.b, strict=True)]


class CutBasis:
    """Cut-off on M functions and any subset of rows, at a threshold."""

    def __init__(self, H: Array, Gamma: Array | None, intercept: bool) -> None:
        self.problem = H, Gamma, intercept

    def fit(self, rows: Array, Y: Array, weight: Array, threshold: float) -> CutBasis:
        self.model = Iterated(*self.problem, lambda A, b, steps: [cutoff(A, b, threshold)])
        self.model.fit(rows, Y, weight, 1)
        return self

    def predict(self, rows: Array) -> Array:
        return self.model.predict(rows)[0]


def step_errors(
    model: Iterated, labels: Array, folds: list[int], Y: Array, weight: Array, steps: int
) -> Array:
    """Weighted mean squared error on each fold after each step, by refitting on the others."""
    errors = np.empty((len(folds), steps))
    for row, fold in enumerate(folds):
        out, rest = np.flatnonzero(labels == fold), np.flatnonzero(labels != fold)
        for step, fitted in enumerate(model.fit(rest, Y, weight, steps).predict(out)):
            by_output = np.average((Y[out] - fitted) ** 2, axis=0, weights=weight[out])
            errors[row, step] = by_output.sum()
    return errors


# -- choosing alpha --------------------------------------------------------------------------------


def leave_one_out(model: Any, Y: Array, weight: Array, alpha: float) -> Array:
    """Squared errors (n, k) of n refits, each without one row, with the same alpha * W."""
    errors = np.empty(Y.shape)
    everyone = np.arange(len(Y))
    for i in everyone:
        others = everyone[everyone != i]
        same_total = alpha * weight.sum() / weight[others].sum()
        fitted = model.fit(others, Y, weight, same_total).predict(np.array([i]))
        errors[i] = (Y[i] - fitted[0]) ** 2
    return errors


def k_fold(model: Any, labels: Array, Y: Array, weight: Array, alpha: float) -> Array:
    """Weighted mean squared error on each fold, summed over outputs, by refitting on the others."""
    errors = []
    for fold in np.unique(labels):
        out, rest = np.flatnonzero(labels == fold), np.flatnonzero(labels != fold)
        fitted = model.fit(rest, Y, weight, alpha).predict(out)
        by_output = np.average((Y[out] - fitted) ** 2, axis=0, weights=weight[out])
        errors.append(by_output.sum())
    return np.array(errors)


def hat_matrix(model: Any, weight: Array, alpha: float) -> Array:
    """The matrix that turns y into fitted values: its columns are fits of unit vectors."""
    everyone = np.arange(len(weight))
    return model.fit(everyone, np.eye(len(weight)), weight, alpha).predict(everyone)


def gcv(model: Any, Y: Array, weight: Array, alpha: float, count: float) -> float:
    """Generalized cross-validation with the trace of the explicit hat matrix."""
    hat = hat_matrix(model, weight, alpha)
    residual = np.average((Y - hat @ Y) ** 2, axis=0, weights=weight).sum()
    return float(residual / (1 - np.trace(hat) / count) ** 2)
