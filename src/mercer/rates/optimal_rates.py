"""What exact kernel ridge regression needs and reaches: the rates that the others are held to."""

from __future__ import annotations

from mercer.rates.exponents import Conditions, Exponents, power
from mercer.validation import check_number

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
