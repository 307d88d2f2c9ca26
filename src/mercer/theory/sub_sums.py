"""Errors of fits to parts of the rows, from one pass: sums over some folds are sums over rows.

With the moments of F folds, any union of the first folds is a training set; the last folds are the
test of all of them, so that errors differ by the training sets and not by the noise of their tests:

.. math:: S_{\\text{train}} = \\sum_{k \\in \\text{train}} S^{(k)}, \\qquad
          \\text{error} = s_{yy} - 2 c't + c'Sc \\ \\text{ of the last folds.}

Parts of one fold each are shards, whose models can be averaged, so the same sums also show what an
average over shards costs. Nothing is read twice.

Decisions of classifiers need another pass, which counts errors of many models q of the same
functions by fold; counts add over blocks and shards:

.. math:: \\text{wrong}_{qk} = \\sum_{i \\in \\text{fold } k} w_i
          \\big[\\arg\\max_o f_{qo}(x_i) \\ne \\arg\\max_o y_{io}\\big].
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from mercer.bases import BasisTransformer, Landmarks, RandomFeatures
from mercer.contracts import Array, Reading, Targets
from mercer.moments import Moments, sum_moments
from mercer.moments.by_fold import pieces_of, share_functions
from mercer.plan import make_plan
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.sampling import Deal
from mercer.selection import default_alphas
from mercer.solvers import Ridge
from mercer.systems import MomentSystem
from mercer.theory.learning_surface import Point

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
            system = system_of(moments, basis, intercept)
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
    system = system_of(moments, basis, intercept)
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


def system_of(moments: Moments, basis: BasisTransformer, intercept: bool) -> MomentSystem:
    """Return the system of a training set, with all outputs in the same units."""
    return MomentSystem([moments], basis, intercept, np.ones(moments.cross.shape[1]))


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
    return reduce(operator.add, parts)


def nothing(test: Moments) -> float:
    """Return the squared error of predicting the mean."""
    around = test.sum_yy - test.sum_y**2 / test.target_weight
    return max(float(around.sum()), np.finfo(float).tiny)


@dataclass(frozen=True)
class Wrong:
    """Weight of wrong decisions (models, folds), and of all rows (folds,)."""

    wrong: Array
    weight: Array

    def __add__(self, other: Wrong) -> Wrong:
        return Wrong(self.wrong + other.wrong, self.weight + other.weight)


def error_rates(
    rows: RowSet,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    seed: int,
    models: Sequence[Measured],
    held: Sequence[Sequence[int]] | None = None,
) -> list[float]:
    """Return the error rate of each model on the folds of the test, or on those in ``held``.

    ``reading`` and ``seed`` are those of the pass that summed the moments: they say which fold a
    row is in.
    """
    C = np.hstack([model.coefficients for model in models])
    constants = np.concatenate([model.intercept for model in models])
    total = rows.sum(
        wrong_of,
        operator.add,
        targets,
        share_functions(rows, basis),
        rows.reading(reading),
        Deal(seed, rows.slices),
        rows.share(C, "models"),
        constants,
        label="error rates",
        record="error rates",
    )
    tests = [list(HELD)] * len(models) if held is None else [list(folds) for folds in held]
    return [
        float(wrong[test].sum() / total.weight[test].sum())
        for wrong, test in zip(total.wrong, tests, strict=True)
    ]


def wrong_of(
    shard: Shard,
    targets: Targets,
    basis: BasisTransformer,
    reading: Reading,
    deal: Deal,
    C: Array,
    constants: Array,
) -> Wrong:
    """Task: count the wrong decisions of every model in every fold of a shard."""
    outputs = targets.outputs
    wrong = np.zeros((len(constants) // outputs, reading.folds))
    weight = np.zeros(reading.folds)
    with shard.naming():
        for fold, (X, Y, w), _ in pieces_of(shard, targets, reading, deal):
            known = ~np.isnan(Y).any(axis=1)
            if not known.any():
                continue
            scores = basis.orthogonalized(X[known]) @ C + constants
            truth = decided(Y[known])
            given = np.ones(len(truth)) if w is None else w[known]
            for at in range(len(wrong)):
                said = decided(scores[:, at * outputs : (at + 1) * outputs])
                wrong[at, fold] += given @ (said != truth)
            weight[fold] += given.sum()
    return Wrong(wrong, weight)


def decided(scores: Array) -> Array:
    """Return the class of each row: the largest column, or the sign of a single one."""
    return scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)


def functions_for_sums(
    rows: RowSet, request: Request, basis: BasisTransformer, rng: np.random.Generator
) -> tuple[BasisTransformer, Reading]:
    """Return a basis fitted to the rows, and how a pass without folds reads them."""
    # In float64: errors and residuals are differences.
    direct = replace(request, basis=basis, solver=Ridge(), alpha=0.0, previous=None)
    plan = make_plan(rows, replace(direct, dtype="float64", needs_sums=True))
    fitted = plan.basis.fit_source(rows, request.kernel, rng, "float64")
    return fitted, replace(plan.reading, folds=1, held_out=None)


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
    fitted, whole = functions_for_sums(rows, replace(request, targets=targets), basis, rng)
    reading = replace(whole, folds=FOLDS)
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


def spread_of(folds: list[Moments], request: Request) -> float:
    """Return the mean square of y around its mean, in the units of y."""
    total = total_of(folds)
    by_column: Array = total.sum_yy / total.target_weight - (total.sum_y / total.target_weight) ** 2
    return float(np.maximum(by_column, 0.0) @ request.units)
