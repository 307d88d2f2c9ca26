"""What weights mean: repeated rows, ratios only, or draws by importance.

.. math:: \\frac1D \\sum_i w_i (f(x_i) - y_i)^2 + \\alpha \\|f\\|_H^2, \\qquad
          D = \\sum_i w_i \\; \\text{(frequency, relative)}, \\quad n \\; \\text{(importance)}

The fit itself always divides by the sum of the weights W, and takes W for the number of rows. For
"relative" and "importance" the weights are multiplied by n/W, so that W = n; for "importance" alpha
is multiplied by n/W too, which is division by n (Murata and Suzuki, 2021, algorithm 1, line 5).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.estimators.inputs import Given
from mercer.request import Request
from mercer.rows.reweighted import reweighted_shard, weight_sums
from mercer.rows.rowset import RowSet
from mercer.validation import check_weight, warn

#: What ``weight_type=`` accepts.
WEIGHT_TYPES = ["frequency", "relative", "importance"]
#: How far from a whole number a frequency may be.
WHOLE = 1e-6


def with_weight_type(estimator: Any, rows: RowSet) -> tuple[RowSet, float]:
    """Return rows with weights as a fit takes them, and what to multiply alpha by."""
    if estimator.weight_type == "frequency":
        return rows, 1.0
    sums: list[tuple[int, float]] = rows.map(weight_sums, label="weights")
    count, total = sum(part[0] for part in sums), sum(part[1] for part in sums)
    if not (total > 0 and np.isfinite(total)) or total == count:
        return rows, 1.0  # nothing to do, or weights that are refused later
    ratio = count / total
    return rows.derived(reweighted_shard, ratio), (
        ratio if estimator.weight_type == "importance" else 1.0
    )


def with_alpha_times(request: Request, ratio: float) -> Request:
    """Return a request with its penalties multiplied by a number, and steps to match.

    >>> from mercer.estimators.targets import RegressionTargets
    >>> asked = Request(RegressionTargets(np.zeros(1), np.ones(1), False), alpha=0.5)
    >>> with_alpha_times(asked, 2.0).alpha
    1.0
    """
    if ratio == 1.0:
        return request
    return replace(
        request,
        alpha=None if request.alpha is None else request.alpha * ratio,
        alphas=None if request.alphas is None else request.alphas * ratio,
        solver=None if request.solver is None else request.solver.scaled(ratio),
    )


def warn_of_frequencies(estimator: Any, given: Given, request: Request) -> None:
    """Warn of weights that are no frequencies, if the fit depends on the number of rows."""
    if given.weight is None or isinstance(given.weight, str) or not request.counts_rows:
        return
    if estimator.weight_type != "frequency":
        return
    weight = np.asarray(given.weight, dtype=np.float64)
    check_weight(weight)
    weight = weight[weight > 0]
    if not len(weight):
        return
    if weight.min() == weight.max():
        found = "" if weight[0] == 1 else f"all weights are {weight[0]:.4g}"
    else:
        broken = np.abs(weight - np.rint(weight)) > WHOLE
        found = "weights are not whole numbers" if broken.any() else ""
    if found:
        warn(
            f"{found}, but count as repeated rows here, and {request.chooses_by[0]} depends on the "
            f"number of rows: set weight_type='relative' if only their ratios matter"
        )
