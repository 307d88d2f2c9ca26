"""Whether the record of a fit in a file is consistent, its moments among it."""

from __future__ import annotations

from mercer.contracts import Array
from mercer.models.checks import numbers
from mercer.moments import Moments
from mercer.result import Fit
from mercer.selection.criteria import Scores
from mercer.solvers import SolverPath
from mercer.validation import check_count, check_number

#: More threads or rows a block than any machine has use for: a plan beyond is not one of ours.
LARGEST = {"lanes": 4096, "block_rows": 2**24, "folds": 10_000}


def check_fit(found: Fit, outputs: int) -> None:
    """Refuse a fit whose numbers do not belong together."""
    size, plan = found.basis.size, found.plan
    check_number(found.alpha, "alpha", minimum=0.0)
    check_number(found.total_weight, "total_weight", above=0.0)
    check_number(found.weight, "weight", minimum=0.0)
    check_count(found.n_rows, "n_rows")
    if not isinstance(found.combination, str):
        raise ValueError(f"combination must be text, got {type(found.combination).__name__}")
    if plan.precision not in ("float32", "float64"):
        raise ValueError(f"precision must be float32 or float64, got {plan.precision!r}")
    for name, largest in LARGEST.items():
        if check_count(getattr(plan, name), name) > largest:
            raise ValueError(f"{name} must be at most {largest}, got {getattr(plan, name)}")
    if plan.held_out is not None and not 0 < plan.held_out < 1:
        raise ValueError(f"held_out must be a share of the rows, got {plan.held_out}")
    for stage, seconds in found.seconds.items():
        check_number(seconds, f"seconds of {stage}")
    _check_path(found)
    if found.path is not None:
        _check_steps(found.path, found.solution.steps)
    _check_moments(found, size, outputs)


def _check_path(found: Fit) -> None:
    if (found.alphas is None) != (found.scores is None):
        raise ValueError("alphas and scores must both be there, or neither")
    if found.alphas is None:
        return
    numbers(found.alphas, "alphas", (None,))
    scores = found.scores
    if not isinstance(scores, Scores) or scores.mean.shape != found.alphas.shape:
        raise ValueError("scores must be one for each alpha")
    if scores.by_fold is not None and scores.by_fold.shape[1:] != found.alphas.shape:
        raise ValueError("scores by fold must be one for each alpha")


def _check_steps(path: SolverPath, steps: int) -> None:
    made = _curve(path.residuals, "residuals", (None,))
    if not 0 <= steps <= len(made):
        raise ValueError(f"steps must be from 0 to {len(made)}, got {steps}")
    if len(path.training_error):
        _curve(path.training_error, "training_error", made.shape)
    if (path.validation_error is None) != (path.by_fold is None):
        raise ValueError("validation_error and by_fold must both be there, or neither")
    if path.validation_error is not None and path.by_fold is not None:
        curve = _curve(path.validation_error, "validation_error", (None,))
        _curve(path.by_fold, "by_fold", (None, len(curve)))


def _curve(values: Array, name: str, shape: tuple[int | None, ...]) -> Array:
    """Return a curve, which may hold infinity where a fit diverged."""
    numbers(values.clip(-1, 1) if values.dtype.kind == "f" else values, name, shape)
    return values


def _check_moments(found: Fit, size: int, outputs: int) -> None:
    folds = found.folds
    if folds is not None:
        if not isinstance(folds, list) or len(folds) != found.plan.folds:
            raise ValueError(f"moments must be a list of {found.plan.folds} folds")
        for fold in folds:
            if not isinstance(fold, Moments):
                raise ValueError(f"a fold must be Moments, got {type(fold).__name__}")
            for name in ("sum_h", "target_sum_h"):
                numbers(getattr(fold, name), name, (size,))
            numbers(fold.gram, "gram", (size, size))
            numbers(fold.cross, "cross", (size, outputs))
            numbers(fold.sum_y, "sum_y", (outputs,))
            numbers(fold.sum_yy, "sum_yy", (outputs,))
    if found.dual_rows is not None:
        if not isinstance(found.dual_rows, tuple) or len(found.dual_rows) != 2:
            raise ValueError("dual_rows must be targets and weights")
        numbers(found.dual_rows[0], "targets of the rows", (size, outputs))
        numbers(found.dual_rows[1], "weights of the rows", (size,))
