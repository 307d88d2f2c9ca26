"""The penalty that a user asked for: one, one of each output, or open."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.combine import Combination
from mercer.contracts import Array, Penalty
from mercer.solvers import BaseSolver
from mercer.validation import LARGEST, check_flag, check_number

HINT = "; alpha is relative to the mean loss: scikit-learn's KernelRidge alpha / n"


def asked_alpha(estimator: Any, targets: Any) -> Penalty | None:
    """Return alpha, a number or an array with one of each output; None if it is open."""
    alpha = estimator.alpha
    if isinstance(alpha, str):
        if alpha == "auto":
            return None
        raise ValueError(f"alpha must be a number of at least 0, or 'auto', got {alpha!r}")
    if isinstance(alpha, (list, tuple)) or (isinstance(alpha, np.ndarray) and alpha.ndim):
        return _by_output(estimator, alpha, targets)
    number = alpha.item() if isinstance(alpha, np.ndarray) else alpha
    return check_number(number, "alpha", minimum=0.0, maximum=LARGEST, hint=HINT)


def _by_output(estimator: Any, alpha: Any, targets: Any) -> Array:
    """Return one alpha of each output, checked."""
    if not has_targets(estimator):
        raise TypeError(
            f"alpha of a {type(estimator).__name__} must be one number or 'auto', since its "
            f"outputs are one problem, got {type(alpha).__name__}: one for each column of y is "
            f"for KernelRegressor"
        )
    outputs = getattr(targets, "outputs", len(alpha))
    if np.shape(alpha) != (outputs,):
        raise ValueError(
            f"alpha must be one number, or one for each of the {outputs} columns of y, got shape "
            f"{np.shape(alpha)}"
        )
    numbers = [
        check_number(one, f"alpha of output {place}", minimum=0.0, maximum=LARGEST, hint=HINT)
        for place, one in enumerate(np.asarray(alpha).tolist())
    ]
    return np.array(numbers)


def has_targets(estimator: Any) -> bool:
    """Return whether outputs are problems of their own, which may have their own penalties."""
    return "alpha_per_target" in estimator.get_params(deep=False)


def chosen_per_target(estimator: Any, targets: Any) -> bool:
    """Return whether alpha is chosen for each column of y; a y of one dimension has one."""
    asked = check_flag(estimator.alpha_per_target, "alpha_per_target")
    return asked and bool(getattr(targets, "columns", False))


def check_alphas_of_outputs(
    estimator: Any, alpha: Penalty | None, solver: BaseSolver, combination: Combination
) -> None:
    """Raise ValueError if outputs cannot have penalties of their own: with other than one A."""
    given = alpha is not None and np.ndim(alpha) > 0
    if not (given or (alpha is None and estimator.alpha_per_target)):
        return
    what = "an alpha of each output" if given else "alpha_per_target=True"
    if solver.regularized_by_steps:
        raise ValueError(
            f"{what} needs a penalty, but {type(solver).__name__} regularizes all outputs by one "
            f"number of steps: use solver='ridge', or a model for each output"
        )
    if solver.needs == "products":
        raise ValueError(
            f"{what} needs a decomposition, but products solve for one alpha: use solver='ridge'"
        )
    if combination.depends_on_shards:
        raise ValueError(
            f"{what} needs the sums of all rows in one place, but combine={estimator.combine!r} "
            f"solves with one alpha in every shard: use combine='sum', or a model for each output"
        )
    if getattr(estimator, "intervals", None) == "jackknife+":
        raise ValueError(
            f"{what} would leave out every row once for each alpha: use intervals='cv+' or None"
        )
