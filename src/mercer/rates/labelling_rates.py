"""Labels by importance: Murata and Suzuki (2021), *Gradient Descent in RKHS with Importance
Labeling* (CRED).

Their alpha > 1 is the decay of the eigenvalues, ``decay`` here: ``tr(Sigma^(1/decay)) < inf``, so
gamma = 1 / decay. n counts labels, ``pool`` the rows N to choose from (infinite by default). All is
up to constants and to powers of log n and of the logarithm of the confidence. ``noise`` is the
variance sigma^2 of the labels, ``trace`` is ``tr(Sigma^(1/decay))``, ``radius`` the R of the source
condition, ``bound`` the kappa with ``K(x, x) <= kappa^2``, ``largest`` the bound M of ``|y|``.

What other ways to choose labels reach is their table 1: squared errors, up to constants and
logarithms, for n labels and an infinite pool.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.rates.exponents import Conditions, Exponents, Interval
from mercer.validation import check_number

PAPER = "Murata and Suzuki (2021)"
#: Eigenvalues that decay faster than 1 / i: gamma = 1 is left out.
THEOREM_4_4 = Conditions(f"{PAPER}, theorem 4.4", gamma=Interval(0, 1, "[)"))
THEOREM_6_3 = Conditions(f"{PAPER}, theorem 6.3", gamma=Interval(0, 1, "[)"))


@dataclass(frozen=True)
class Labelling:
    """``f = L^r g`` with ``||g|| <= R``, ``tr(Sigma^gamma) < inf``, noise sigma^2, pool of N rows.

    Murata and Suzuki (2021), assumptions 1 to 4: r in (0, 1], decay = 1 / gamma > 1, so gamma in
    [0, 1), noise at least 0.

    Examples
    --------
    >>> Labelling(r=0.5, gamma=0.5, noise=0.0)
    Labelling(r=0.5, gamma=0.5, noise=0.0, trace=1.0, radius=1.0, pool=inf, bound=1.0, largest=1.0)
    """

    r: float
    gamma: float
    noise: float = 1.0
    trace: float = 1.0
    radius: float = 1.0
    pool: float = math.inf
    bound: float = 1.0
    largest: float = 1.0

    def __post_init__(self) -> None:
        THEOREM_4_4.require(r=self.r, gamma=self.gamma)
        check_number(self.noise, "noise", minimum=0.0)
        for name in ("trace", "radius", "bound", "largest"):
            check_number(getattr(self, name), name, above=0.0)
        if not self.pool >= 1:
            raise ValueError(f"pool must be at least 1, got {self.pool!r}: infinity is allowed")

    @property
    def decay(self) -> float:
        """``1 / gamma``, the alpha of the paper."""
        return Exponents(self.r, self.gamma).decay


def pool_penalty(n: float, problem: Labelling) -> float:
    """``lambda_N = ((kappa^2 s2 + kappa^2 M^2/N + kappa^4r R^2/N) / (nN))^(1/(1+2r)) + ...``.

    The rest is ``kappa^2 R^2 / (nN) + kappa R / (sqrt(n) N)``: what a pool of N rows adds to the
    penalty, 0 for an infinite one. Murata and Suzuki (2021), definition 4.2, up to constants and
    logarithms, for r in (0, 1].

    >>> pool_penalty(100, Labelling(r=0.5, gamma=0.5))
    0.0
    >>> pool_penalty(100, Labelling(r=0.5, gamma=0.5, noise=0.0, pool=10_000))
    2.51...e-05
    """
    labels = check_number(n, "n", minimum=1.0)
    if math.isinf(problem.pool):
        return 0.0
    pool, r, kappa, radius = problem.pool, problem.r, problem.bound, problem.radius
    spread = kappa**2 * problem.largest**2 + kappa ** (4 * r) * radius**2
    first = (kappa**2 * problem.noise + spread / pool) / (labels * pool)
    rest = kappa**2 * radius**2 / (labels * pool) + kappa * radius / (math.sqrt(labels) * pool)
    return float(first ** (1 / (1 + 2 * r)) + rest)


def labelling_penalty(n: float, problem: Labelling) -> float:
    """``lambda_* = (s2 T/n)^(decay/(2r decay+1)) + (R^2 T/n)^decay + lambda_N``, T the trace.

    In gamma = 1 / decay: ``(s2 T/n)^(1/(2r+gamma)) + (R^2 T/n)^(1/gamma) + lambda_N``. Murata and
    Suzuki (2021), definition 4.2, up to constants and logarithms; r in (0, 1], gamma in [0, 1). It
    is the penalty of the fit, and lambda_q of the scores by which rows are drawn (theorem 4.4).

    >>> labelling_penalty(10_000, Labelling(r=0.5, gamma=0.5, noise=0.0))
    1e-08
    >>> round(labelling_penalty(1000, Labelling(r=0.5, gamma=0.5)), 6)
    0.010001
    """
    share = problem.trace / check_number(n, "n", minimum=1.0)
    noisy = (problem.noise * share) ** (1 / (2 * problem.r + problem.gamma))
    exact = _steep_power(problem.radius**2 * share, problem.decay)
    return float(noisy + exact + pool_penalty(n, problem))


def labelling_steps(n: float, problem: Labelling, *, step_size: float) -> int:
    """``T = ceil(1 / (eta lambda_*))``: steps of gradient descent on the labelled rows.

    Murata and Suzuki (2021), definition 4.2, up to constants and logarithms; eta of the order of
    ``1 / kappa^2``. More steps than the ridge solution is worth where lambda_* is tiny.

    >>> labelling_steps(100, Labelling(r=0.5, gamma=0.5, noise=0.0), step_size=1.0)
    10000
    """
    eta, penalty = check_number(step_size, "step_size", above=0.0), labelling_penalty(n, problem)
    if penalty == 0:
        raise ValueError("lambda_* is 0, so no number of steps is enough: solve directly")
    return math.ceil(1 / (eta * penalty) * (1 - 1e-12))


def labelling_risk(n: float, problem: Labelling) -> float:
    """``||f - f_*||^2 = O(lambda_*^2r)``, the error of CRED with n labels.

    Murata and Suzuki (2021), theorem 4.4 (gradient descent), section C (ridge) and theorem 6.3
    (random features), up to constants and logarithms; r in (0, 1], gamma in [0, 1). The sum of
    Table 1 of the paper, ``(T/n)^(2r decay) + (s2 T/n)^(2r decay/(2r decay+1))``, up to constants.

    >>> labelling_risk(100, Labelling(r=0.5, gamma=0.5, noise=0.0))  # n^(-2r decay)
    0.0001
    """
    return float(labelling_penalty(n, problem) ** (2 * problem.r))


def labelling_features(n: float, problem: Labelling) -> float:
    """``m >= 1 + kappa^2 / lambda_*``: the fewest random features of RF-CRED.

    Murata and Suzuki (2021), theorem 6.3, up to constants and logarithms; r in (0, 1], gamma in
    [0, 1), attainable or not.

    >>> labelling_features(100, Labelling(r=0.5, gamma=0.5, noise=0.0))
    10001.0
    """
    penalty = labelling_penalty(n, problem)
    return 1 + problem.bound**2 / penalty if penalty else math.inf


def labelling_pool(n: float, problem: Labelling) -> float:
    """``N >= max(n, 1 + kappa^2 / lambda_q)``: the fewest rows to choose from, lambda_q = lambda_*.

    Murata and Suzuki (2021), proposition 4.3 and section 2.1 (n < N), up to constants and
    logarithms. It makes the scores reliable; that lambda_N does not matter may take more rows.

    >>> labelling_pool(100, Labelling(r=0.5, gamma=0.5, noise=0.0))
    10001.0
    """
    return max(n, labelling_features(n, problem))


def labels_needed(error: float, problem: Labelling) -> float:
    """The n with ``lambda_*(n)^2r = error``: how many labels for an error, up to constants.

    The inverse of Murata and Suzuki (2021), theorem 4.4, found by bisection, since ``lambda_*`` is
    a sum. With little noise ``n = R^2 T error^(-gamma/2r)``, with much ``n = s2 T
    error^(-(2r+gamma)/2r)``. Infinite if the pool is too small for the error at any n it has.

    >>> round(labels_needed(1e-4, Labelling(r=0.5, gamma=0.5, noise=0.0)), 3)
    100.0
    >>> labels_needed(1e-9, Labelling(r=0.5, gamma=0.5, pool=100))
    inf
    """
    wanted = check_number(error, "error", above=0.0)
    low, high = 0.0, math.log(min(problem.pool, 1e300))
    if labelling_risk(math.exp(high), problem) > wanted:
        return math.inf
    if labelling_risk(1.0, problem) <= wanted:
        return 1.0
    for _ in range(200):  # of log n: 200 halvings are past the last bit
        middle = (low + high) / 2
        enough = labelling_risk(math.exp(middle), problem) <= wanted
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)


def _steep_power(base: float, exponent: float) -> float:
    """Return ``base^exponent`` for exponents up to infinity, where it is a step at 1."""
    if base > 1 and exponent * math.log(base) > 700:  # where floats end
        return math.inf
    return float(base**exponent)


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
