"""A rough cost model: seconds of a fit from its sizes and the speeds of a machine.

:class:`Speeds` of a typical machine serve to choose between moments and products, where only
ratios matter; products must be clearly faster to be chosen, because the direct solve is exact and
gives a path of alphas. Measured speeds (:mod:`mercer.theory.system_costs`) predict seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

#: Expected number of steps of an iterative solve, with as many sampled rows as functions in the
#: preconditioner (more rows save steps by a square root), and of one with the full kernel.
STEPS, FULL_STEPS = 30, 80
#: The same for an alpha of a pilot fit, which may be small; half of the steps are in float64, which
#: take twice as long.
OPEN_STEPS, OPEN_STEP = 40, 1.5
#: Residuals in float64 of a solve with the full kernel, and how much longer they take to evaluate.
EXACT, WIDER = 3, 4
#: Below this many seconds, moments are used without comparing them with products.
NEGLIGIBLE = 5.0
#: How many times faster products must be.
ADVANTAGE = 1.5
#: The same if alpha is open: a path from moments is better than one alpha from a pilot fit.
ADVANTAGE_OPEN = 3.0
#: Landmarks of the pilot fit that chooses alpha for a solve by products.
PILOT = 1000
#: Up to this many functions, an average and rounds choose alpha with all of them: sums are small.
FEW = 100


def pilot_of_shards(functions: int) -> int:
    """Return the functions of the pilot fit that chooses alpha for an average or for rounds.

    Half of the functions: its sums are a quarter of those that an average and rounds avoid.

    >>> [pilot_of_shards(functions) for functions in (50, 300, 5000)]
    [50, 150, 1000]
    """
    return functions if functions <= FEW else min(PILOT, max(FEW, functions // 2))


@dataclass(frozen=True)
class Speeds:
    """What a machine does in a second; the defaults are for one core of a typical one.

    Attributes
    ----------
    outer, factor, narrow : float
        Multiply-adds per second of sums of outer products in float32, of factorizations in
        float64, and of products with a few columns.
    value, column, stored : float
        Seconds for a kernel value, and more for each column of X; for reading a stored one.
    """

    outer: float = 1.0e11
    factor: float = 2.2e10
    narrow: float = 2.5e10
    value: float = 3.0e-9
    column: float = 2.5e-11
    stored: float = 1.3e-10

    def evaluation(self, n_rows: float, size: float, n_features: int) -> float:
        """Return the seconds for the values of ``size`` functions at ``n_rows`` rows."""
        return n_rows * size * (self.value + self.column * n_features)

    def sums(self, n_rows: float, size: float, n_features: int, single: bool = True) -> float:
        """Return the seconds for the moments of ``size`` functions."""
        rate = self.outer if single else self.outer / 2
        return self.evaluation(n_rows, size, n_features) + n_rows * float(size) ** 2 / rate

    def solve(self, size: float, open_alpha: bool) -> float:
        """Return the seconds for a factorization, or a tridiagonal form if alpha is open."""
        return (4.5 if open_alpha else 1.2) * float(size) ** 3 / self.factor

    def stored_product(self, outputs: int) -> float:
        """Return the seconds for a stored value in a step: read once, multiplied from both sides.

        Several columns are padded to a multiple of four.
        """
        columns = outputs if outputs == 1 else -(-outputs // 4) * 4
        return 2 * columns / self.narrow + self.stored

    def space(self, size: float, outputs: int, steps: float) -> float:
        """Return the seconds for the directions of a block of conjugate gradients.

        All are kept: they are orthogonalized, and the projected system is decomposed at each step.
        """
        width = outputs * steps
        return (6 * size * width**2 + 1.1 * width**3 * steps) / self.factor


TYPICAL = Speeds()


def direct_seconds(
    n_rows: float,
    size: int,
    n_features: int,
    open_alpha: bool,
    single: bool,
    speeds: Speeds = TYPICAL,
) -> float:
    """Return the seconds for moments and a factorization (tridiagonal if alpha is open)."""
    return speeds.sums(n_rows, size, n_features, single) + speeds.solve(size, open_alpha)


def product_seconds(
    n_rows: float,
    size: int,
    n_features: int,
    outputs: int,
    keep: bool,
    open_alpha: bool,
    speeds: Speeds = TYPICAL,
    sample: int = 0,
) -> float:
    """Return the seconds for a preconditioner from a sample, and for steps by products.

    The first M sampled rows are landmarks, which cost nothing; the others are whitened and summed.
    """
    more = max(0, sample - size)
    prepare = float(size) ** 3 / 2 / speeds.factor
    prepare += 1.7 * speeds.sums(more, size, n_features)
    steps = (OPEN_STEPS if open_alpha else STEPS) * sqrt(size / max(size, sample))
    step = n_rows * float(size) * speeds.stored_product(outputs)
    step *= OPEN_STEP if open_alpha else 1.0
    space = speeds.space(size, outputs, steps)
    passes = 1 if keep else steps + 1
    pilot = 0.0
    if open_alpha:
        pilot = direct_seconds(n_rows, min(size, PILOT), n_features, True, True, speeds)
    evaluations = passes * speeds.evaluation(n_rows, size, n_features)
    return prepare + steps * step + space + evaluations + pilot


def full_direct_seconds(
    n_rows: float, n_features: int, open_alpha: bool, speeds: Speeds = TYPICAL
) -> float:
    """Return the seconds for the kernel matrix and its factorization or eigendecomposition."""
    solve = (6.0 if open_alpha else 1 / 6) * float(n_rows) ** 3 / speeds.factor
    return 2 * speeds.evaluation(n_rows, n_rows, n_features) + solve


def full_product_seconds(
    n_rows: float,
    n_features: int,
    rank: int,
    open_alpha: bool,
    speeds: Speeds = TYPICAL,
    share: float = 0.0,
    outputs: int = 1,
) -> float:
    """Return the seconds for pivoted Cholesky, and for steps with half of the kernel.

    A ``share`` of its values is stored. Residuals in float64 evaluate all of them. An alpha from a
    pilot fit may be so small that float32 fails, and half of the steps are in float64.
    """
    factor = 2 * n_rows * float(rank) ** 2 / speeds.factor
    evaluation = speeds.evaluation(n_rows, n_rows / 2, n_features)
    prepare = WIDER * speeds.evaluation(n_rows, rank, n_features) + factor
    exact = FULL_STEPS / 2 if open_alpha else EXACT
    stored = n_rows * n_rows / 2 * speeds.stored_product(outputs)
    step = share * stored + (1.0 - share) * evaluation
    space = speeds.space(n_rows, outputs, FULL_STEPS)
    pilot = direct_seconds(n_rows, PILOT, n_features, True, True, speeds) if open_alpha else 0.0
    steps = FULL_STEPS * step + exact * WIDER * evaluation + space
    return prepare + evaluation + steps + pilot
