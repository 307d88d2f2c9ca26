"""The local scale of the errors, as one more output of the same functions.

.. math:: s(x) = g(x)^2, \\qquad
          g(x) = \\max\\big(\\textstyle\\sum_{j \\in J} c_j h_j(x) + \\mu,\\; g_0\\big), \\qquad
          \\min_c \\frac1W \\sum_i w_i \\big(|e_i|^{1/2} - g(x_i)\\big)^2 + \\alpha\\, c'\\Gamma c

where e are the errors of left-out rows and J a few of the functions: the size of errors is
smoother, and known less well, than y itself. The root keeps a few large errors from deciding alone.
The sums are taken by fold, so alpha is chosen by cross-validation, and the scale of a row comes
from the folds without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky

from mercer.bases import BasisTransformer, Landmarks, Whitener
from mercer.contracts import Array
from mercer.engines import blas_threads
from mercer.inference.left_out_pass import LeftOutShard
from mercer.inference.left_out_sums import LeftOutSums, counts_of
from mercer.inference.novelty import Novelty
from mercer.moments import Moments, add_folds
from mercer.rows.rowset import Placed
from mercer.selection import KFold, choose_alpha
from mercer.storage.state import Numbers, State
from mercer.systems import MomentSystem
from mercer.systems.direct import DirectSystem

#: Functions of the scale at most.
FUNCTIONS = 300
#: Multiples of it, modulo 2^64, are spread evenly (2^64 over the golden ratio).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: Its root is at least this share of its mean.
FLOOR = 0.45
#: Left-out rows below which the scale is one number.
ROWS = 200
#: Rows whose scale is evaluated at a time.
TILE = 1024


@dataclass(frozen=True)
class ErrorScale:
    """``s(x) = max(h(x)'c + mu, floor)^2`` of each output, for encoded targets."""

    state = State(
        coefficients=Numbers("m k", label="coefficients of the scale"),
        intercept=Numbers("k", label="intercept of the scale"),
        floor=Numbers("k", label="floor of the scale"),
    )
    coefficients: Array  # (M, k)
    intercept: Array  # (k,)
    floor: Array  # (k,)

    def of(self, values: Array) -> Array:
        """Return the scale, given ``h(x)'c + mu``."""
        return np.square(np.maximum(values, self.floor))

    def at_least(self, smallest: Array) -> ErrorScale:
        """Return the scale with a floor: it is nowhere below ``smallest``."""
        floor = np.maximum(self.floor, np.sqrt(smallest))
        return ErrorScale(self.coefficients, self.intercept, floor)


def chosen_functions(basis: BasisTransformer) -> Array:
    """Return the functions of the scale: all, or some that are spread over the rows.

    Those at rows are chosen by the numbers of the rows, and so are the same in all forms of a fit.
    """
    numbers = np.arange(basis.size, dtype=np.uint64)
    if isinstance(basis, Landmarks) and basis.indices_ is not None:
        numbers = basis.indices_.astype(np.uint64)
    spread = numbers * GOLDEN
    return np.sort(np.argsort(spread, kind="stable")[:FUNCTIONS])


#: Coefficients of the chosen functions, and an intercept: of the whole, then without each fold.
ScaleModels = list[tuple[Array, Array]]


def fit_scale(
    held: Placed, basis: BasisTransformer, functions: Array, folds: int, sums: LeftOutSums
) -> tuple[ErrorScale, ScaleModels]:
    """Return the scale, and the models of its root: of all folds, and without each of them."""
    mean = sums.roots / sums.weight
    size, outputs = basis.size, len(mean)
    if sums.rows < ROWS or folds < 2:
        constant = ErrorScale(np.zeros((size, outputs)), mean, FLOOR * mean)
        return constant, [(np.zeros((len(functions), outputs)), mean)] * 2
    sent = held.sum(scale_moments_of, add_folds, folds, record="sums of errors")
    with blas_threads(1):  # the matrices are small: several threads would wait for each other
        models = _models_of(sent, _whitener(basis, functions))
    whole, intercept = models[0]
    coefficients = np.zeros((size, outputs))
    coefficients[functions] = whole
    return ErrorScale(coefficients, intercept, FLOOR * mean), models


def _models_of(sent: Sequence[Moments], whitener: Whitener) -> ScaleModels:
    """Return the model of all folds, and those without each of them, from packed moments.

    The sums of a fold are whitened once, for the choice of alpha and for the solutions.
    """
    by_fold = [_whitened(part.whole(), whitener) for part in sent]
    outputs = by_fold[0].cross.shape[1]
    system = MomentSystem(by_fold, _Whitened(whitener.size), True, np.ones(outputs))  # type: ignore[arg-type]
    alpha, _, _ = choose_alpha(system, None, KFold(len(by_fold)), np.random.default_rng(0))
    assert isinstance(alpha, float)
    models = []
    for fold in (None, *by_fold):
        equations = system.normal_equations(system.total if fold is None else system.total - fold)
        direct = DirectSystem(equations.A, equations.b)
        value = direct.cholesky(alpha)
        if value is None:
            value = direct.by_spectrum(alpha)
        models.append((whitener.coefficients(value), equations.intercept(value)))
    return models


def _whitener(basis: BasisTransformer, functions: Array) -> Whitener:
    """Return the whitener of some functions of a basis, whose values are in float32."""
    units = np.zeros((basis.size, len(functions)))
    units[functions, np.arange(len(functions))] = 1.0
    gram = basis.penalty(units, exact=True)[functions]
    gram = (gram + gram.T) / 2
    noise = 1e-6 * max(float(np.trace(gram)) / len(gram), np.finfo(float).tiny)
    return Whitener(cholesky(gram + noise * np.eye(len(gram)), lower=True), len(functions))


def _whitened(moments: Moments, whitener: Whitener) -> Moments:
    """Return the moments of ``R'h``."""
    return replace(
        moments,
        gram=whitener.matrix(moments.gram),
        sum_h=whitener.vectors(moments.sum_h),
        target_sum_h=whitener.vectors(moments.target_sum_h),
        cross=whitener.vectors(moments.cross),
    )


@dataclass(frozen=True)
class _Whitened:
    """Functions whose sums are whitened already, as a system of moments takes them."""

    size: int
    precision_ = "float64"

    def whitener(self) -> Whitener:
        """Return the identity."""
        return Whitener(None, self.size)


def scale_moments_of(held: LeftOutShard, folds: int) -> list[Moments]:
    """Task: return the moments of the sizes of errors, by fold, as they are sent."""
    rows = held.rows
    assert held.H is not None
    found = []
    for fold in range(folds):
        at = rows.fold % folds == fold
        sizes = np.sqrt(np.abs(rows.errors[at]))
        found.append(Moments.of(held.H[at], sizes, rows.weight[at]).packed())
    return found


def roots_of(held: LeftOutShard, models: ScaleModels) -> Array:
    """Return ``h(x)'c + mu`` at left-out rows, from the model without the fold of each."""
    assert held.H is not None
    shape, without = held.rows.values.shape, models[1:]
    coefficients = np.hstack([c for c, _ in without])
    intercept = np.stack([mu for _, mu in without])
    fold, values = held.rows.fold % len(without), np.empty(shape)
    # All models at a few rows at a time: cheaper than to take the rows of each fold apart.
    for start in range(0, shape[0], TILE):
        H = held.H[start : start + TILE].astype(np.float64)
        own = np.arange(len(H)), fold[start : start + TILE]
        values[start : start + TILE] = (H @ coefficients).reshape(len(H), -1, shape[1])[own]
    return np.asarray(values + intercept[fold])


@dataclass(frozen=True)
class LocalScale:
    """The scale by which the errors at a place are divided: learned, and wider far from all rows.

    .. math:: s(x)^2 = g(x)^4 + \\nu(x)\\, \\big(\\operatorname{var}(y) + (f(x) - \\bar y)^2\\big)

    with g the root of the :class:`ErrorScale` and nu, from 0 among the rows of the fit to 1 where
    nothing is known, of :mod:`mercer.inference.novelty`: far away, y is only known to be like all
    others.
    """

    scale: ErrorScale
    novelty: Novelty | None
    mean: Array  # (k,) of y
    spread: Array  # (k,) standard deviation of y

    def of(self, roots: Array, novelty: Array | None, centers: Array) -> Array:
        """Return s of shape (n, k), given the root's functions, nu and predictions."""
        found = self.scale.of(roots)
        if self.novelty is None or novelty is None:
            return found
        spread = self.spread**2 + (centers - self.mean) ** 2
        return np.asarray(np.sqrt(found**2 + self.novelty.excess(novelty)[:, None] * spread))


def scales_of(held: LeftOutShard, local: LocalScale, models: ScaleModels) -> Array:
    """Task: return the scale of each left-out row of a shard, from the folds without it."""
    return local.of(roots_of(held, models), held.novelty, held.rows.values)


def error_counts_of(
    held: LeftOutShard, local: LocalScale, models: ScaleModels, folds: int
) -> Array:
    """Task: return the counts of scaled errors of a shard, by fold, bin and output."""
    rows = held.rows
    errors = rows.errors / scales_of(held, local, models)
    return counts_of(errors, rows.weight, rows.fold, folds)
