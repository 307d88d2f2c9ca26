"""The error of California housing against the number of rows, from one pass."""

from __future__ import annotations

import style
from explanation import fitted

from mercer import RowsCurveDisplay


def main() -> None:
    """Draw the curve, and what twice the rows would bring."""
    model, frame, y = fitted()
    display = RowsCurveDisplay.from_estimator(model, frame, y, name="California housing")
    print(display.curve.at(display.curve.n_rows), display.curve.gain(2))
    style.save(display.figure_, "rows_curve")


if __name__ == "__main__":
    main()
