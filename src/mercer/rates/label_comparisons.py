"""What other ways to choose labels reach: Table 1 of Murata and Suzuki (2021).

Errors are squared, up to constants and logarithms, for n labels and an infinite pool; the problem
is that of :class:`~mercer.rates.labelling_rates.Labelling`.
"""

from __future__ import annotations

from mercer.rates.labelling_rates import Labelling
from mercer.validation import check_number


def uniform_risk(n: float, problem: Labelling, *, mu: float = 1.0) -> float:
    """``(C/n)^(2r/mu) + (s2 T/n)^(2r/(2r+gamma))``: gradient descent on labels drawn uniformly.

    Pillaud-Vivien et al. (2018), Table 1 of Murata and Suzuki (2021), C left out; mu in [gamma, 1]
    with ``||Sigma^((mu-1)/2) K_x||^2`` bounded, and mu = 1 for every bounded kernel.

    >>> problem = Labelling(r=0.5, gamma=0.5, noise=0.0)
    >>> uniform_risk(100, problem), uniform_risk(100, problem, mu=0.5)
    (0.01, 0.0001)
    """
    value = check_number(mu, "mu", minimum=problem.gamma)
    if not 0 < value <= 1:
        raise ValueError(f"mu must be in [gamma, 1], above 0, got {value:g}")
    return float(_rows(n) ** (-2 * problem.r / value) + _noisy(n, problem))


def prefix_risk(n: float, problem: Labelling) -> float:
    """``min(n^-2r + (s2/n)^(2r/(2r+1)), (M^2 T/n)^(2r/(2r+gamma)))``: KTR3 on uniform labels.

    Jun, Cutkosky and Orabona (2019), Table 1 of Murata and Suzuki (2021); r in (0, 1].

    >>> prefix_risk(100, Labelling(r=0.5, gamma=0.5, noise=0.0))
    0.01
    """
    r, rows = problem.r, _rows(n)
    low_noise = rows ** (-2 * r) + (problem.noise / rows) ** (2 * r / (2 * r + 1))
    bounded = problem.largest**2 * problem.trace / rows
    return float(min(low_noise, bounded ** (2 * r / (2 * r + problem.gamma))))


def eigenfunction_risk(n: float, problem: Labelling) -> float:
    """``n^(-(decay-1)/2)``: least squares on the leading eigenfunctions of the pool (SSSL, SSSR).

    Ji et al. (2012), Table 1 of Murata and Suzuki (2021); only for r >= 1/2 and no noise, with
    gamma > 0.

    >>> eigenfunction_risk(100, Labelling(r=0.5, gamma=0.25, noise=0.0))
    0.001
    """
    if problem.r < 0.5 or problem.noise != 0 or problem.gamma == 0:
        raise ValueError(
            "not covered by Ji et al. (2012): it needs r >= 1/2, gamma > 0 and no noise, got "
            f"r = {problem.r:g}, gamma = {problem.gamma:g}, noise = {problem.noise:g}"
        )
    return float(_rows(n) ** (-(problem.decay - 1) / 2))


def uniform_features_risk(n: float, problem: Labelling) -> float:
    """``n^-2r + (s2 T/n)^(2r/(2r+gamma))``: ridge regression on random features, uniform labels.

    Rudi and Rosasco (2017), Table 1 of Murata and Suzuki (2021); only for r >= 1/2.

    >>> uniform_features_risk(100, Labelling(r=0.5, gamma=0.5, noise=0.0))
    0.01
    """
    if problem.r < 0.5:
        raise ValueError(
            f"not covered by Rudi and Rosasco (2017): r must be at least 1/2, got {problem.r:g}"
        )
    return float(_rows(n) ** (-2 * problem.r) + _noisy(n, problem))


def _rows(n: float) -> float:
    """Return n, checked."""
    return check_number(n, "n", minimum=1.0)


def _noisy(n: float, problem: Labelling) -> float:
    """Return ``(s2 T/n)^(2r/(2r+gamma))``, the part that all owe to the noise."""
    r = problem.r
    return float((problem.noise * problem.trace / _rows(n)) ** (2 * r / (2 * r + problem.gamma)))
