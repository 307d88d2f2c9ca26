"""A rough cost model, to choose between moments and products.

Times are for one core of a typical machine in float32. Only their ratio matters. Products must be
clearly faster to be chosen, because the direct solve is exact and gives a path of alphas.
"""

from __future__ import annotations

#: Multiply-adds per second: sums of outer products, factorizations in float64, products with a few
#: columns. Kernel values per second: for few columns of X, and for each further column.
OUTER, FACTOR, NARROW = 1.0e11, 2.2e10, 3.0e10
VALUES, COLUMN = 3.0e-9, 2.5e-11
#: Expected number of steps of an iterative solve.
STEPS = 30
#: Below this many seconds, moments are used without comparing them with products.
NEGLIGIBLE = 5.0
#: How many times faster products must be.
ADVANTAGE = 1.5
#: The same if alpha is open: a path from moments is better than one alpha from a pilot fit.
ADVANTAGE_OPEN = 3.0
#: Landmarks of the pilot fit that chooses alpha for a solve by products.
PILOT = 1000


def _evaluation(n_rows: float, size: float, n_features: int) -> float:
    return n_rows * size * (VALUES + COLUMN * n_features)


def direct_seconds(
    n_rows: int, size: int, n_features: int, open_alpha: bool, single: bool
) -> float:
    """Return the seconds for moments and a factorization (eigendecomposition if alpha is open)."""
    sums = n_rows * float(size) ** 2 / (OUTER if single else OUTER / 2)
    solve = (6.0 if open_alpha else 1.2) * float(size) ** 3 / FACTOR
    return _evaluation(n_rows, size, n_features) + sums + solve


def product_seconds(
    n_rows: int, size: int, n_features: int, outputs: int, keep: bool, open_alpha: bool
) -> float:
    """Return the seconds for a preconditioner from the landmarks, and for steps by products."""
    prepare = 2 * float(size) ** 3 / 6 / FACTOR
    columns = outputs if outputs < 4 else -(-outputs // 8) * 8
    steps = STEPS * 2 * n_rows * float(size) * columns / NARROW
    passes = 1 if keep else STEPS + 1
    pilot = direct_seconds(n_rows, min(size, PILOT), n_features, True, True) if open_alpha else 0.0
    return prepare + steps + passes * _evaluation(n_rows, size, n_features) + pilot


def full_direct_seconds(n_rows: int, n_features: int, open_alpha: bool) -> float:
    """Return the seconds for the kernel matrix and its factorization or eigendecomposition."""
    solve = (6.0 if open_alpha else 1 / 6) * float(n_rows) ** 3 / FACTOR
    return 2 * _evaluation(n_rows, n_rows, n_features) + solve


def full_product_seconds(n_rows: int, n_features: int, rank: int, open_alpha: bool) -> float:
    """Return the seconds for pivoted Cholesky, and for steps that evaluate half the kernel."""
    prepare = _evaluation(n_rows, rank, n_features) + 2 * n_rows * float(rank) ** 2 / FACTOR
    steps = STEPS * _evaluation(n_rows, n_rows / 2, n_features)
    pilot = direct_seconds(n_rows, PILOT, n_features, True, True) if open_alpha else 0.0
    return prepare + steps + pilot
