"""Random features over shards: Li, Liu and Wang (2022), *Towards Sharp Analysis for Distributed
Learning with Random Features*.

Sizes are up to constants. The penalty is ``optimal_penalty`` and the error ``optimal_risk``
throughout, both in the number of labelled rows n; shards have the same size. ``alpha`` is the
exponent of the supremum over *features*, assumption 5: 1 for features that are drawn without a look
at the data, near gamma for those drawn by their leverage (remark 4).
"""

from __future__ import annotations

from mercer.rates.exponents import Conditions, Exponents, Interval, at_least, power

PAPER = "Li, Liu and Wang (2022)"
THEOREM_1 = Conditions(f"{PAPER}, theorem 1", r=Interval(0.5, 1))
_WIDE = at_least("2 r + gamma >= 1", lambda e: e.complexity)
_WIDER = at_least("2 r + 2 gamma >= 1", lambda e: 2 * e.r + 2 * e.gamma)
THEOREM_2 = Conditions(f"{PAPER}, theorem 2", joint=(_WIDE,))
THEOREM_3 = Conditions(f"{PAPER}, theorem 3", joint=(_WIDE,))
THEOREM_4 = Conditions(f"{PAPER}, theorem 4", joint=(_WIDER,))
#: One shard: features for every target.
COROLLARY_1 = Conditions(f"{PAPER}, corollary 1")


def older_feature_partitions(n: float, *, r: float, gamma: float) -> float:
    """``m <= n^((2r-1)/(2r+gamma))``: the most shards with random features, by older proofs.

    Li, Liu and Wang (2022), theorem 1, up to constants, in expectation with high probability; for r
    in [1/2, 1] and gamma in [0, 1]. A constant number at r = 1/2.

    >>> older_feature_partitions(10_000, r=0.5, gamma=1.0)
    1.0
    """
    exponents = THEOREM_1.require(r=r, gamma=gamma)
    return power(n, (2 * exponents.r - 1) / exponents.complexity)


def feature_partitions(n: float, *, r: float, gamma: float) -> float:
    """``m <= n^((2r+gamma-1)/(2r+gamma))``: the most shards of DKRR-RF.

    Li, Liu and Wang (2022), theorem 2, and theorem 3 for features by leverage; up to constants, in
    expectation with high probability. For r in (0, 1], gamma in [0, 1] and ``2r + gamma >= 1``. The
    proof of theorem 3 would allow more where alpha < 1 (equation 48); theorem 3 does not say so.

    >>> feature_partitions(10_000, r=0.5, gamma=1.0)
    100.0
    """
    exponents = THEOREM_2.require(r=r, gamma=gamma)
    return power(n, (exponents.complexity - 1) / exponents.complexity)


def features(n: float, *, r: float, gamma: float, alpha: float = 1.0) -> float:
    """``M >= n^(((2r-1)_+ (1+gamma-alpha) + alpha)/(2r+gamma))``: the fewest random features.

    ``(2r-1)_+`` is 0 below r = 1/2, where this is ``n^(alpha/(2r+gamma))``. Li, Liu and Wang
    (2022), theorem 3; with alpha = 1 theorem 2, ``n^(((2r-1) gamma + 1)/(2r+gamma))`` and
    ``n^(1/(2r+gamma))``. Up to constants; with one shard for all r in (0, 1], gamma in [0, 1] and
    alpha in [gamma, 1] (corollary 1), with more where the theorem that bounds their number holds.

    >>> features(10_000, r=0.5, gamma=1.0)
    100.0
    >>> round(features(1000, r=1.0, gamma=1.0), 6)
    100.0
    >>> round(features(1000, r=0.5, gamma=0.5, alpha=0.5), 6)
    10.0
    """
    return power(n, _feature_order(COROLLARY_1.require(r=r, gamma=gamma, alpha=alpha)))


def semi_supervised_partitions(n: float, *, r: float, gamma: float) -> float:
    """``m <= n^((2r+2 gamma-1)/(2r+gamma))``: the most shards with enough unlabelled rows.

    Li, Liu and Wang (2022), theorem 4 (corollary 2 for exact kernels), up to constants, in
    expectation with high probability. For r in (0, 1], gamma in [0, 1] and ``2r + 2 gamma >= 1``,
    with the rows of ``semi_supervised_rows``; n counts labelled rows.

    >>> semi_supervised_partitions(10_000, r=0.25, gamma=0.5)
    100.0
    """
    exponents = THEOREM_4.require(r=r, gamma=gamma)
    return power(n, (2 * exponents.r + 2 * exponents.gamma - 1) / exponents.complexity)


def semi_supervised_rows(n: float, *, r: float, gamma: float, alpha: float = 1.0) -> float:
    """``n* >= n max(1, n^((gamma+alpha-1)/(2r+gamma)))``: labelled and unlabelled rows, in all.

    Li, Liu and Wang (2022), theorem 4, up to constants; for r in (0, 1], gamma in [0, 1], alpha in
    [gamma, 1] and ``2r + 2 gamma >= 1``. Labelled rows are enough where ``gamma + alpha <= 1``.

    >>> semi_supervised_rows(10_000, r=0.5, gamma=1.0)
    1000000.0
    >>> semi_supervised_rows(10_000, r=0.5, gamma=0.5, alpha=0.5)
    10000.0
    """
    exponents = THEOREM_4.require(r=r, gamma=gamma, alpha=alpha)
    more = (exponents.gamma + exponents.alpha - 1) / exponents.complexity
    return power(n, 1 + max(0.0, more))


def _feature_order(exponents: Exponents) -> float:
    """Return the exponent of n in the number of features; continuous at r = 1/2."""
    gamma, alpha = exponents.gamma, exponents.alpha
    above = max(0.0, 2 * exponents.r - 1)
    return (above * (1 + gamma - alpha) + alpha) / exponents.complexity
