"""How the error falls with the number of rows, from one pass and without a fit for each.

Sums over folds are sums over rows, so any union of folds is a training set, whose solution and
whose error on other folds are functions of these sums (:mod:`mercer.theory.sub_sums`). The test
goes around: each part of the folds is held out once, so that the band shows both what the choice of
the training rows and what that of the test rows is worth. The line is

.. math:: e(n) = \\sigma^2 + C n^{-\\beta}

(:mod:`mercer.theory.learning_surface`), whose intervals are of all curves that fit about as well.
It is not continued to more functions than were measured: the more functions, the more further rows
bring, and a sum of a part of rows and a part of functions does not show that.

The alpha of each training set is found step by step, ``alpha = 2^-j tr A``: a look around that of a
training set of similar size, and a few steps downhill, are enough. A Cholesky factor for each takes
a twentieth of the time of eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.bases import BasisTransformer
from mercer.contracts import Array
from mercer.engines import blas_threads
from mercer.moments import Moments
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.search.sample import labelled_rows
from mercer.theory.learning_surface import Estimate, Surface
from mercer.theory.sub_sums import (
    FOLDS,
    HELD,
    SIZES,
    Measured,
    error_rates,
    in_functions,
    nothing,
    points_of,
    spread_of,
    sums_by_fold,
    system_of,
    total_of,
)

#: Fewest labelled rows: the smallest training set has a sixteenth of them.
FEWEST = 160
FAMILY = "landmarks"
#: Every rotation of the folds by so many gives another test.
TURN = len(HELD)


@dataclass(frozen=True)
class RowsCurve:
    """Errors against the number of rows, as measured and by the law that fits them.

    Attributes
    ----------
    rows : array of shape (sizes,)
        Rows of the training sets.
    errors : array of shape (sizes, unions)
        The error of each: root mean squared, in units of y, or the error rate of classes.
    n_rows : int
        Rows with labels.
    functions, model_functions : int
        Functions that the errors are of, and those of the model, which may be more.
    surface : Surface
        The law: of squared errors relative to the spread of y, or of error rates.
    spread : float
        The mean square of y around its mean; 1 for error rates.
    classes : bool
        Whether errors are error rates.

    Examples
    --------
    >>> from mercer import KernelRegressor, RowsCurveDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((800, 2))
    >>> y = np.sin(6 * X[:, 0]) + 0.2 * rng.standard_normal(800)
    >>> model = KernelRegressor("gaussian", metric=None, random_state=0).fit(X, y)
    >>> curve = RowsCurveDisplay.from_estimator(model, X, y).curve
    >>> curve.errors.shape
    (5, 4)
    >>> now, more = curve.at(800), curve.at(1600)
    >>> bool(0.18 < more.value <= now.value < 0.23)
    True
    """

    rows: Array
    errors: Array
    n_rows: int
    functions: int
    model_functions: int
    surface: Surface
    spread: float
    classes: bool

    def at(self, rows: float) -> Estimate:
        """Return the error to expect at a number of rows."""
        found = astuple(self.surface.at(rows, self.functions, FAMILY))
        return Estimate(*(float(self._stated(value)) for value in found))

    def gain(self, factor: float = 2.0) -> Estimate:
        """Return by what share the error falls with so many times the rows."""
        rate, gain, noise, by_rows, by_functions = self.surface.candidates.T
        rest = noise + by_functions * self.functions**-gain
        before, after = (
            self._stated(rest + by_rows * rows**-rate)
            for rows in (self.n_rows, factor * self.n_rows)
        )
        share = np.divide(before - after, before, out=np.zeros_like(before), where=before > 0)
        return Estimate.of(share, self.surface.weights)

    def _stated(self, error: Array | float) -> Array:
        return stated(error, self.spread, self.classes)

    @property
    def measure(self) -> str:
        """What the errors are."""
        return "error rate" if self.classes else "RMSE"


def stated(error: Array | float, spread: float, classes: bool) -> Array:
    """Return errors as they are stated: the root of a mean square in units of y, or a rate."""
    return np.asarray(error if classes else np.sqrt(np.maximum(error, 0.0) * spread))


def training_sets() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the folds of every training set, and those of its test.

    >>> sets = training_sets()
    >>> len(sets), sets[0], len(sets[-1][0])
    (20, ((0,), (12, 13, 14, 15)), 12)
    """
    found = []
    for size in SIZES:
        for turn in range(0, FOLDS, TURN):
            order = [(turn + at) % FOLDS for at in range(FOLDS)]
            found.append((tuple(order[:size]), tuple(order[at] for at in HELD)))
    return found


