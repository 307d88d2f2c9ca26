"""The models without each fold, by subtraction: no rows are read again.

.. math:: (A_{-k} + \\lambda) v_k = b_{-k}, \\qquad
          S_{-k} = S - S_k, \\quad t_{-k} = t - t_k

from the moments of the fold, or with products that leave out its rows, or from blocks of the
inverse kernel matrix. The basis, its metric and alpha are those of the fit to all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from mercer.contracts import Array
from mercer.forms import Work
from mercer.inference.separate_gradients import solve_separately
from mercer.moments import Moments, NormalEquations
from mercer.solvers.early_stopping import Run
from mercer.solving import Outcome
from mercer.systems import MomentSystem
from mercer.systems.direct import DirectSystem

#: Up to this many functions each fold is factored by itself.
DIRECT = 400
#: Steps of conjugate gradients before each fold is factored by itself.
STEPS = 40


@dataclass(frozen=True)
class FoldModels:
    """``f_k(x) = h(x)'c_k + mu_k``: one model for each fold that was left out."""

    numbers: Array  # (l,) the folds
    coefficients: Array  # (l, M, k), for encoded targets
    intercept: Array  # (l, k)

    @classmethod
    def stacked(cls, numbers: Sequence[int], models: Sequence[tuple[Array, Array]]) -> FoldModels:
        """Return the models of some folds, given their coefficients and intercepts."""
        coefficients, intercepts = zip(*models, strict=True)
        return cls(np.array(numbers), np.stack(coefficients), np.stack(intercepts))


def left_out_folds(folds: Sequence[Moments], held_out: bool) -> list[int]:
    """Return the folds that can be left out: with labels in them and in the rest.

    With ``held_out`` the first fold holds the rows that always stay.
    """
    labelled = np.array([fold.target_rows for fold in folds])
    rest = labelled.sum() - labelled
    return [k for k in range(int(held_out), len(folds)) if labelled[k] > 0 and rest[k] > 0]


def without_folds(system: MomentSystem, work: Work, outcome: Outcome) -> FoldModels | None:
    """Return the models without each fold, from the moments of the folds; None without folds."""
    numbers = left_out_folds(system.folds, work.plan.held_out is not None)
    if not numbers:
        return None
    solver = work.solver
    if not solver.regularized_by_steps and not solver.cuts_off and system.whitener.size > DIRECT:
        asked = work.request.leave_out
        assert asked is not None
        found = _by_change(system, numbers, outcome, asked.tolerance)
        if found is not None:
            return found
    models = []
    for number in numbers:
        train = system.total - system.folds[number]
        equations = system.normal_equations(train)
        value = _solved(system, equations, work, outcome)
        orthogonal = system.whitener.coefficients(value)
        models.append((system.basis.coefficients(orthogonal), equations.intercept(orthogonal)))
    return FoldModels.stacked(numbers, models)


def _solved(
    system: MomentSystem, equations: NormalEquations, work: Work, outcome: Outcome
) -> Array:
    """Solve the system of a fold as that of all rows was solved."""
    solver = work.solver
    if solver.regularized_by_steps:
        assert isinstance(outcome.alpha, float)
        iterated = system.iterated(equations, outcome.alpha)
        run = Run.of(solver, iterated, keep=False)
        value = np.zeros_like(equations.b)
        for step, iterate in enumerate(run, start=1):
            value = iterate.value
            if step >= outcome.solution.steps:
                break
        return value
    direct = DirectSystem(equations.A, equations.b, solver.cuts_off)
    alpha, found = outcome.alpha, None
    if not solver.cuts_off and not isinstance(alpha, np.ndarray):
        found = direct.cholesky(alpha)
    return direct.by_spectrum(alpha) if found is None else found


