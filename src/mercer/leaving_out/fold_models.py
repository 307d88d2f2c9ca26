"""The models without each fold, by subtraction: no rows are read again.

.. math:: (A_{-k} + \\lambda) v_k = b_{-k}, \\qquad
          S_{-k} = S - S_k, \\quad t_{-k} = t - t_k

from the moments of the fold, or with products that leave out its rows, or from blocks of the
inverse kernel matrix. The basis, its metric and alpha are those of the fit to all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, IteratedSystem, Penalty, Solution
from mercer.leaving_out.rests_of_moments import Whole, solve_rests, without_matrix
from mercer.moments import Moments, NormalEquations
from mercer.solvers import BaseSolver
from mercer.solvers.early_stopping import Run
from mercer.systems import MomentSystem
from mercer.systems.direct import DirectSystem

#: Up to this many functions each fold is factored by itself.
DIRECT = 400


@dataclass(frozen=True)
class Model:
    """``f(x) = h(x)'c + mu``, and how it was solved."""

    coefficients: Array  # (M, k), for encoded targets
    intercept: Array  # (k,)
    solution: Solution
    alpha: Penalty


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


def without_folds(
    system: MomentSystem,
    model: Model,
    solver: BaseSolver,
    numbers: Sequence[int],
    tolerance: float,
) -> FoldModels:
    """Return the models without some folds, from the moments of these."""
    if not solver.regularized_by_steps and not solver.cuts_off and system.whitener.size > DIRECT:
        found = _by_change(system, numbers, model, tolerance)
        if found is not None:
            return found
    models = []
    for number in numbers:
        equations = system.normal_equations(system.total - system.folds[number])
        orthogonal = system.whitener.coefficients(_solved(system, equations, solver, model))
        models.append((system.basis.coefficients(orthogonal), equations.intercept(orthogonal)))
    return FoldModels.stacked(numbers, models)


def _solved(
    system: MomentSystem, equations: NormalEquations, solver: BaseSolver, model: Model
) -> Array:
    """Solve the system of a fold as that of all rows was solved."""
    if solver.regularized_by_steps:
        assert isinstance(model.alpha, float)
        return same_steps(solver, system.iterated(equations, model.alpha), model)
    direct = DirectSystem(equations.A, equations.b, solver.cuts_off)
    alpha, found = model.alpha, None
    if not solver.cuts_off and not isinstance(alpha, np.ndarray):
        found = direct.cholesky(alpha)
    return direct.by_spectrum(alpha) if found is None else found


def same_steps(solver: BaseSolver, system: IteratedSystem, model: Model) -> Array:
    """Take as many steps on another system as were taken for a model."""
    run = Run.of(solver, system, keep=False)
    value = np.zeros_like(system.b)
    for step, iterate in enumerate(run, start=1):
        value = iterate.value
        if step >= model.solution.steps:
            break
    return value


def _by_change(
    system: MomentSystem, numbers: Sequence[int], model: Model, tolerance: float
) -> FoldModels | None:
    """Solve for all folds at once, from the solution for all rows; None without convergence."""
    outputs = system.total.cross.shape[1]

    def image(C: Array) -> Array:
        parts = [
            system.folds[k].gram @ C[:, place * outputs : (place + 1) * outputs]
            for place, k in enumerate(numbers)
        ]
        return np.hstack(parts)

    folds = [system.folds[k] for k in numbers]
    models, converged = models_by_change(system, folds, image, numbers, model, tolerance)
    return models if converged else None


def models_by_change(
    system: MomentSystem,
    folds: Sequence[Moments],
    image: Callable[[Array], Array],
    numbers: Sequence[int],
    model: Model,
    tolerance: float,
) -> tuple[FoldModels, bool]:
    """Return the models without each fold, and whether conjugate gradients converged.

    ``image`` multiplies the columns of each fold, side by side, by the matrix of that fold.
    """
    alpha = model.alpha
    if isinstance(alpha, np.ndarray):
        whole = Whole.by_output(system, alpha)
    elif system.has_decomposition:
        whole = Whole.decomposed(system, alpha)
    else:
        whole = Whole.factored(system, alpha, model.solution.value)
    alphas = np.broadcast_to(alpha, system.b.shape[1])
    sums = [without_matrix(fold) for fold in folds]
    coefficients, intercepts, converged = solve_rests(system, sums, image, alphas, whole, tolerance)
    by_fold = np.split(system.basis.coefficients(coefficients), len(folds), axis=1)
    models = list(zip(by_fold, intercepts.reshape(len(folds), -1), strict=True))
    return FoldModels.stacked(numbers, models), converged
