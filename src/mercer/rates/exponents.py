"""The exponents that describe a problem, and how the papers' conventions relate.

Every statement of this package is about three numbers:

``r``
    smoothness of the target, ``f = L^r g`` with g square-integrable and L the integral operator of
    the kernel (the source condition). From ``r = 1/2`` on, f is in the space of the kernel (the
    attainable case).
``gamma``
    capacity, ``N(lambda) = tr(L (L + lambda)^-1) = O(lambda^-gamma)``: the effective dimension.
    ``gamma = 1`` holds for every bounded kernel, and 0 for a finite number of functions.
``alpha``
    the same for the largest value in place of the mean, ``N_inf(lambda) = O(lambda^-alpha)``, so it
    is in ``[gamma, 1]``. ``alpha = 1`` holds for every bounded kernel. It is the exponent of the
    papers, not the penalty, which is called ``penalty`` here.

A statement asks something of them (:class:`Conditions`), and gives powers of the number of rows,
which are known up to constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mercer.validation import check_number


@dataclass(frozen=True)
class Exponents:
    """``f = L^r g``, ``N(lambda) = O(lambda^-gamma)``, ``N_inf(lambda) = O(lambda^-alpha)``.

    ============================================  ===================  ==================
    paper                                         source condition     capacity
    ============================================  ===================  ==================
    Li, Liu and Wang (2022, 2023)                 r                    gamma
    Lin and Cevher (2018)                         zeta = r             gamma
    Murata and Suzuki (2021)                      r                    decay = 1 / gamma
    distributed ranking with random features      r - 1/2              none (gamma = 1)
    ============================================  ===================  ==================

    For rankings ``L^-r f`` is in the space of the kernel, which is ``L^(1/2)`` of the
    square-integrable functions: half a unit more is asked for, and errors are in that space's norm.
    Li, Liu and Wang define ``N_inf`` as a supremum over rows x for landmarks (2023) and over
    features omega for random features (2022): two numbers for one kernel, each ``alpha`` there.

    Parameters
    ----------
    r : float
        Smoothness of the target, at least 0.
    gamma : float
        Capacity, in [0, 1].
    alpha : float
        Capacity by the supremum, in [gamma, 1]; the default holds for every bounded kernel.

    Examples
    --------
    >>> Exponents(r=0.5, gamma=0.5)
    Exponents(r=0.5, gamma=0.5, alpha=1.0)
    >>> Exponents.of_decay(r=0.5, decay=2.0).gamma
    0.5
    >>> Exponents.of_ranking(r=0.5).r
    1.0
    """

    r: float
    gamma: float
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name in ("r", "gamma", "alpha"):
            object.__setattr__(self, name, check_number(getattr(self, name), name, minimum=0.0))
        if self.gamma > 1:
            raise ValueError(
                f"gamma must be in [0, 1], got {self.gamma:g}: the effective dimension of a "
                "bounded kernel grows no faster than 1 / lambda, so take gamma=1"
            )
        if not self.gamma <= self.alpha <= 1:
            raise ValueError(
                f"alpha must be in [gamma, 1] = [{self.gamma:g}, 1], got {self.alpha:g}: a largest "
                "value is at least the mean; alpha=1 holds for every bounded kernel"
            )

    @classmethod
    def of_zeta(cls, zeta: float, gamma: float) -> Exponents:
        """``r = zeta``: the exponents of Lin and Cevher (2018), assumptions 2 and 3.

        >>> Exponents.of_zeta(0.5, 0.5) == Exponents(0.5, 0.5)
        True
        """
        return cls(zeta, gamma)

    @classmethod
    def of_decay(cls, r: float, decay: float, alpha: float = 1.0) -> Exponents:
        """``gamma = 1 / decay``: eigenvalues ``i^-decay``, the alpha of Murata and Suzuki (2021).

        Their assumption 3 is ``tr(Sigma^(1/decay)) < inf`` with ``decay > 1``; their lemma 4.2
        turns it into ``N(lambda) <= tr(Sigma^(1/decay)) lambda^(-1/decay)``. Infinity is a finite
        number of functions.

        >>> Exponents.of_decay(1.0, float("inf")).gamma
        0.0
        """
        if not decay > 1:
            raise ValueError(f"decay must be greater than 1 (infinity is allowed), got {decay!r}")
        return cls(r, 1 / decay, alpha)

    @classmethod
    def of_ranking(cls, r: float, gamma: float = 1.0, alpha: float = 1.0) -> Exponents:
        """``r + 1/2``: ``L^-r f`` in the space of the kernel, as the theory of rankings has it.

        >>> Exponents.of_ranking(0.25)
        Exponents(r=0.75, gamma=1.0, alpha=1.0)
        """
        return cls(check_number(r, "r of a ranking", minimum=0.0) + 0.5, gamma, alpha)

    @property
    def ranking_r(self) -> float:
        """``r - 1/2``, the exponent of the theory of rankings; negative if it does not apply."""
        return self.r - 0.5

    @property
    def decay(self) -> float:
        """``1 / gamma``, the exponent of the eigenvalues; infinite for gamma = 0."""
        return 1 / self.gamma if self.gamma else math.inf

    @property
    def complexity(self) -> float:
        """``2 r + gamma``, the denominator of every rate."""
        return 2 * self.r + self.gamma

    @property
    def attainable(self) -> bool:
        """Whether ``r >= 1/2``: the target is in the space of the kernel."""
        return self.r >= 0.5


#: Sums such as 2 r + gamma are compared up to rounding: 2 * 0.35 + 0.3 is 1.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Interval:
    """``[low, high]``, with round brackets where an end is left out.

    Examples
    --------
    >>> print(Interval(0, 1, "(]"), 0.0 in Interval(0, 1, "(]"), 1.0 in Interval(0, 1, "(]"))
    (0, 1] False True
    """

    low: float
    high: float
    brackets: str = "[]"

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.brackets[0] == "[" else value > self.low
        below = value <= self.high if self.brackets[1] == "]" else value < self.high
        return above and below

    def __str__(self) -> str:
        return f"{self.brackets[0]}{self.low:g}, {self.high:g}{self.brackets[1]}"


#: A condition on several exponents: its words, and whether it holds.
Joint = tuple[str, Callable[[Exponents], bool]]


def at_least(words: str, left: Callable[[Exponents], float], right: float = 1.0) -> Joint:
    """``left(exponents) >= right`` up to rounding, as a joint condition with its words."""
    return words, lambda exponents: left(exponents) >= right - TOLERANCE


@dataclass(frozen=True)
class Conditions:
    """``r in I, gamma in J`` and inequalities between them, for one statement of one paper.

    Examples
    --------
    >>> thm = Conditions("theorem 2", joint=(at_least("2 r + gamma >= 1", lambda e: e.complexity),))
    >>> print(thm)
    r in (0, 1], gamma in [0, 1], 2 r + gamma >= 1
    >>> thm.broken(Exponents(r=0.25, gamma=0.25))
    ['2 r + gamma >= 1 does not hold: r = 0.25, gamma = 0.25, alpha = 1']
    """

    statement: str
    r: Interval = Interval(0, 1, "(]")
    gamma: Interval = Interval(0, 1)
    joint: tuple[Joint, ...] = ()

    def broken(self, exponents: Exponents) -> list[str]:
        """Return what does not hold, in words; an empty list if the statement covers them."""
        words = [
            f"{name} must be in {interval}, got {getattr(exponents, name):g}"
            for name, interval in (("r", self.r), ("gamma", self.gamma))
            if getattr(exponents, name) not in interval
        ]
        if exponents.r > self.r.high:
            words[0] += f" (the rate is no better than at r = {self.r.high:g})"
        got = f"r = {exponents.r:g}, gamma = {exponents.gamma:g}, alpha = {exponents.alpha:g}"
        return words + [
            f"{text} does not hold: {got}" for text, holds in self.joint if not holds(exponents)
        ]

    def require(self, **given: float) -> Exponents:
        """Return the exponents, or raise a ValueError that says what the statement does not cover.

        >>> Conditions("theorem 1", r=Interval(0.5, 1)).require(r=0.25, gamma=1.0)
        Traceback (most recent call last):
        ...
        ValueError: not covered by theorem 1: r must be in [0.5, 1], got 0.25
        """
        exponents = Exponents(**given)
        broken = self.broken(exponents)
        if broken:
            raise ValueError(f"not covered by {self.statement}: {'; '.join(broken)}")
        return exponents

    def __str__(self) -> str:
        texts = [text for text, _ in self.joint]
        return ", ".join([f"r in {self.r}", f"gamma in {self.gamma}", *texts])


def power(n: float, exponent: float) -> float:
    """``n^exponent``, a size up to constants; infinite where floats end.

    >>> power(10_000, 0.5)
    100.0
    """
    rows = check_number(n, "n", minimum=1.0)
    return float(rows**exponent) if exponent * math.log(rows) < 709 else math.inf


def log_factor(n: float, gamma: float) -> float:
    """``max(1, log n^gamma)``, the logarithm in the sizes of Lin and Cevher (2018).

    >>> log_factor(1000, 0.0), round(log_factor(1000, 0.5), 3)
    (1.0, 3.454)
    """
    return max(1.0, gamma * math.log(check_number(n, "n", minimum=1.0)))


def fewest(size: float, constant: float = 1.0) -> int:
    """``ceil(constant * size)``, at least 1: the fewest functions or rows that a bound asks for.

    A size within rounding of an integer counts as that integer.

    >>> fewest(1000 ** (1 / 3)), fewest(1000 ** (2 / 3)), fewest(0.2)
    (10, 100, 1)
    """
    return max(1, math.ceil(_scaled(size, constant) * (1 - 1e-12)))


def most(size: float, constant: float = 1.0) -> int:
    """``floor(constant * size)``, at least 1: the most partitions that a bound allows.

    >>> most(1000 ** (1 / 3)), most(10.9), most(0.2)
    (10, 10, 1)
    """
    return max(1, math.floor(_scaled(size, constant) * (1 + 1e-12)))


def _scaled(size: float, constant: float) -> float:
    """Return ``constant * size``, both checked."""
    scale = check_number(constant, "constant", above=0.0)
    return scale * check_number(size, "size", minimum=0.0)


# -- what exact kernel ridge regression reaches, which the others are held to -------------------

#: Attainable or not, below saturation; the lower bound is known for 2 r + gamma > 1.
KRR = Conditions("the rates of kernel ridge regression (Caponnetto and De Vito, 2007)")


def optimal_penalty(n: float, *, r: float, gamma: float) -> float:
    """``lambda = n^(-1/(2r+gamma))``, up to constants.

    The penalty of Li, Liu and Wang (2022), theorems 1 to 4, and (2023), proposition 8 and theorems
    11 and 16, after Caponnetto and De Vito (2007). For r in (0, 1] and gamma in [0, 1]; the penalty
    is that of ``(1/n) sum_i (f(x_i) - y_i)^2 + lambda ||f||^2``.

    >>> optimal_penalty(10_000, r=0.5, gamma=1.0)
    0.01
    """
    return power(n, -1 / KRR.require(r=r, gamma=gamma).complexity)


def optimal_risk(n: float, *, r: float, gamma: float) -> float:
    """``E(f) - E(f_rho) = ||f - f_rho||^2 = O(n^(-2r/(2r+gamma)))``, up to constants.

    The minimax rate of Caponnetto and De Vito (2007), which every system of Li, Liu and Wang (2022,
    2023) keeps under its conditions. For r in (0, 1], where ridge regression saturates, and gamma
    in [0, 1].

    >>> optimal_risk(10_000, r=0.5, gamma=1.0)
    0.01
    >>> optimal_risk(1000, r=1.0, gamma=0.0)
    0.001
    """
    exponents = KRR.require(r=r, gamma=gamma)
    return power(n, -2 * exponents.r / exponents.complexity)


def effective_dimension(penalty: float, *, gamma: float, constant: float = 1.0) -> float:
    """``N(lambda) <= C lambda^-gamma``, the capacity assumption, for gamma in [0, 1].

    Li, Liu and Wang (2023), assumption 6; (2022), assumption 3; Lin and Cevher (2018), equation 23.
    With alpha for gamma it bounds ``N_inf``: (2023), assumption 7; (2022), assumption 5.

    >>> effective_dimension(0.01, gamma=0.5)
    10.0
    """
    bound = check_number(constant, "constant", above=0.0)
    exponent = Exponents(r=1.0, gamma=gamma).gamma
    return float(bound * check_number(penalty, "penalty", above=0.0) ** -exponent)
