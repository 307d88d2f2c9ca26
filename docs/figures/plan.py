"""What a plan shows: errors and seconds against functions and shards."""

from __future__ import annotations

import style

from mercer import KernelRegressor, Matern, PlanDisplay
from metric import houses


def main() -> None:
    """Plan a fit of 100,000 rows like those of California housing."""
    _, _, X, y = houses()
    kernel = Matern(nu=1.5, bandwidth="median")
    model = KernelRegressor(kernel, metric=None, scale="standard", random_state=0)
    plan = model.plan(X, y, n_rows=100_000)
    style.save(PlanDisplay.from_plan(plan).figure_, "plan")
