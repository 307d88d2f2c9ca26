"""What a solve costs, roughly: enough to choose between moments and products.

Times are those of one core of a common machine in float32. Only their ratio counts, and it is
asked to be clear before the direct solve, which is exact and has a path of alphas, is left.
"""

from __future__ import annotations

#: Multiply-adds a second: sums of outer products, factorizations in float64, products with a few
#: columns; and kernel values a second, for few columns of X and for each further one.
OUTER, FACTOR, NARROW = 1.0e11, 2.2e10, 3.0e10
VALUES, COLUMN = 3.0e-9, 2.5e-11
#: Steps that an iterative solve is expected to take.
STEPS = 30
#: Seconds below which moments are used without weighing them against products.
NEGLIGIBLE = 5.0
#: How much faster products must promise to be.
ADVANTAGE = 1.5
#: The same where alpha is open: a path from moments is worth more than one alpha from a pilot.
ADVANTAGE_OPEN = 3.0
#: Landmarks of the pilot that chooses alpha for a solve by products.
PILOT = 1000


def _evaluation(n_rows: float, size: float, n_features: int) -> float:
    return n_rows * size * (VALUES + COLUMN * n_features)


def direct_seconds(
    n_rows: int, size: int, n_features: int, open_alpha: bool, single: bool
) -> float:
    """Seconds of moments and a factorization, or an eigendecomposition where alpha is open."""
    sums = n_rows * float(size) ** 2 / (OUTER if single else OUTER / 2)
    solve = (6.0 if open_alpha else 1.2) * float(size) ** 3 / FACTOR
    return _evaluation(n_rows, size, n_features) + sums + solve


def product_seconds(
    n_rows: int, size: int, n_features: int, outputs: int, keep: bool, open_alpha: bool
) -> float:
    """Seconds of a preconditioner from the landmarks, and of steps by products."""
    prepare = 2 * float(size) ** 3 / 6 / FACTOR
    columns = outputs if outputs < 4 else -(-outputs // 8) * 8
    steps = STEPS * 2 * n_rows * float(size) * columns / NARROW
    passes = 1 if keep else STEPS + 1
    pilot = direct_seconds(n_rows, min(size, PILOT), n_features, True, True) if open_alpha else 0.0
    return prepare + steps + passes * _evaluation(n_rows, size, n_features) + pilot


def full_direct_seconds(n_rows: int, n_features: int, open_alpha: bool) -> float:
    """Seconds of the kernel matrix and its factorization, or eigendecomposition."""
    solve = (6.0 if open_alpha else 1 / 6) * float(n_rows) ** 3 / FACTOR
    return 2 * _evaluation(n_rows, n_rows, n_features) + solve


def full_product_seconds(n_rows: int, n_features: int, rank: int, open_alpha: bool) -> float:
    """Seconds of a pivoted Cholesky factorization, and of steps that evaluate half the kernel."""
    prepare = _evaluation(n_rows, rank, n_features) + 2 * n_rows * float(rank) ** 2 / FACTOR
    steps = STEPS * _evaluation(n_rows, n_rows / 2, n_features)
    pilot = direct_seconds(n_rows, PILOT, n_features, True, True) if open_alpha else 0.0
    return prepare + steps + pilot
