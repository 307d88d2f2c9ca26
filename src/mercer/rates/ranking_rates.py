"""Rankings over shards: *Distributed Least Square Ranking with Random Features* (DRank-RF).

Here r is the ranking's, in (0, 1]: ``L^-r f`` is in the space of the kernel, half a unit more than
elsewhere (``Exponents.ranking_r``). Errors are in the norm of that space, not squared, and no
capacity enters. ``sizes`` are the rows of the shards, and a shard compares its own pairs only. All
is up to constants and logarithms.

Two statements are stronger than what their proofs bound: the variance on all rows, of the order of
``1 / sqrt(lambda n)``, is in both proofs (equation 31, and the display before equation 40) and in
neither theorem. Functions that end in ``_with_variance`` keep it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mercer.rates.exponents import Conditions, Interval, power
from mercer.validation import check_count, check_number

PAPER = "Distributed Least Square Ranking with Random Features"
#: In the exponents of the other papers, where r counts from the square-integrable functions.
THEOREM_1 = Conditions(f"{PAPER}, theorem 1", r=Interval(0.5, 1.5, "(]"))
THEOREM_2 = Conditions(f"{PAPER}, theorem 2", r=Interval(0.5, 1.5, "(]"))


def shard_ratio(sizes: Sequence[float]) -> float:
    """``sum_j n_j / sum_k n_k^2``, which is p/n for p shards of the same size, of n rows in all.

    The quantity of theorem 1; a few large shards count as few shards.

    >>> shard_ratio([100] * 10), shard_ratio([900] + [10] * 10)
    (0.01, 0.00123...)
    """
    counts = [check_number(size, "a size of a shard", minimum=1.0) for size in sizes]
    if not counts:
        raise ValueError("sizes must hold the rows of at least one shard, got none")
    return sum(counts) / sum(count**2 for count in counts)


def ranking_penalty(sizes: Sequence[float], *, r: float) -> float:
    """``lambda = (sum_j n_j / sum_k n_k^2)^(1/(1+r))``: the penalty of DRank-RF.

    Theorem 1, up to constants, for r in (0, 1].

    >>> round(ranking_penalty([1000] * 10, r=1.0), 4)
    0.0316
    """
    return float(shard_ratio(sizes) ** (1 / (1 + _smoothness(r))))


def ranking_features(sizes: Sequence[float], *, r: float) -> float:
    """``m = (sum_j n_j / sum_k n_k^2)^(-2r/(1+r)) = lambda^-2r``: the features of DRank-RF.

    Theorem 1, up to constants, for r in (0, 1]. The proof asks for ``max(lambda^-2r, lambda^-1
    log(1/(lambda delta)))``, which is more for r < 1/2: ``ranking_features_of_proof``.

    >>> round(ranking_features([1000] * 10, r=0.5), 1)
    100.0
    """
    return float(ranking_penalty(sizes, r=r) ** (-2 * r))


def ranking_features_of_proof(sizes: Sequence[float], *, r: float) -> float:
    """``m = max(lambda^-2r, lambda^-1)``, what the proof of theorem 1 asks for.

    Appendix B.2, up to constants and ``log(1/(lambda delta))``, for r in (0, 1].

    >>> round(ranking_features_of_proof([1000] * 10, r=0.25), 1)
    251.2
    """
    return max(ranking_features(sizes, r=r), 1 / ranking_penalty(sizes, r=r))


def ranking_error(sizes: Sequence[float], *, r: float) -> float:
    """``||f - f_rho||_K = O((sum_j n_j / sum_k n_k^2)^(r/(1+r)))``: DRank-RF, without rounds.

    Theorem 1 and remark 1, up to constants and ``log(1/delta)``, for r in (0, 1];
    ``(n/p)^(-r/(1+r))`` for p shards of the same size. The last line of the proof has the
    exponent 1/(1+r).

    >>> round(ranking_error([1000] * 10, r=1.0), 4)
    0.0316
    """
    return float(shard_ratio(sizes) ** (r / (1 + _smoothness(r))))


def ranking_error_with_variance(sizes: Sequence[float], *, r: float) -> float:
    """``max((sum_j n_j / sum_k n_k^2)^(r/(1+r)), 1 / sqrt(lambda n))``, from equation 31.

    For shards of the same size it is the rate of theorem 1 from ``p = n^(r/(1+2r))`` shards on;
    with one shard it is ``n^(-r/(2(1+r)))``, the square root of what theorem 1 states, and the
    minimax rate in the kernel's norm for gamma = 1 (``krylov_error`` with zeta = r + 1/2 and norm =
    1/2).

    >>> round(ranking_error_with_variance([10_000], r=1.0), 4), ranking_error([10_000], r=1.0)
    (0.1, 0.01)
    """
    variance = 1 / math.sqrt(ranking_penalty(sizes, r=r) * sum(sizes))
    return max(ranking_error(sizes, r=r), variance)


def exact_ranking_error(sizes: Sequence[float], *, r: float) -> float:
    """``O((sum_j n_j^(3/2) / sum_k n_k^2)^(r/(1+r)))``: DRank, with the exact kernel.

    The older result of Chen et al. (2021), as quoted in remark 1, up to constants and logarithms,
    for r in (0, 1].

    >>> round(exact_ranking_error([10_000], r=1.0), 4)
    0.1
    """
    larger = sum(size**1.5 for size in sizes) / sum(sizes)
    return float((shard_ratio(sizes) * larger) ** (r / (1 + _smoothness(r))))


def rounds_penalty(n: float, *, r: float) -> float:
    """``lambda = n^(-1/(1+r))``: the penalty of DRank-RF-C, as for one shard.

    Theorem 2, up to constants, for r in (0, 1] and shards of the same size.

    >>> rounds_penalty(10_000, r=1.0)
    0.01
    """
    return power(n, -1 / (1 + _smoothness(r)))


def rounds_features(n: float, *, r: float) -> float:
    """``m = n^(2r/(1+r))``: the features of DRank-RF-C.

    Theorem 2, up to constants, for r in (0, 1] and shards of the same size; n at r = 1.

    >>> rounds_features(10_000, r=1.0)
    10000.0
    """
    return power(n, 2 * r / (1 + _smoothness(r)))


def rounds_error(n: float, shards: float, rounds: int, *, r: float) -> float:
    """``||f - f_rho||_K = O((p^(1/2) n^(-r/(2(1+r))))^(M+2))``: DRank-RF-C after M rounds.

    Theorem 2, up to constants, for r in (0, 1] and p shards of the same size. Below ``p =
    n^(r/(1+r))`` it falls to 0 with the rounds, which no number of rounds can do:
    ``rounds_error_with_variance``.

    >>> round(rounds_error(10_000, 10, 2, r=1.0), 6), round(rounds_error(10_000, 10, 4, r=1.0), 6)
    (0.01, 0.001)
    """
    check_count(rounds, "rounds", minimum=0)
    p = check_number(shards, "shards", minimum=1.0)
    return float((math.sqrt(p) * power(n, -r / (2 * (1 + _smoothness(r))))) ** (rounds + 2))


def rounds_error_with_variance(n: float, shards: float, rounds: int, *, r: float) -> float:
    """``max((p^(1/2) n^(-r/(2(1+r))))^(M+2), n^(-r/(2(1+r))))``: rounds reach the variance.

    The last display of appendix C.2 before equation 40; the same floor that the paper quotes for
    DRank-C (Chen et al., 2021), whose first term has M + 1 for M + 2.

    >>> round(rounds_error_with_variance(10_000, 10, 8, r=1.0), 6)
    0.1
    """
    floor = power(n, -r / (2 * (1 + _smoothness(r))))
    return max(rounds_error(n, shards, rounds, r=r), floor)


def most_ranking_shards(n: float, rounds: int, *, r: float) -> float:
    """``p < n^(rM/(rM+M+2))``: below it M rounds have a better rate than none.

    Remark 3, from theorems 1 and 2, for r in (0, 1]; ``n^(r/(1+r))`` for ever more rounds.

    >>> most_ranking_shards(10_000, 2, r=1.0) == 10_000 ** (1 / 3)
    True
    """
    check_count(rounds, "rounds", minimum=0)
    return power(n, r * rounds / (_smoothness(r) * rounds + rounds + 2))


def rounds_needed(n: float, shards: float, *, r: float) -> float:
    """``M = min {M : p < n^(rM/(rM+M+2))}``: rounds from which they have a better rate than none.

    Remark 3 solved for M, ``M > 2a / (r - a (1 + r))`` with ``p = n^a``; infinite from ``p =
    n^(r/(1+r))`` on. For r in (0, 1].

    >>> rounds_needed(10_000, 20, r=1.0), rounds_needed(10_000, 100, r=1.0)
    (2.0, inf)
    """
    p = check_number(shards, "shards", minimum=1.0)
    if p == 1:
        return 1.0
    share = math.log(p) / math.log(check_number(n, "n", above=1.0))
    left = _smoothness(r) - share * (1 + r)
    if left <= 1e-12:
        return math.inf
    found = max(1, math.floor(2 * share / left * (1 - 1e-9)))
    while not p < most_ranking_shards(n, found, r=r):  # at most two steps: rounding of the floor
        found += 1
    return float(found)


def _smoothness(r: float) -> float:
    """Return the ranking's r, in (0, 1]."""
    value = check_number(r, "r of a ranking", above=0.0)
    if value > 1:
        raise ValueError(
            f"r of a ranking must be in (0, 1], got {value:g}: L^-r f is in the kernel's space; "
            "Exponents.ranking_r converts from the other papers"
        )
    return value
