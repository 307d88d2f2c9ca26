"""Conjugate gradients in few functions: Lin and Cevher (2018), *Kernel Conjugate Gradient Methods
with Random Projections*.

The number of steps regularizes, so nothing saturates: the source exponent zeta, which is the r of
the other papers, has no upper limit. ``norm`` is their a in [0, min(zeta, 1/2)], the norm of the
error: 0 is the prediction error, 1/2 the norm of the kernel's space. Sizes are up to constants;
logarithms of n are kept where the paper has them, those of the confidence where ``confidence`` is a
parameter.
"""

from __future__ import annotations

import math

from mercer.rates.exponents import Conditions, Exponents, Interval, log_factor, power
from mercer.validation import check_number

PAPER = "Lin and Cevher (2018)"
_ANY = Interval(0, math.inf, "[)")
THEOREM_3_1 = Conditions(f"{PAPER}, theorem 3.1", r=_ANY)
COROLLARY_3_2 = Conditions(f"{PAPER}, corollary 3.2", r=_ANY)
COROLLARY_3_3 = Conditions(
    f"{PAPER}, corollary 3.3", r=_ANY, joint=(("2 r + gamma > 1", lambda e: _well_posed(e)),)
)
COROLLARY_5_21 = Conditions(f"{PAPER}, corollary 5.21", r=_ANY)


def ill_posed_factor(n: float, *, zeta: float, gamma: float) -> float:
    """``b = max(1, log n^gamma)`` if ``2 zeta + gamma <= 1``, else 1.

    Lin and Cevher (2018), equation 24, for zeta >= 0 and gamma in [0, 1].

    >>> ill_posed_factor(1000, zeta=0.5, gamma=0.5)
    1.0
    >>> round(ill_posed_factor(1000, zeta=0.25, gamma=0.5), 3)
    3.454
    """
    exponents = THEOREM_3_1.require(r=zeta, gamma=gamma)
    return 1.0 if _well_posed(exponents) else log_factor(n, exponents.gamma)


def krylov_penalty(n: float, *, zeta: float, gamma: float) -> float:
    """``lambda = n^(-1/max(1, 2 zeta + gamma)) b``, the level that the steps regularize to.

    Lin and Cevher (2018), equation 25, for zeta >= 0 and gamma in [0, 1], b of equation 24. No
    penalty is part of the method: this is what leverage scores and projections are measured at.

    >>> krylov_penalty(10_000, zeta=0.5, gamma=1.0)
    0.01
    """
    factor = ill_posed_factor(n, zeta=zeta, gamma=gamma)
    return power(n, -1 / _denominator(Exponents(zeta, gamma))) * factor


def discrepancy(
    n: float, *, zeta: float, gamma: float, constant: float = 1.0, confidence: float | None = None
) -> float:
    """``tau = C log^(3/2)(2/delta) n^(-(zeta+1/2)/max(1, 2 zeta + gamma)) b^(zeta+1/2)``.

    The residual ``||A v_t - b||`` at which to stop. Lin and Cevher (2018), equation 26 of theorem
    3.1, for zeta >= 0 and gamma in [0, 1]; b of equation 24. The constant C depends on the problem
    and is not known. ``confidence`` is ``1 - delta``; without it the factor with delta is left out.

    >>> round(discrepancy(1000, zeta=0.5, gamma=0.5), 6)
    0.01
    >>> round(discrepancy(1000, zeta=0.25, gamma=0.5), 4)  # b = 3.45 is part of it
    0.0142
    """
    level = krylov_penalty(n, zeta=zeta, gamma=gamma)
    scale = check_number(constant, "constant", above=0.0) * _confident(confidence, 1.5)
    return float(scale * level ** (zeta + 0.5))


def krylov_error(n: float, *, zeta: float, gamma: float, norm: float = 0.0) -> float:
    """``||L^-a (f_t - f_H)|| = O(n^(-(zeta-a)/max(1, 2 zeta + gamma)) b^(zeta-a))``, not squared.

    Lin and Cevher (2018), theorem 3.1 and corollary 3.6 (all rows), up to constants and to
    ``log^(2-a)(2/delta)``, with ``a = norm`` in [0, min(zeta, 1/2)]; zeta >= 0, gamma in [0, 1]. It
    is minimax for ``2 zeta + gamma > 1``. At a = 0 its square is the excess risk.

    >>> round(krylov_error(1000, zeta=0.5, gamma=0.5) ** 2, 6)  # n^(-2/3), as in figure 2
    0.01
    """
    level = krylov_penalty(n, zeta=zeta, gamma=gamma)
    return float(level ** (zeta - _norm(norm, zeta)))


