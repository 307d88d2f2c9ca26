"""Where the error of an average over shards comes from."""

from __future__ import annotations

import style

from mercer import ErrorPartsDisplay, KernelRegressor, Landmarks, Matern
from metric import houses


def main() -> None:
    """Measure the parts for California housing."""
    _, _, X, y = houses()
    kernel = Matern(nu=1.5, bandwidth="median")
    model = KernelRegressor(kernel, Landmarks(500), metric=None, scale="standard", random_state=0)
    display = ErrorPartsDisplay.from_estimator(model.fit(X, y), X, y)
    style.save(display.figure_, "error_parts")
