"""What a problem is like: exponents and errors, measured on a sample of its rows.

1. The capacity of the kernel on the rows: effective dimension and largest leverage.
2. Errors of fits to parts of the rows, with few and with more functions, and of averages over
   shards, all from sums over folds.
3. The exponents: gamma from the capacity, and r from the rate n^-beta of the error above the noise,
   ``beta = 2r / (2r + gamma)``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from mercer.bases import BasisTransformer, Landmarks, RandomFeatures
from mercer.contracts import Array, Reading, Targets
from mercer.engines import blas_threads
from mercer.kernels import Kernel
from mercer.moments import Moments, sum_moments
from mercer.plan import make_plan
from mercer.rates import Exponents
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.sampling import uniform_indices
from mercer.search.sample import labelled_rows, sampled_rows
from mercer.solvers import Ridge
from mercer.theory.capacity import Capacity, capacity_of_rows
from mercer.theory.decisions import error_rates
from mercer.theory.learning_surface import Estimate, Point, Surface
from mercer.theory.local_kernels import errors_of_local_kernels
from mercer.theory.power_law import PowerLaw
from mercer.theory.sub_sums import (
    FOLDS,
    Measured,
    errors_by_partitions,
    errors_by_rows,
)

#: Rows and functions of the fits, unless they are given.
SAMPLE, FUNCTIONS = 8000, 600
#: Fewer functions, as shares of the most; random features are measured with the last two.
SHARES = (0.25, 0.5, 1.0)
#: Fewest labelled rows: the smallest of the fits has a sixteenth of them.
FEWEST = 320
#: The largest r that ridge regression can use (its saturation), and the least that is reported.
LARGEST_R, SMALLEST_R = 1.0, 0.01
#: What shards add to a relative error, at the least.
NOTHING = 1e-5


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
    spread: float
    alpha_law: PowerLaw
    alphas: tuple[tuple[float, float], ...]
    excess: dict[str, tuple[tuple[float, float], ...]]
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
        return Estimate(*(max(a, b) for a, b in zip(_values(found), _values(gamma), strict=True)))

    @property
    def r(self) -> Estimate:
        """The source exponent: ``r = gamma beta / (2 (1 - beta))``, at most 1."""
        beta, gamma = self.surface.rate, self.gamma
        return Estimate(
            _source(beta.value, gamma.value),
            _source(beta.low, gamma.low),
            _source(beta.high, gamma.high),
        )

    @property
    def exponents(self) -> Exponents:
        """The exponents as the statements of the papers take them."""
        gamma = self.gamma.value
        return Exponents(self.r.value, gamma, max(self.supremum.value, gamma))

    def alpha(self, rows: float) -> float:
        """Return the alpha that suits n rows, by what suited fewer."""
        last_rows, last = self.alphas[-1]
        exponent = self.alpha_law.exponent if self.alpha_law.known else -1.0
        return float(last * (rows / last_rows) ** np.clip(exponent, -2.0, 0.0))

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


def _values(interval: Estimate) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def _exponent(law: PowerLaw) -> Estimate:
    """Return minus the exponent of a law, in [0, 1]."""
    if not law.known:
        return Estimate(1.0, 0.0, 1.0)
    value, low, high = (float(np.clip(-e, 0.0, 1.0)) for e in (law.exponent, law.high, law.low))
    return Estimate(value, min(low, value), max(high, value))


def _source(beta: float, gamma: float) -> float:
    r = LARGEST_R if beta >= 1 else gamma * beta / (2 * (1 - beta))
    return float(np.clip(r, SMALLEST_R, LARGEST_R))


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
    # The matrices are small: on a busy machine, threads that wait for each other cost more.
    with blas_threads(1):
        return _studied(rows, request, sample, n_components, classes)


def _studied(
    rows: RowSet, request: Request, sample: int | None, n_components: int, classes: bool
) -> Study:
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
            spread = _spread(folds, request)
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
    if rows.one_place:
        local = errors_of_local_kernels(
            rows, targets, request.kernel, averaged[0].alpha, request.intercept, classes
        )
        trained = averaged[0].rows
        whole = (rate_surface or surface).at(trained, trained).value
        errors = [one.error if one.rate is None else one.rate for one in local]
        excess["full"] = _excess([trained, *(one.rows_each for one in local)], [whole, *errors])
    return Study(
        rows.n_rows,
        capacity,
        surface,
        rate_surface,
        spread,
        PowerLaw.of(*np.array(alphas).T),
        tuple(alphas),
        excess,
        tuple(points),
        time.perf_counter() - start,
    )


def _excess(rows_each: list[float], errors: list[float]) -> tuple[tuple[float, float], ...]:
    """Return what shards add to the first of the errors."""
    pairs = zip(rows_each[1:], errors[1:], strict=True)
    return tuple((rows, max(error - errors[0], 0.0)) for rows, error in pairs)


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


def sums_by_fold(
    rows: RowSet,
    targets: Targets,
    request: Request,
    family: str,
    size: int,
    seed: int,
    rng: np.random.Generator,
) -> tuple[BasisTransformer, list[Moments], Reading]:
    """Return functions, and their moments in folds."""
    basis = Landmarks(size) if family == "landmarks" else RandomFeatures(size)
    asked = replace(
        request,
        targets=targets,
        basis=basis,
        solver=Ridge(),
        alpha=0.0,
        dtype="float64",
        needs_sums=True,
        previous=None,
    )
    plan = make_plan(rows, asked)
    fitted = plan.basis.fit_source(
        rows,  # type: ignore[arg-type]
        request.kernel,
        rng,
        "float64",
    )
    reading = replace(plan.reading, folds=FOLDS, held_out=None)
    moments = sum_moments(rows, targets, fitted, reading, seed, record="moments by fold")
    return fitted, moments, reading


def points_of(measured: list[tuple[str, Measured, float]]) -> list[Point]:
    """Return means and standard errors over the training sets of one size."""
    groups: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    for family, one, error in measured:
        groups.setdefault((family, one.functions, one.folds), []).append((one.rows, error))
    means = {key: np.mean(group, axis=0) for key, group in groups.items()}
    # Deviations of few training sets are uncertain: take the mean of all, relative to the error.
    relative = [
        np.std(group, axis=0, ddof=1)[1] / means[key][1]
        for key, group in groups.items()
        if len(group) > 1 and means[key][1] > 0
    ]
    common = float(np.mean(relative)) if relative else 0.0
    return [
        Point(
            float(means[key][0]),
            key[1],
            float(means[key][1]),
            common * float(means[key][1]) / float(np.sqrt(len(group))),
            key[0],
        )
        for key, group in groups.items()
    ]


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


def _spread(folds: list[Moments], request: Request) -> float:
    """Return the mean square of y around its mean, in the units of y."""
    total = folds[0]
    for fold in folds[1:]:
        total = total + fold
    by_column: Array = total.sum_yy / total.target_weight - (total.sum_y / total.target_weight) ** 2
    return float(np.maximum(by_column, 0.0) @ request.units)
