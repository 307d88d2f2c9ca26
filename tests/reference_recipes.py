"""The methods of the papers as they are written: whole matrices, loops, and np.linalg.solve.

Each function has the number of its equation. What a method draws (landmarks, features, a sketch,
rows to label) is an argument. Nothing here imports the library.
"""

from __future__ import annotations

from math import ceil, cos, exp, sqrt

import numpy as np

Array = np.ndarray


def gaussian(X: Array, Z: Array, bandwidth: float) -> Array:
    """K(x, z) = exp(-||x - z||^2 / (2 bandwidth^2)), a pair at a time."""
    return np.array([[exp(-np.sum((x - z) ** 2) / (2 * bandwidth**2)) for z in Z] for x in X])


def fourier_features(X: Array, frequencies: Array, phases: Array) -> Array:
    """phi_M(x) = (psi(x, omega_1), ..., psi(x, omega_M)) / sqrt(M), psi = sqrt(2) cos(w'x + b)."""
    M = len(phases)
    rows = [
        [sqrt(2) * cos(frequencies[:, j] @ x + phases[j]) / sqrt(M) for j in range(M)] for x in X
    ]
    return np.array(rows)


# -- ridge regression ------------------------------------------------------------------------------


def kernel_ridge(K: Array, y: Array, lam: float) -> Array:
    """alpha = (K_N + lambda N I)^-1 y (Li, Liu and Wang, DKRR-RF, equation 2)."""
    n = len(y)
    return np.linalg.solve(K + lam * n * np.eye(n), y)


def nystroem(K_nM: Array, K_MM: Array, y: Array, lam: float) -> Array:
    """alpha = (K_nM' K_nM + lambda n K_MM)^+ K_nM' y (Li, Liu and Wang, DNystroem, section 3)."""
    return np.linalg.solve(K_nM.T @ K_nM + lam * len(y) * K_MM, K_nM.T @ y)


def sketched_ridge(G: Array, K: Array, y: Array, lam: float) -> Array:
    """Ridge regression over sum_j G_ij K(x_j, .): coefficients at the rows, G' times those."""
    return G.T @ nystroem(K @ G.T, G @ K @ G.T, y, lam)


def feature_ridge(phi: Array, y: Array, lam: float) -> Array:
    """w = (Phi'Phi + lambda I)^-1 Phi' y_n, both divided by sqrt(n) (DKRR-RF, equation 6)."""
    n, M = phi.shape
    Phi, y_n = phi / sqrt(n), y / sqrt(n)
    return np.linalg.solve(Phi.T @ Phi + lam * np.eye(M), Phi.T @ y_n)


def averaged(values: list[Array], sizes: list[int]) -> Array:
    """sum_j |D_j| / |D| f_j (DNystroem, algorithm 1, line 8)."""
    found = np.zeros_like(values[0])
    for value, size in zip(values, sizes, strict=True):
        found += size / sum(sizes) * value
    return found


def with_zeros(y: Array, known: Array) -> Array:
    """y*_i = |D*_j| / |D_j| y_i if row i has a label, 0 otherwise (DKRR-RF, section 3.5)."""
    found = np.zeros(len(y))
    for i in range(len(y)):
        if known[i]:
            found[i] = len(y) / known.sum() * y[i]
    return found


# -- iterations ------------------------------------------------------------------------------------


def krylov(A: Array, b: Array, steps: int) -> Array:
    """An orthonormal basis of span{b, Ab, ..., A^(t-1) b}, each power of the last vector."""
    found = [b / np.linalg.norm(b)]
    for _ in range(steps - 1):
        new = A @ found[-1]
        for _ in range(2):
            for vector in found:
                new = new - (vector @ new) * vector
        found.append(new / np.linalg.norm(new))
    return np.array(found).T


def kcgm(K: Array, y: Array, steps: int) -> Array:
    """Minimize ||K a - y||_K over K_t(K, y), with K / n and y / sqrt(n) (KCGM, example 2.1).

    Returns the coefficients of K(x_i, .).
    """
    n = len(y)
    K, y = K / n, y / sqrt(n)
    Q = krylov(K, y, steps)
    values, vectors = np.linalg.eigh(K)
    root = vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
    return Q @ np.linalg.lstsq(root @ K @ Q, root @ y, rcond=None)[0] / sqrt(n)


def projected_kcgm(H: Array, Gamma: Array, y: Array, steps: int) -> Array:
    """Minimize ||K~ a - b|| over K_t(K~, b) (KCGM, examples 2.2 and 2.3); return R a.

    K~ = R' H'H R / n, b = R' H'y / n with R R' = Gamma^+; H has the functions at the rows.
    """
    n = len(y)
    values, vectors = np.linalg.eigh(Gamma)
    R = vectors / np.sqrt(values)
    A, b = R.T @ H.T @ H @ R / n, R.T @ H.T @ y / n
    Q = krylov(A, b, steps)
    return R @ Q @ np.linalg.lstsq(A @ Q, b, rcond=None)[0]


