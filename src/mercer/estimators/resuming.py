"""When a fit can resume the previous one: same rows, same parameters except for the steps."""

from __future__ import annotations

from typing import Any

from mercer.contracts import Array
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.solvers import as_solver
from mercer.storage import fingerprint

#: Parameters of an iterative solver that only determine when it stops.
STEPS = ("stop", "max_steps", "tolerance")
#: Parameters of an estimator that do not change the result, or are compared separately.
NOT_COMPARED = ("solver", "verbose", "engine", "checkpoint")
ROWS = 65_536


def fingerprint_of(estimator: Any, rows: RowSet, present: Array | None) -> str | None:
    """Return what must be equal for a fit to resume; None if there are no steps to resume."""
    solver = as_solver(estimator.solver)
    rule = solver.rule()
    pieces = () if rule is None else (rule.folds, rule.held_out)
    if rule is None and solver.needs != "products":
        return None
    fixed = {k: v for k, v in solver.get_params(deep=False).items() if k not in STEPS}
    others = {k: v for k, v in estimator.get_params(deep=False).items() if k not in NOT_COMPARED}
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
