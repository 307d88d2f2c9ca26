"""Errors of fits to parts of the rows, from one pass: sums over some folds are sums over rows.

With the moments of F folds, any union of the first folds is a training set; the last folds are the
test of all of them, so that errors differ by the training sets and not by the noise of their tests:

.. math:: S_{\\text{train}} = \\sum_{k \\in \\text{train}} S^{(k)}, \\qquad
          \\text{error} = s_{yy} - 2 c't + c'Sc \\ \\text{ of the last folds.}

Parts of one fold each are shards, whose models can be averaged, so the same sums also show what an
average over shards costs. Nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Array
from mercer.moments import Moments
from mercer.selection import default_alphas
from mercer.systems import MomentSystem

#: Folds of the pass, and folds of the training sets; those beyond the largest are the test.
FOLDS, SIZES = 16, (1, 2, 4, 8, 12)
HELD = tuple(range(SIZES[-1], FOLDS))
#: The most training sets of a size; they have no rows in common.
REPEATS = 4
#: Into how many shards the largest training set is cut.
PARTITIONS = (2, 3, 4, 6, 12)


@dataclass(frozen=True)
class Measured:
    """The error of one fit: squared, on the other rows, relative to predicting the mean.

    ``coefficients`` (M, k) are those of the summed functions, for errors that are no sums of
    squares; ``folds`` is the number of folds of the training set.
    """

    folds: int
    rows: float
    functions: int
    alpha: float
    error: float
    coefficients: Array
    intercept: Array
    shards: int = 1


def errors_by_rows(
    folds: Sequence[Moments], basis: BasisTransformer, intercept: bool
) -> list[Measured]:
    """Return the error of every training set, at the alpha that its test prefers."""
    found = []
    for size in SIZES:
        for repeat in range(min(REPEATS, SIZES[-1] // size)):
            train = range(repeat * size, (repeat + 1) * size)
            found.append(_measured(folds, basis, intercept, train))
    return found


def errors_by_partitions(
    folds: Sequence[Moments], basis: BasisTransformer, intercept: bool, alpha: float
) -> list[Measured]:
    """Return the error of the average of models of m shards, for several m.

    All shards together are the largest training set, and alpha is the one for all of its rows.
    """
    size = SIZES[-1]
    test = total_of([folds[at] for at in HELD])
    found = []
    for parts in PARTITIONS:
        each = size // parts
        models = []
        for part in range(parts):
            moments = total_of(folds[part * each : (part + 1) * each])
            system = MomentSystem([moments], basis, intercept, np.ones(moments.cross.shape[1]))
            value = solved(system, alpha)
            models.append((moments.target_weight, *in_functions(system, value)))
        shares = np.array([weight for weight, *_ in models])
        shares = shares / shares.sum()
        c = sum(share * one for share, (_, one, _) in zip(shares, models, strict=True))
        constant = sum(share * one for share, (_, _, one) in zip(shares, models, strict=True))
        rows = sum(fold.target_rows for fold in folds[:size])
        error = float(test.squared_error(c, constant).sum()) / nothing(test)
        found.append(Measured(size, rows, basis.size, alpha, error, c, constant, parts))
    return found


def _measured(
    folds: Sequence[Moments], basis: BasisTransformer, intercept: bool, train: range
) -> Measured:
    """Fit some folds, and choose alpha by the test."""
    moments = total_of([folds[at] for at in train])
    test = total_of([folds[at] for at in HELD])
    outputs = moments.cross.shape[1]
    system = MomentSystem([moments], basis, intercept, np.ones(outputs))
    alphas = default_alphas(system)
    c, constants = in_functions(system, system.solutions(alphas))
    errors = test.squared_error(c, constants).reshape(len(alphas), outputs).sum(axis=1)
    best = int(np.nanargmin(np.where(np.isfinite(errors), errors, np.inf)))
    columns = slice(best * outputs, (best + 1) * outputs)
    return Measured(
        len(train),
        moments.target_rows,
        basis.size,
        float(alphas[best]),
        float(errors[best]) / nothing(test),
        c[:, columns],
        constants[columns],
    )


def solved(system: MomentSystem, alpha: float) -> Array:
    """Return ``(A + alpha)^-1 b`` by one factorization."""
    A = np.array(system.A)
    A[np.diag_indices_from(A)] += alpha
    return np.linalg.solve(A, system.b)


def in_functions(system: MomentSystem, values: Array) -> tuple[Array, Array]:
    """Return coefficients of the summed functions, and intercepts, for stacked solutions."""
    c = system.whitener.coefficients(values)
    equations = system.equations
    repeats = values.shape[1] // len(equations.mean_y)
    return c, np.tile(equations.mean_y, repeats) - equations.mean_h @ c


def total_of(parts: Sequence[Moments]) -> Moments:
    """Return the sum of moments."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def nothing(test: Moments) -> float:
    """Return the squared error of predicting the mean."""
    around = test.sum_yy - test.sum_y**2 / test.target_weight
    return max(float(around.sum()), np.finfo(float).tiny)