def sketch_size(
    n: float, *, zeta: float, gamma: float, norm: float = 0.0, log_power: float = 0.0
) -> float:
    """``m >= log^beta(n) n^(gamma theta)``: the fewest rows of a sketch.

    ``n^gamma max(1, log n^gamma)^-gamma`` if ``2 zeta + gamma <= 1``;
    ``n^(gamma (zeta-a)/((1-a)(2 zeta+gamma)))`` if ``zeta >= 1``; else ``n^(gamma/(2
    zeta+gamma))``. Lin and Cevher (2018), equation 29 of corollary 3.2, up to constants and to
    ``log^3(3/delta)``. ``beta = log_power`` is 0 for independent (Gaussian, sign) entries and 4 for
    randomized orthogonal systems (example 3.1). For zeta >= 0, gamma in [0, 1], a = ``norm``.

    >>> round(sketch_size(1000, zeta=0.5, gamma=0.5), 6)  # section 4: n^(1/3)
    10.0
    """
    exponents = COROLLARY_3_2.require(r=zeta, gamma=gamma)
    size = power(n, exponents.gamma * _projection_order(exponents, norm))
    logs = math.log(n) ** check_number(log_power, "log_power", minimum=0.0)
    if not _well_posed(exponents):
        size *= log_factor(n, exponents.gamma) ** -exponents.gamma
    return float(size * logs)


def landmark_size(n: float, *, zeta: float, gamma: float, norm: float = 0.0) -> float:
    """``m >= n^((max(1,zeta)-a)/((1-a)(2 zeta+gamma))) max(1, log n^gamma)``: uniform landmarks.

    Lin and Cevher (2018), corollary 3.3, up to constants, for ``2 zeta + gamma > 1`` and gamma in
    [0, 1], a = ``norm``. At zeta <= 1 this is ``n^(1/(2 zeta+gamma))`` and the logarithm.

    >>> round(landmark_size(1000, zeta=0.5, gamma=0.5), 1)  # n^(2/3) log(n) / 2
    345.4
    """
    exponents = COROLLARY_3_3.require(r=zeta, gamma=gamma)
    return power(n, _projection_order(exponents, norm)) * log_factor(n, exponents.gamma)


def leverage_size(n: float, *, zeta: float, gamma: float, norm: float = 0.0) -> float:
    """``m >= n^(gamma theta) max(1, log n^gamma)^c``: landmarks by approximate leverage.

    The powers of n of ``sketch_size``, with c = 1, and 1 - gamma if ``2 zeta + gamma <= 1``. Lin
    and Cevher (2018), corollary 5.21 (equation 79), up to constants, ``log^3(3/delta)`` and the
    square of the factor L by which scores may be off. For zeta >= 0, gamma in [0, 1], a = ``norm``.
    Remark 3.4 gives equation 29 instead, which has a logarithm less.

    >>> round(leverage_size(1000, zeta=0.5, gamma=0.5), 2)
    34.54
    """
    exponents = COROLLARY_5_21.require(r=zeta, gamma=gamma)
    logs = 1.0 if _well_posed(exponents) else 1 - exponents.gamma
    size = power(n, exponents.gamma * _projection_order(exponents, norm))
    return float(size * log_factor(n, exponents.gamma) ** logs)


def _well_posed(exponents: Exponents) -> bool:
    """Return whether ``2 zeta + gamma > 1``, where rounding does not count as more."""
    return exponents.complexity > 1 + 1e-12


def _denominator(exponents: Exponents) -> float:
    """Return ``max(1, 2 zeta + gamma)``."""
    return max(1.0, exponents.complexity)


def _norm(norm: float, zeta: float) -> float:
    """Return a, in [0, min(zeta, 1/2)]."""
    value = check_number(norm, "norm", minimum=0.0)
    if value > min(zeta, 0.5):
        raise ValueError(
            f"norm must be in [0, min(zeta, 1/2)] = [0, {min(zeta, 0.5):g}], got {value:g}: 0 is "
            "the prediction error"
        )
    return value


def _projection_order(exponents: Exponents, norm: float) -> float:
    """Return theta with which ``||(I - P) T^(1/2)||^2 = O(n^-theta)`` satisfies equation 25."""
    a = _norm(norm, exponents.r)
    return (max(1.0, exponents.r) - a) / ((1 - a) * _denominator(exponents))


def _confident(confidence: float | None, exponent: float) -> float:
    """Return ``log^exponent(2 / delta)``, or 1 without a confidence."""
    if confidence is None:
        return 1.0
    value = check_number(confidence, "confidence", above=0.0)
    if value >= 1:
        raise ValueError(f"confidence must be below 1, got {value:g}: 0.95 is usual")
    return float(math.log(2 / (1 - value)) ** exponent)
