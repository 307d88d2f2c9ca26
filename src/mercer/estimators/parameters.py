"""Validate the parameters of an estimator and convert them to a Request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.bases import BasisTransformer, as_basis
from mercer.combine import as_combination
from mercer.estimators.asked import asked_kernel
from mercer.estimators.asked_alpha import (
    asked_alpha,
    check_alphas_of_outputs,
    chosen_per_target,
)
from mercer.estimators.calibrating import check_calibration
from mercer.estimators.class_weighing import check_class_weight
from mercer.estimators.encoding import asked_encoder
from mercer.estimators.sharding import check_sharding
from mercer.estimators.weighing import WEIGHT_TYPES
from mercer.kernels import as_kernel
from mercer.plan import parse_memory
from mercer.request import Request
from mercer.search import SCALES, as_metric
from mercer.search.space import auto_kernels
from mercer.selection import as_criterion
from mercer.solvers import as_solver
from mercer.validation import check_alphas, check_choice, check_flag, check_number

#: Parameters that are objects and can also be given by name.
NAMED: dict[str, Callable[[Any], Any]] = {
    "kernel": as_kernel,
    "basis": as_basis,
    "solver": as_solver,
    "selection": as_criterion,
    "combine": as_combination,
}
_EXAMPLES = {
    "basis": "basis='landmarks' or basis='random_features'",
    "kernel": "kernel='gaussian' or another",
}


def with_objects(before: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters in which a name is an object if a parameter of it is set too.

    Objects that are changed are copied, so that an error leaves the old ones as they were.
    """
    params = dict(params)
    for name, as_object in NAMED.items():
        if name not in before or not any(key.startswith(f"{name}__") for key in params):
            continue
        value = params.get(name, before[name])
        if not isinstance(value, str):
            params[name] = clone(as_object(value))
            continue
        if value == "auto" and name in _EXAMPLES:
            raise ValueError(f"{name}='auto' has no parameters: set {_EXAMPLES[name]} too")
        params[name] = as_object(value)
    return params


def request_of(estimator: Any, targets: Any) -> Request:
    """Validate all parameters that need no data, and return them as a Request."""
    alpha = asked_alpha(estimator, targets)
    asked_encoder(estimator)
    as_metric(estimator.metric)
    if estimator.scale is not None:
        check_choice(estimator.scale, "scale", list(SCALES))
    kernel = asked_kernel(estimator.kernel) or auto_kernels()[0]
    check_choice(estimator.dtype, "dtype", ["auto", "float32", "float64"])
    check_flag(estimator.fit_intercept, "fit_intercept")
    check_choice(estimator.weight_type, "weight_type", WEIGHT_TYPES)
    check_class_weight(estimator.class_weight)
    check_calibration(estimator.calibration)
    check_flag(estimator.warm_start, "warm_start")
    check_flag(estimator.remember_rows, "remember_rows")
    check_number(
        int(estimator.verbose) if isinstance(estimator.verbose, bool) else estimator.verbose,
        "verbose",
    )
    parse_memory(estimator.memory_limit)
    combination = check_sharding(estimator)
    if not (isinstance(estimator.basis, str) and estimator.basis == "auto"):
        as_basis(estimator.basis)
    if isinstance(estimator.basis, BasisTransformer) and estimator.basis.kernel is not None:
        raise ValueError(
            f"the basis has its own kernel, {estimator.basis.kernel!r}: inside an estimator, "
            f"pass it as {type(estimator).__name__}(kernel=...) and leave it None in the basis"
        )
    solver, criterion = as_solver(estimator.solver), as_criterion(estimator.selection)
    check_alphas_of_outputs(estimator, alpha, solver, combination)
    per_target = chosen_per_target(estimator, targets)
    no_shortcut = criterion.second_pass and not criterion.falls_back
    if solver.cuts_off and alpha is None and no_shortcut:
        raise ValueError(
            f"{criterion.label} has no shortcut for solver='cutoff', whose components depend "
            f"on every row: use selection='gcv' or 'kfold'"
        )
    alphas = None if estimator.alphas is None else check_alphas(estimator.alphas)
    is_open = isinstance(estimator.solver, str) and estimator.solver == "auto"
    by_output = per_target if alpha is None else np.ndim(alpha) > 0  # products have one alpha
    factor = getattr(targets, "alpha_factor", 1.0)
    return Request(
        targets=targets,
        kernel=kernel,
        basis=estimator.basis,
        solver=None if is_open and not by_output else solver,
        alpha=None if alpha is None else alpha / factor,
        alphas=None if alphas is None else alphas / factor,
        alpha_per_target=per_target,
        criterion=criterion,
        dtype=estimator.dtype,
        memory_limit=estimator.memory_limit,
        combination=combination,
        rounds=estimator.rounds,
    )
