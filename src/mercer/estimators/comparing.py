"""What identifies a fit: parameters that end a model, and rows that end a warm start."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.contracts import Array, Targets
from mercer.estimators.parameters import FIXED, PARAMETERS, parameters_that_define
from mercer.opening.opened_rows import OpenedRows
from mercer.rows.labels import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.solvers import as_solver
from mercer.storage import fingerprint
from mercer.storage.fingerprints import RowMultiset, row_fingerprints

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

#: Parameters of an iterative solver that only determine when it stops.
STEPS = ("stop", "max_steps", "tolerance")
ROWS = 65_536


# -- parameters that the sums of a model depend on ---------------------------------------------


def fixed_parameters(estimator: KernelEstimator) -> dict[str, str]:
    """Return a fingerprint of each parameter that a fitted model depends on."""
    params, found = estimator.get_params(deep=False), {}
    for name in FIXED:
        if name not in params:
            continue
        value, as_object = params[name], PARAMETERS[name].as_object
        if name == "solver":  # the kind of solver; its steps may change
            value = type(as_solver(value)).__name__
        elif as_object is not None and isinstance(value, str) and value != "auto":
            value = as_object(value)
        found[name] = _fingerprint(value)
    return found


def described(value: object) -> Any:
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


def _fingerprint(value: object) -> str:
    try:
        return fingerprint(described(value))
    # Part of it cannot be pickled, or it is nested too deeply: only its type is known.
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError):
        return type(value).__name__


def changed_parameters(estimator: KernelEstimator) -> list[str]:
    """Return the parameters that a fitted model depends on and that were set since."""
    known, present = estimator._fixed, fixed_parameters(estimator)
    return [name for name, now in present.items() if known.get(name, now) != now]


def check_unchanged(estimator: KernelEstimator) -> None:
    """Raise ValueError if a parameter that the sums of a model depend on was set since the fit."""
    changed = changed_parameters(estimator)
    if changed:
        names = ", ".join(changed)
        raise ValueError(
            f"partial_fit and forget go on with the fitted model, but {names} "
            f"{'was' if len(changed) == 1 else 'were'} set to something else since: fit again, or "
            f"set {names} back (alpha, alphas, selection and the steps of a solver may change)"
        )


# -- whether a fit can resume the previous one -------------------------------------------------


def fingerprint_of(estimator: KernelEstimator, rows: RowSet, present: Array | None) -> str | None:
    """Return what must be equal for a fit to resume; None if there are no steps to resume."""
    solver = as_solver(estimator.solver)
    rule = solver.rule()
    pieces = () if rule is None else (rule.folds, rule.held_out)
    if rule is None and solver.needs != "products":
        return None
    fixed = {k: v for k, v in solver.get_params(deep=False).items() if k not in STEPS}
    others = parameters_that_define(estimator, "sums", "result", "seed")
    others.pop("solver")
    # Hash the rows themselves, because a file may have changed under the same name.
    hashes = rows.map(hashes_of, label="looking")
    kind = (type(solver).__name__, fixed, *pieces)
    return fingerprint((hashes, rows.feature_names, present, kind, others))


def hashes_of(shard: Shard) -> list[str]:
    """Task: return a hash of each block of a shard's rows."""
    return [
        fingerprint((block.X, block.y, block.weight, block.query))
        for block in shard.source.blocks(ROWS)
    ]


# -- which rows a model was fitted to ----------------------------------------------------------


def rows_in(opened: OpenedRows, targets: Targets) -> RowMultiset:
    """Return the fingerprints of all rows, with their targets and weights."""
    parts = opened.rows.map(fingerprints_in, targets, label="fingerprints", record="fingerprints")
    return RowMultiset.union(RowMultiset(*part) for part in parts)


def fingerprints_in(shard: Shard, targets: Targets) -> tuple[Any, Any]:
    """Task: return the fingerprints of a shard's rows, and how often each occurs."""
    with shard.naming():
        blocks = checked_blocks(shard.source, targets, ROWS, partial=True)
        found = RowMultiset.union(
            RowMultiset.of(row_fingerprints(block.X, Y, block.weight)) for block, Y in blocks
        )
    return found.fingerprints, found.counts
