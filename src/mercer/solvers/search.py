"""Choose the number of steps by the error on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array, ErrorOf, StepProgress
from mercer.solvers.early_stopping import Run
from mercer.solvers.stopping import StoppingRule


@dataclass(frozen=True)
class Search:
    """The step with the lowest held-out error.

    Attributes
    ----------
    step : int
        The step with the lowest mean error; 0 if a fold broke down and no step beat zero.
    errors : array of shape (folds, steps)
        Errors of each fold after each step.
    interrupted : bool
        Whether the user interrupted the search.
    note : str
        How a fold broke down; empty if none did.
    """

    step: int
    errors: Array
    interrupted: bool = False
    note: str = ""


def best_step(
    runs: Sequence[Run],
    errors_of: Sequence[ErrorOf],
    rule: StoppingRule,
    limit: int,
    progress: StepProgress | None = None,
) -> Search:
    """Run all folds in parallel steps; measure each on its held-out rows.

    A fold that has converged keeps its last error, or the error of the zero solution if it took no
    steps (for example because its y is constant).
    """
    streams = [iter(run) for run in runs]
    errors: list[list[float]] = [[] for _ in runs]
    none = [
        error_of(np.zeros(run.system.b.shape))
        for run, error_of in zip(runs, errors_of, strict=True)
    ]
    best, at, interrupted, note = np.inf, 0, False, ""
    try:
        for step in range(1, limit + 1):
            moved = False
            for number, stream in enumerate(streams):
                iterate = next(stream, None)
                if iterate is not None and not iterate.broken:
                    errors[number].append(errors_of[number](iterate.value))
                    moved = True
                    continue
                note = iterate.note if iterate is not None else note
                errors[number].append(errors[number][-1] if step > 1 else none[number])
            if not moved and step > 1:
                break
            mean = float(np.mean([one[-1] for one in errors]))
            if mean < best:
                best, at = mean, step
            if progress is not None:
                progress(step, limit, f"validation error {mean:.4g}")
            if step - at >= rule.patience:
                break
    except KeyboardInterrupt:
        if not at:
            raise
        interrupted = True
    length = min(len(one) for one in errors)
    curves = np.array([one[:length] for one in errors])
    at = 0 if note and np.mean(none) <= best else max(1, at)
    return Search(at, curves, interrupted, note)
