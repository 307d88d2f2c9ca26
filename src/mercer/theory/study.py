"""What a problem is like: exponents and errors, measured on a sample of its rows.

1. The capacity of the kernel on the rows: effective dimension and largest leverage.
2. Errors of fits to parts of the rows, with few and with more functions, and of averages over
   shards, all from sums over folds.
3. The exponents: gamma from the capacity, and r from the rate n^-beta of the error above the noise,
   ``beta = 2r / (2r + gamma)``.
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass, replace

import numpy as np

from mercer.engines import blas_threads
from mercer.kernels import Kernel
from mercer.rates import Exponents
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.sampling import uniform_indices
from mercer.search.sample import labelled_rows, sampled_rows
from mercer.theory.capacity import Capacity, capacity_of_rows
from mercer.theory.learning_surface import Decay, Estimate, Point, PowerLaw, Surface
from mercer.theory.local_kernels import LocalFit, LocalKernels
from mercer.theory.sub_sums import (
    Measured,
    error_rates,
    errors_by_partitions,
    errors_by_rows,
    points_of,
    spread_of,
    sums_by_fold,
)

#: Rows and functions of the fits, unless they are given.
SAMPLE, FUNCTIONS = 8000, 600
#: Fewest labelled rows: the smallest of the fits has a sixteenth of them.
FEWEST = 320
#: The largest r that ridge regression can use (its saturation), and the least that is reported.
LARGEST_R, SMALLEST_R = 1.0, 0.01
#: An exponent whose interval is wider than this factor is open.
WIDE = 4.0
#: What shards add to a relative error, at the least.
NOTHING = 1e-5

#: Fewer functions, as shares of the most; random features are measured with the last two.
SHARES = (0.25, 0.5, 1.0)

#: Rows of a shard, and what they add to an error.
Excess = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Study:
    """What was measured of a problem.

    Attributes
    ----------
    n_rows : int
        Rows of the sample.
    capacity : Capacity
        Effective dimension and largest leverage along alpha.
    surface : Surface
        The squared error, relative to predicting the mean, by rows and functions.
    rate_surface : Surface or None
        The same of the error rate, for classes.
    decay : Decay or None
        The rate of the exact kernel's error on nested subsamples; None if rows stay in shards.
    spread : float
        The mean square of y around its mean, in the units of y, that errors are relative to.
    alpha_law : PowerLaw
        The alpha that suits n rows.
    alphas : tuple of (rows, alpha)
        What it was fitted to.
    excess : dict
        What an average over shards adds to the error, by "shared" or "full" functions: rows of a
        shard, and what is added to the error of ``surface`` or ``rate_surface``.
    points : tuple of Point
        The measured errors.
    seconds : float
        Wall time.
    """

    n_rows: int
    capacity: Capacity
    surface: Surface
    rate_surface: Surface | None
    decay: Decay | None
    spread: float
    alpha_law: PowerLaw
    alphas: tuple[tuple[float, float], ...]
    excess: dict[str, Excess]
    points: tuple[Point, ...]
    seconds: float

    @property
    def gamma(self) -> Estimate:
        """The capacity exponent, in [0, 1]; 1, which always holds, if it is not known."""
        return _exponent(self.capacity.gamma)

    @property
    def supremum(self) -> Estimate:
        """The exponent alpha of the largest leverage, at least gamma."""
        found, gamma = _exponent(self.capacity.supremum), self.gamma
        return Estimate(*map(max, astuple(found), astuple(gamma)))

    @property
    def rate(self) -> Estimate:
        """beta: the error above the noise falls as n^-beta."""
        return self.surface.rate if self.decay is None else self.decay.rate

    @property
    def r(self) -> Estimate:
        """The source exponent: ``r = gamma beta / (2 (1 - beta))``, at most 1."""
        return Estimate(*map(_source, astuple(self.rate), astuple(self.gamma)))

    @property
    def r_verdict(self) -> str:
        """Whether the sample determines r, in words."""
        if self.r.high > WIDE * self.r.low:
            return "the sample cannot tell"
        return "at least: ridge regression uses no more" if self.r.value >= LARGEST_R else "known"

    @property
    def exponents(self) -> Exponents:
        """The exponents as the statements of the papers take them."""
        gamma = self.gamma.value
        return Exponents(self.r.value, gamma, max(self.supremum.value, gamma))

    def alpha(self, rows: float) -> float:
        """Return the alpha that suits n rows, by what suited fewer."""
        return suited(rows, self.alphas, self.alpha_law)

    @property
    def stated(self) -> Surface:
        """The surface of the error as it is stated: of the error rate for classes."""
        return self.rate_surface or self.surface

    def added(self, functions: str, rows_each: float) -> float:
        """Return what an average over shards of so many rows adds to the error.

        It falls with the rows of a shard; by a power law beyond the measured ones.
        """
        measured = sorted(self.excess[functions])
        x = np.log([rows for rows, _ in measured])
        y = np.log([max(value, NOTHING) for _, value in measured])
        slope = min(float(np.polyfit(x, y, 1)[0]), 0.0)
        at = np.log(rows_each)
        outside = min(at - x[0], 0.0) + max(at - x[-1], 0.0)
        return float(np.exp(min(float(np.interp(at, x, y)) + slope * outside, 0.0)))


def suited(rows: float, alphas: tuple[tuple[float, float], ...], law: PowerLaw) -> float:
    """Return the alpha for n rows by a power law, from the last that was found."""
    last_rows, last = alphas[-1]
    exponent = law.exponent if law.known else -1.0
    return float(last * (rows / last_rows) ** np.clip(exponent, -1.0, 0.0))


def _exponent(law: PowerLaw) -> Estimate:
    """Return minus the exponent of a law, in [0, 1]."""
    if not law.known:
        return Estimate(1.0, 0.0, 1.0)
    value, low, high = (float(np.clip(-e, 0.0, 1.0)) for e in (law.exponent, law.high, law.low))
    return Estimate(value, min(low, value), max(high, value))


def _source(beta: float, gamma: float) -> float:
    r = LARGEST_R if beta >= 1 else gamma * beta / (2 * (1 - beta))
    return float(np.clip(r, SMALLEST_R, LARGEST_R))


@blas_threads(1)  # on a busy machine, threads that wait for each other cost more
def study_rows(
    rows: RowSet,
    request: Request,
    *,
    sample: int | None = SAMPLE,
    n_components: int = FUNCTIONS,
    classes: bool = False,
) -> Study:
    """Measure a problem on a sample of its rows, or on all of them (``sample=None``).

    Parameters
    ----------
    rows : RowSet
        The rows, in one place or in shards.
    request : Request
        The parameters of the fit; its kernel has numeric parameters.
    sample : int or None
        Rows to bring to one place; None means all rows, where they are.
    n_components : int
        Functions of the largest fits.
    classes : bool
        Whether to measure error rates too.
    """
    start = time.perf_counter()
    seed = request.seeds.search()
    rng = np.random.default_rng(seed)
    targets = request.targets
    if sample is not None:
        rows, targets = sampled_rows(rows, targets, sample, rng)
    labelled = labelled_rows(rows, targets)
    if labelled < FEWEST:
        raise ValueError(
            f"a plan needs at least {FEWEST} rows with labels to measure how errors fall, got "
            f"{labelled}: so few are fitted in a second, without a plan"
        )
    # The largest of the fits has three quarters of the rows: functions beyond a third of them
    # would show interpolation, not what functions are worth.
    most = max(8, min(n_components, labelled // 4))
    pilot = rows.take(uniform_indices(rows.n_rows, 2000, rng))
    request = replace(request, targets=targets, kernel=request.kernel.fitted(pilot))
    capacity = capacity_of_rows(rows, request, most, rng)
    measured: list[tuple[str, Measured, float]] = []
    rates: list[tuple[str, Measured, float]] = []
    for family, size in families(request, rows.n_features, most):
        basis, folds, reading = sums_by_fold(rows, targets, request, family, size, seed, rng)
        found = errors_by_rows(folds, basis, request.intercept)
        parted: list[Measured] = []
        if family == "landmarks" and size == most:
            parted = errors_by_partitions(folds, basis, request.intercept, found[-1].alpha)
            averaged, alphas = [found[-1], *parted], alphas_by_rows(found)
            spread = spread_of(folds, request)
        measured += [(family, one, one.error) for one in found]
        if classes:
            wrong = error_rates(rows, targets, basis, reading, seed, [*found, *parted])
            rates += [(family, one, rate) for one, rate in zip(found, wrong, strict=False)]
            if parted:
                by_shards = wrong[len(found) - 1 :]
    points = points_of(measured)
    surface = Surface.of(points)
    rate_surface = Surface.of(points_of(rates)) if classes else None
    stated = by_shards if classes else [one.error for one in averaged]
    excess = {"shared": _excess([one.rows / one.shards for one in averaged], stated)}
    law = PowerLaw.of(*np.array(alphas).T)
    decay: Decay | None = None
    if rows.one_place:
        exact = LocalKernels(rows, targets, request.kernel, request.intercept)
        nested = exact.subsamples(lambda n: suited(n, tuple(alphas), law))
        decay = Decay.of([one.rows for one in nested], [one.error for one in nested])
        local = exact.averages(averaged[0].alpha, classes)
        excess["full"] = added_to_full(local, averaged[0].rows, rate_surface or surface)
    return Study(
        rows.n_rows,
        capacity,
        surface,
        rate_surface,
        decay,
        spread,
        law,
        tuple(alphas),
        excess,
        tuple(points),
        time.perf_counter() - start,
    )


def added_to_full(local: list[LocalFit], trained: float, surface: Surface) -> Excess:
    """Return what shards add to the error of the full kernel, fitted to so many rows."""
    whole = surface.at(trained, trained).value
    rows_each = [trained, *(one.rows for one in local)]
    return _excess(rows_each, [whole, *(one.error for one in local)])


def _excess(rows_each: list[float], errors: list[float]) -> Excess:
    """Return what shards add to the least of the errors; larger shards never add more."""
    order = np.argsort(rows_each)
    added = np.array(errors)[order] - min(errors)
    falling = np.maximum.accumulate(added[::-1])[::-1]
    return tuple(zip(np.array(rows_each)[order].tolist(), falling.tolist(), strict=True))[:-1]


def families(request: Request, n_features: int, most: int) -> list[tuple[str, int]]:
    """Return the bases to measure: landmarks, and random features where the kernel has them."""
    found = [("landmarks", max(4, int(share * most))) for share in SHARES]
    if has_random_features(request.kernel, n_features):
        found += [("random features", max(4, int(share * most))) for share in SHARES[1:]]
    return found


def has_random_features(kernel: Kernel, n_features: int) -> bool:
    """Return whether random features of a kernel can be drawn."""
    try:
        kernel.feature_map(2, n_features, np.random.default_rng(0))
    except ValueError:
        return False
    return True


def alphas_by_rows(measured: list[Measured]) -> list[tuple[float, float]]:
    """Return the geometric mean of the chosen alphas for every number of rows."""
    groups: dict[int, list[Measured]] = {}
    for one in measured:
        groups.setdefault(one.folds, []).append(one)
    return [
        (
            float(np.mean([one.rows for one in group])),
            float(np.exp(np.mean(np.log([one.alpha for one in group])))),
        )
        for group in groups.values()
    ]
