"""What moves predictions of California housing: at one row, and over many."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import style

from mercer import KernelRegressor, Landmarks
from metric import houses


def fitted() -> tuple[KernelRegressor, pd.DataFrame, np.ndarray]:
    """Return a model of the houses, and its rows."""
    _, names, X, y = houses()
    frame = pd.DataFrame(X, columns=names)
    model = KernelRegressor(basis=Landmarks(1000), random_state=0).fit(frame, y)
    print(model.summary())
    return model, frame, y


def main() -> None:
    """Draw the effects at a row, and their sizes over 500 rows."""
    model, frame, _ = fitted()
    rows = frame.sample(500, random_state=0)
    explanation = model.explain(rows)
    print(explanation[0], explanation, sep="\n\n")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.3), layout="constrained")
    explanation[0].plot(left)
    explanation.plot(right)
    style.save(figure, "explanation")


if __name__ == "__main__":
    main()
