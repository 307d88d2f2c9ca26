"""Parameters that the sums of a model depend on: they may not change while rows come and go."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.bases import as_basis
from mercer.kernels import as_kernel
from mercer.solvers import as_solver
from mercer.storage import fingerprint

#: Parameters that decide which functions are summed, and which problem is solved. All others, such
#: as alpha, alphas and selection, take effect in the next call.
FIXED = (
    "kernel",
    "basis",
    "metric",
    "scale",
    "columns",
    "missing",
    "fit_intercept",
    "weight_type",
    "class_weight",
    "solver",
)
_AS_OBJECTS = {"kernel": as_kernel, "basis": as_basis}


def fixed_parameters(estimator: Any) -> dict[str, str]:
    """Return a fingerprint of each parameter that a fitted model depends on."""
    found = {}
    for name in FIXED:
        value = getattr(estimator, name)
        if name == "solver":  # the kind of solver; its steps may change
            value = type(as_solver(value)).__name__
        elif name in _AS_OBJECTS and isinstance(value, str) and value != "auto":
            value = _AS_OBJECTS[name](value)
        found[name] = _fingerprint(value)
    return found


def described(value: Any) -> Any:
    """Return a parameter by its values: objects by type and parameters, generators by type.

    >>> from mercer.kernels import Gaussian
    >>> described(Gaussian(2.0))
    ('Gaussian', {'bandwidth': 2.0})
    """
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return type(value).__name__  # a fit changes its state
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False)
        return type(value).__name__, {name: described(part) for name, part in params.items()}
    if isinstance(value, dict):
        return {str(key): described(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _fingerprint(value: Any) -> str:
    try:
        return fingerprint(described(value))
    # Part of it cannot be pickled, or it is nested too deeply: only its type is known.
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError):
        return type(value).__name__


def changed_parameters(estimator: Any) -> list[str]:
    """Return the parameters that a fitted model depends on and that were set since."""
    known: dict[str, str] = getattr(estimator, "_fixed", {})
    present = fixed_parameters(estimator)
    return [name for name, now in present.items() if known.get(name, now) != now]


def keep_parameters(estimator: Any, changed: Iterable[str] = ()) -> None:
    """Note the parameters of a fitted model; ``changed`` were set after the fit."""
    estimator._fixed = {**fixed_parameters(estimator), **dict.fromkeys(changed, "")}


def check_unchanged(estimator: Any) -> None:
    """Raise ValueError if a parameter that the sums of a model depend on was set since the fit."""
    changed = changed_parameters(estimator)
    if changed:
        names = ", ".join(changed)
        raise ValueError(
            f"partial_fit and forget go on with the fitted model, but {names} "
            f"{'was' if len(changed) == 1 else 'were'} set to something else since: fit again, or "
            f"set {names} back (alpha, alphas, selection and the steps of a solver may change)"
        )