def descent(A: Array, b: Array, eta: float, steps: int) -> Array:
    """g_t = g_(t-1) - eta (A g_(t-1) - b), g_0 = 0 (CRED, algorithm 2, line 8)."""
    g = np.zeros_like(b)
    for _ in range(steps):
        g = g - eta * (A @ g - b)
    return g


# -- importance labelling --------------------------------------------------------------------------


def contributions(phi: Array, lam: float) -> Array:
    """||(Sigma_N + lambda)^(-1/2) phi_j||^2 with Sigma_N = sum_j phi_j phi_j' / N (line 3)."""
    N, m = phi.shape
    Sigma = np.zeros((m, m))
    for row in phi:
        Sigma += np.outer(row, row) / N
    inverse = np.linalg.inv(Sigma + lam * np.eye(m))
    return np.array([row @ inverse @ row for row in phi])


def kernel_contributions(K: Array, lam: float) -> Array:
    """The same for K_x itself: N (K (K + N lambda)^-1)_jj (algorithm 1, line 1)."""
    N = len(K)
    return N * np.diag(K @ np.linalg.inv(K + N * lam * np.eye(N)))


def probabilities(c: Array) -> Array:
    """q_j = (c_j + mean c) / (2 sum c)."""
    return np.array([(one + c.mean()) / (2 * c.sum()) for one in c])


def weighted_moments(phi: Array, y: Array, q: Array, N: int) -> tuple[Array, Array]:
    """A = (1/n) sum_i phi_i phi_i' / (N q_i), b = (1/n) sum_i y_i phi_i / (N q_i) (line 7).

    A row that was drawn twice is in phi twice.
    """
    n, m = phi.shape
    A, b = np.zeros((m, m)), np.zeros(m)
    for i in range(n):
        A += np.outer(phi[i], phi[i]) / (n * N * q[i])
        b += y[i] * phi[i] / (n * N * q[i])
    return A, b


def kernel_descent(K: Array, y: Array, q: Array, N: int, eta: float, steps: int) -> Array:
    """The same in H: coefficients of K(x_i, .) (algorithm 1, lines 5 and 6)."""
    n = len(y)
    a = np.zeros(n)
    for _ in range(steps):
        f = K @ a
        for i in range(n):
            a[i] -= eta * (f[i] - y[i]) / (n * N * q[i])
    return a


def kernel_norm(K: Array, q: Array, N: int) -> float:
    """The largest eigenvalue of A = (1/n) sum_i K_xi (x) K_xi / (N q_i)."""
    root = np.diag(1 / np.sqrt(len(q) * N * q))
    return float(np.linalg.eigvalsh(root @ K @ root)[-1])


def weighted_kernel_ridge(K: Array, y: Array, q: Array, N: int, lam: float) -> Array:
    """(A + lambda)^-1 b in H (section C): (K + lambda n diag(N q)) a = y."""
    n = len(y)
    return np.linalg.solve(K + lam * n * np.diag(N * q), y)


def steps_for(eta: float, lam: float) -> int:
    """T = ceil(1 / (eta lambda_*)) (definition 4.2)."""
    return ceil(1 / (eta * lam))


# -- baselines -------------------------------------------------------------------------------------


def truncated_ridge(K: Array, y: Array, used: Array, lam: float) -> Array:
    """f_k = argmin lambda ||f||^2 + (1/n) sum_(i <= k) (f(x_i) - y_i)^2, over all n coefficients.

    The penalty is against n, not k (Jun, Cutkosky and Orabona, algorithm 1).
    """
    found = np.zeros(len(y))
    if len(used):
        part = K[np.ix_(used, used)]
        found[used] = np.linalg.solve(part + lam * len(y) * np.eye(len(used)), y[used])
    return found


def eigenfunction_regression(K: Array, y: Array, labelled: Array, s: int) -> Array:
    """Least squares on the first s eigenfunctions of all N rows (Ji et al., algorithm 1).

    Returns the coefficients of K(x_i, .) at all rows.
    """
    values, vectors = np.linalg.eigh(K / len(K))
    V = vectors[:, ::-1][:, :s]
    functions = K @ V / np.sqrt(values[::-1][:s])
    a = np.linalg.lstsq(functions[labelled], y[labelled], rcond=None)[0]
    return V / np.sqrt(values[::-1][:s]) @ a


# -- ranking ---------------------------------------------------------------------------------------


def pairwise_ridge(K: Array, y: Array, lam: float) -> Array:
    """argmin (1/n^2) sum_ik (y_i - y_k - (f(x_i) - f(x_k)))^2 + lambda ||f||^2 (LSRank, MPRank).

    The gradient in the coefficients of K(x_i, .) is 0, pair by pair.
    """
    n = len(y)
    left, right = lam * K, np.zeros(n)
    for i in range(n):
        for k in range(n):
            difference = K[i] - K[k]
            left = left + np.outer(difference, difference) / n**2
            right = right + (y[i] - y[k]) * difference / n**2
    return np.linalg.solve(left, right)
