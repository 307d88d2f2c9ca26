"""When a fit may go on where the last one stopped: same rows, same parameters but for the steps."""

from __future__ import annotations

from typing import Any

from mercer.contracts import RowSource
from mercer.solvers import IterativeSolver, PreconditionedCG, as_solver
from mercer.storage import fingerprint

#: Parameters of an iterative solver that only say how long it goes on.
STEPS = ("stop", "max_steps", "tolerance")
#: Parameters of an estimator that change no result, or that are looked at one by one.
APART = ("solver", "verbose")
ROWS = 65_536


def fingerprint_of(estimator: Any, source: RowSource) -> str | None:
    """Return what must be equal for a fit to go on; None where there are no steps to go on with."""
    solver = as_solver(estimator.solver)
    pieces: tuple[Any, ...] = ()
    if isinstance(solver, IterativeSolver):
        pieces = (solver.rule().folds, solver.rule().held_out)
    elif not isinstance(solver, PreconditionedCG):
        return None
    fixed = {k: v for k, v in solver.get_params(deep=False).items() if k not in STEPS}
    others = {k: v for k, v in estimator.get_params(deep=False).items() if k not in APART}
    # Rows themselves: a file may have changed under the same name.
    rows = [fingerprint((block.X, block.y, block.weight)) for block in source.blocks(ROWS)]
    present = getattr(estimator, "_present", None)
    names = source.feature_names
    kind = (type(solver).__name__, fixed, *pieces)
    return fingerprint((rows, names, present, kind, others))