def measure_rows_curve(
    rows: RowSet,
    request: Request,
    *,
    n_components: int,
    model_functions: int | None,
    classes: bool = False,
) -> RowsCurve:
    """Measure errors of fits to parts of the rows.

    Parameters
    ----------
    rows : RowSet
        The rows, in one place or in shards.
    request : Request
        The parameters of the fit; its kernel has numeric parameters.
    n_components : int
        The most functions of the fits.
    model_functions : int or None
        Functions of the model; None means one for every row.
    classes : bool
        Whether to measure error rates.
    """
    labelled = labelled_rows(rows, request.targets)
    if labelled < FEWEST:
        raise ValueError(
            f"a curve needs at least {FEWEST} rows with labels to cut into parts, got {labelled}"
        )
    functions = labelled if model_functions is None else model_functions
    seed = request.seeds.search()
    rng = np.random.default_rng(seed)
    sets, targets = training_sets(), request.targets
    with blas_threads(1):  # the matrices are small
        # All rows as landmarks, whatever fold they are in, are the exact kernel of each part.
        size = min(n_components, functions, labelled)
        basis, folds, reading = sums_by_fold(rows, targets, request, FAMILY, size, seed, rng)
        descent = AlphaDescent(folds, basis, request.intercept)
        found = [descent.error(*one) for one in sets]
        errors = [one.error for one in found]
        if classes:
            tests = [held for _, held in sets]
            errors = error_rates(rows, targets, basis, reading, seed, found, tests)
    spread = 1.0 if classes else spread_of(folds, request)
    points = points_of([(FAMILY, one, error) for one, error in zip(found, errors, strict=True)])
    shape = (len(SIZES), -1)
    return RowsCurve(
        np.reshape([one.rows for one in found], shape).mean(axis=1),
        stated(np.reshape(errors, shape), spread, classes),
        labelled,
        basis.size,
        functions,
        Surface.of(points),
        spread,
        classes,
    )


#: The first halving to try, and the most: alpha is then 1e-10 of the trace.
FIRST, MOST = 16, 33
#: The step of the first look, which goes two steps to each side: small tests have several minima.
WIDE = 5


class AlphaDescent:
    """Errors of training sets of one basis, each at the alpha that its test prefers.

    ``halvings`` is the j of the last one, where the next search begins.

    Parameters
    ----------
    folds : sequence of Moments
        The moments of each fold.
    basis : BasisTransformer
        The fitted functions.
    intercept : bool
        Whether models have an intercept.
    """

    def __init__(self, folds: Sequence[Moments], basis: BasisTransformer, intercept: bool) -> None:
        self.folds, self.basis, self.intercept = folds, basis, intercept
        self.halvings = FIRST

    def error(self, train: Sequence[int], held: Sequence[int]) -> Measured:
        """Fit some folds, and choose alpha by the test on others."""
        moments = total_of([self.folds[at] for at in train])
        test = total_of([self.folds[at] for at in held])
        system = system_of(moments, self.basis, self.intercept)
        A, trace = system.A, max(float(np.trace(system.A)), np.finfo(float).tiny)
        known: dict[int, tuple[float, Array, Array]] = {}

        def tried(halvings: int) -> float:
            if halvings not in known:
                value = _solved(A, system.b, trace * 2.0**-halvings)
                c, constant = in_functions(system, value)
                error = float(test.squared_error(c, constant).sum())
                known[halvings] = error if np.isfinite(error) else np.inf, c, constant
            return known[halvings][0]

        around = range(self.halvings - 2 * WIDE, self.halvings + 2 * WIDE + 1, WIDE)
        at = min((place for place in around if 0 <= place <= MOST), key=tried)
        for step in (2, -2, 1, -1):
            while 0 <= at + step <= MOST and tried(at + step) < tried(at):
                at += step
        self.halvings = at
        error, c, constant = known[at]
        return Measured(
            len(train),
            moments.target_rows,
            self.basis.size,
            trace * 2.0**-at,
            error / nothing(test),
            c,
            constant,
        )


def _solved(A: Array, b: Array, alpha: float) -> Array:
    """Return ``(A + alpha)^-1 b``; NaN where rounding leaves no positive definite matrix."""
    shifted = np.array(A)
    shifted[np.diag_indices_from(shifted)] += alpha
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return np.full_like(b, np.nan)
    return np.asarray(cho_solve(factor, b, check_finite=False))