def _by_change(
    system: MomentSystem, numbers: list[int], outcome: Outcome, tolerance: float
) -> FoldModels | None:
    """Solve for all folds at once, from the solution for all rows; None without convergence."""
    outputs = system.total.cross.shape[1]

    def image(C: Array) -> Array:
        parts = [
            system.folds[k].gram @ C[:, place * outputs : (place + 1) * outputs]
            for place, k in enumerate(numbers)
        ]
        return np.hstack(parts)

    folds = [replace(system.folds[k], gram=_NOTHING) for k in numbers]
    models, converged = models_by_change(system, folds, image, numbers, outcome, tolerance)
    return models if converged else None


def models_by_change(
    system: MomentSystem,
    folds: Sequence[Moments],
    image: Callable[[Array], Array],
    numbers: Sequence[int],
    outcome: Outcome,
    tolerance: float,
) -> tuple[FoldModels, bool]:
    """Return the models without each fold, and whether conjugate gradients converged.

    ``folds`` are moments without their matrices, and ``image`` multiplies by these: the columns of
    each fold, side by side, by the matrix of that fold.
    """
    total, outputs = replace(system.total, gram=_NOTHING), system.total.cross.shape[1]
    rests = [total - fold for fold in folds]
    alpha = np.tile(np.broadcast_to(outcome.alpha, outputs), len(folds))
    inward, outward, precondition, start = _coordinates(system, outcome)
    means = [rest.means(system.intercept) for rest in rests]
    centers = [inward(mean_h) for mean_h, _ in means]
    right = np.hstack(
        [
            inward(rest.cross) / rest.target_weight
            - np.outer(inward(rest.target_sum_h) / rest.target_weight, mean_y)
            for rest, (_, mean_y) in zip(rests, means, strict=True)
        ]
    )
    weights = np.repeat([rest.weight for rest in rests], outputs)

    def product(V: Array) -> Array:
        C = outward(V)
        found = inward((system.total.gram @ C - image(C)) / weights) + alpha * V
        for place, m in enumerate(centers):
            own = slice(place * outputs, (place + 1) * outputs)
            found[:, own] -= np.outer(m, m @ V[:, own])
        return np.asarray(found)

    value, converged = solve_separately(
        product, precondition, right, np.tile(start, len(folds)), STEPS, tolerance
    )
    orthogonal = outward(value)
    models = []
    for place, (mean_h, mean_y) in enumerate(means):
        own = orthogonal[:, place * outputs : (place + 1) * outputs]
        models.append((system.basis.coefficients(own), mean_y - mean_h @ own))
    return FoldModels.stacked(numbers, models), converged


_NOTHING = np.zeros((0, 0))
_Map = Callable[[Array], Array]


def _coordinates(system: MomentSystem, outcome: Outcome) -> tuple[_Map, _Map, _Map, Array]:
    """Return maps into coordinates and back, the inverse of the whole system, and its solution.

    Eigencoordinates if the spectrum is known, or outputs have alphas of their own; whitened ones
    with a Cholesky factor if not.
    """
    value, alpha = outcome.solution.value, outcome.alpha
    if system.has_spectrum or isinstance(alpha, np.ndarray):
        spectrum = system.spectrum
        kept = spectrum.values > 0
        T, outputs = system.directions[:, kept], value.shape[1]
        start = spectrum.vectors[:, kept].T @ value
        inverse = spectrum.filter(np.broadcast_to(alpha, outputs))[kept]

        def filtered(R: Array) -> Array:  # the outputs of each fold, side by side
            return np.asarray(np.tile(inverse, R.shape[1] // outputs) * R)

        return lambda t: T.T @ t, lambda v: T @ v, filtered, start
    white = system.whitener
    shifted = np.array(system.A, order="F")
    shifted[np.diag_indices_from(shifted)] += alpha
    factor, _ = lapack.dpotrf(shifted, lower=1, overwrite_a=1)

    def precondition(R: Array) -> Array:
        return np.asarray(lapack.dpotrs(factor, R, lower=1)[0])

    return white.vectors, white.coefficients, precondition, value
