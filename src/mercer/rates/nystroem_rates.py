"""Landmarks over shards: Li, Liu and Wang (2023), *Optimal Convergence Rates for Distributed
Nystroem Approximation*.

Sizes are up to constants. The penalty is ``optimal_penalty`` and the error ``optimal_risk``
throughout; n rows are cut into shards of the same size.
"""

from __future__ import annotations

from mercer.rates.exponents import Conditions, Interval, at_least, power
from mercer.validation import check_choice

PAPER = "Li, Liu and Wang (2023)"

#: DC-NY, and the older results for DKRR and DC-Sketch: the target is in the space of the kernel.
PROPOSITION_8 = Conditions(
    f"{PAPER}, proposition 8", r=Interval(0.5, 1), gamma=Interval(0, 1, "(]")
)
_WIDER = at_least("2 r + gamma >= alpha", lambda e: e.complexity - e.alpha, 0.0)
THEOREM_11 = Conditions(f"{PAPER}, theorem 11", gamma=Interval(0, 1, "(]"), joint=(_WIDER,))
THEOREM_16 = Conditions(f"{PAPER}, theorem 16", gamma=Interval(0, 1, "(]"), joint=(_WIDER,))

#: How landmarks are drawn.
SAMPLING = ("uniform", "leverage")


def averaged_partitions(n: float, *, r: float, gamma: float) -> float:
    """``m <= n^((2r-1)/(2r+gamma))``: the most shards of DKRR, DC-NY and DC-Sketch (older results).

    Li, Liu and Wang (2023), proposition 8 (theorem 1 of Yin et al., 2020) and sections 3.2 and 3.4,
    up to constants, in expectation. For r in [1/2, 1] and gamma in (0, 1]; a constant number of
    shards at r = 1/2.

    >>> averaged_partitions(10_000, r=0.5, gamma=1.0)
    1.0
    >>> round(averaged_partitions(10_000, r=1.0, gamma=0.5), 1)
    39.8
    """
    exponents = PROPOSITION_8.require(r=r, gamma=gamma)
    return power(n, (2 * exponents.r - 1) / exponents.complexity)


def local_centers(n: float, *, r: float, gamma: float) -> float:
    """``M >= n^(1/(2r+gamma))``: the fewest landmarks of DC-NY, drawn by each shard from its rows.

    Li, Liu and Wang (2023), proposition 8 (theorem 1 of Yin et al., 2020), up to constants; uniform
    sampling, r in [1/2, 1], gamma in (0, 1].

    >>> local_centers(10_000, r=0.5, gamma=1.0)
    100.0
    """
    return power(n, 1 / PROPOSITION_8.require(r=r, gamma=gamma).complexity)


def local_sketch_size(n: float, *, r: float, gamma: float) -> float:
    """``M >= n^(gamma/(2r+gamma))``: the fewest rows of the sketches of DC-Sketch.

    Lian et al. (2021), as quoted in section 3.4 of Li, Liu and Wang (2023), up to constants; for r
    in [1/2, 1] and gamma in (0, 1].

    >>> local_sketch_size(10_000, r=0.75, gamma=0.5)
    10.0
    """
    exponents = PROPOSITION_8.require(r=r, gamma=gamma)
    return power(n, exponents.gamma / exponents.complexity)


def shared_partitions(
    n: float, *, r: float, gamma: float, alpha: float = 1.0, in_probability: bool = False
) -> float:
    """``m <= n^((2r+gamma-alpha)/(2r+gamma))``: the most shards of DNystroem, in expectation.

    Li, Liu and Wang (2023), theorem 11, and corollaries 12 (alpha = 1) and 13 (alpha = gamma). In
    probability the square root of it, theorem 16. Up to constants; for r in (0, 1], gamma in (0, 1]
    and ``2r + gamma >= alpha``, so with alpha = 1 not for every target outside the space.

    >>> shared_partitions(10_000, r=0.5, gamma=1.0)
    100.0
    >>> shared_partitions(10_000, r=0.5, gamma=1.0, in_probability=True)
    10.0
    >>> round(shared_partitions(1000, r=0.5, gamma=0.5, alpha=0.5), 6)
    100.0
    """
    conditions = THEOREM_16 if in_probability else THEOREM_11
    exponents = conditions.require(r=r, gamma=gamma, alpha=alpha)
    share = (exponents.complexity - exponents.alpha) / exponents.complexity
    return power(n, share / 2 if in_probability else share)


def shared_centers(
    n: float, *, r: float, gamma: float, alpha: float = 1.0, sampling: str = "uniform"
) -> float:
    """``M >= n^(alpha/(2r+gamma))`` uniformly, ``n^(gamma/(2r+gamma))`` by leverage, for DNystroem.

    Li, Liu and Wang (2023), theorems 11 and 16, and corollaries 12 (alpha = 1) and 13 (alpha =
    gamma), where uniform sampling is as good. Up to constants; for r in (0, 1], gamma in (0, 1],
    ``2r + gamma >= alpha``. Landmarks are drawn from all rows, and are the same for all shards.

    >>> shared_centers(10_000, r=0.5, gamma=1.0)
    100.0
    >>> round(shared_centers(1000, r=0.5, gamma=0.5, sampling="leverage"), 6)
    10.0
    """
    exponents = THEOREM_11.require(r=r, gamma=gamma, alpha=alpha)
    sizes = {"uniform": exponents.alpha, "leverage": exponents.gamma}
    chosen = sizes[check_choice(sampling, "sampling", SAMPLING)]
    return power(n, chosen / exponents.complexity)


def leverage_time(n: float, *, r: float, gamma: float) -> float:
    """``N(lambda)^2 / lambda = n^((1+2 gamma)/(2r+gamma))``: the time of BLESS for leverage scores.

    Li, Liu and Wang (2023), after corollary 13, up to constants and logarithms; r in (0, 1], gamma
    in (0, 1]. It is more than the fit itself takes, ``n^(3 gamma/(2r+gamma))``.

    >>> leverage_time(1000, r=0.25, gamma=0.5)
    1000000.0
    """
    # The scores themselves ask for nothing of alpha: the benign case.
    exponents = THEOREM_11.require(r=r, gamma=gamma, alpha=gamma)
    return power(n, (1 + 2 * exponents.gamma) / exponents.complexity)


def training_time(n: float, centers: float, partitions: float = 1.0) -> float:
    """``n M^2 / m + M^3``, the time of each shard with m shards of n rows in all.

    Li, Liu and Wang (2023), section 2.2. At the sizes of proposition 8 the first term is
    ``n^((3+gamma)/(2r+gamma))`` (figure 2), at those of corollary 12 both are ``n^(3/(2r+gamma))``
    (figure 3).

    >>> training_time(10_000, centers=100, partitions=100)
    2000000.0
    """
    return power(n, 1.0) * centers**2 / partitions + centers**3


def training_space(n: float, centers: float, partitions: float = 1.0) -> float:
    """``n M / m``, the numbers that each shard holds.

    Li, Liu and Wang (2023), section 2.2: ``n^((2+gamma)/(2r+gamma))`` for proposition 8 (figure 2),
    ``n^(2/(2r+gamma))`` for corollary 12 (figure 3), ``n^(2 gamma/(2r+gamma))`` for corollary 13
    (figure 4).

    >>> training_space(10_000, centers=100, partitions=100)
    10000.0
    """
    return power(n, 1.0) * centers / partitions
