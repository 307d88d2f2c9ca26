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

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky

from mercer.bases import BasisTransformer, Whitener
from mercer.contracts import Array
from mercer.inference.left_out_pass import LeftOutShard
from mercer.inference.left_out_sums import LeftOutSums
from mercer.moments import Moments, add_folds
from mercer.rows.rowset import Placed
from mercer.selection import KFold, choose_alpha
from mercer.systems import MomentSystem
from mercer.systems.direct import DirectSystem

#: Functions of the scale at most.
FUNCTIONS = 300
#: Its root is at least this share of its mean.
FLOOR = 0.45
#: Left-out rows below which the scale is one number.
ROWS = 200


@dataclass(frozen=True)
class ErrorScale:
    """``s(x) = max(h(x)'c + mu, floor)^2`` of each output, for encoded targets."""

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


def chosen_functions(size: int) -> Array:
    """Return the functions of the scale: all, or some at equal distances."""
    return np.unique(np.linspace(0, size - 1, min(size, FUNCTIONS)).astype(np.intp))


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
    by_fold = [part.whole() for part in sent]
    system = MomentSystem(by_fold, _Chosen(basis, functions), True, np.ones(outputs))  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    alpha, _, _ = choose_alpha(system, None, KFold(folds), rng)
    assert isinstance(alpha, float)
    models = [_solved(system, alpha, system.total)]
    models += [_solved(system, alpha, system.total - fold) for fold in by_fold]
    whole, intercept = models[0]
    coefficients = np.zeros((size, outputs))
    coefficients[functions] = whole
    return ErrorScale(coefficients, intercept, FLOOR * mean), models


def _solved(system: MomentSystem, alpha: float, moments: Moments) -> tuple[Array, Array]:
    equations = system.normal_equations(moments)
    direct = DirectSystem(equations.A, equations.b)
    value = direct.cholesky(alpha)
    if value is None:
        value = direct.by_spectrum(alpha)
    coefficients = system.whitener.coefficients(value)
    return coefficients, equations.intercept(coefficients)


class _Chosen:
    """Some of the functions of a basis, as a system of moments takes them."""

    precision_ = "float64"

    def __init__(self, basis: BasisTransformer, functions: Array) -> None:
        self.size = len(functions)
        units = np.zeros((basis.size, self.size))
        units[functions, np.arange(self.size)] = 1.0
        gram = basis.penalty(units, exact=True)[functions]
        self._gram = (gram + gram.T) / 2

    def whitener(self) -> Whitener:
        """Return the whitener; the values of the functions are in float32."""
        gram = self._gram
        noise = 1e-6 * max(float(np.trace(gram)) / len(gram), np.finfo(float).tiny)
        return Whitener(cholesky(gram + noise * np.eye(len(gram)), lower=True), self.size)

    def coefficients(self, orthogonalized: Array) -> Array:
        """Return the coefficients themselves."""
        return orthogonalized


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
    H, fold = held.H.astype(np.float64), held.rows.fold % (len(models) - 1)
    values = np.empty(held.rows.values.shape)
    for number, (coefficients, intercept) in enumerate(models[1:]):
        at = fold == number
        values[at] = H[at] @ coefficients + intercept
    return values
