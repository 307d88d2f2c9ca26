"""Partial dependence and curves of single rows, by scikit-learn, of California housing."""

from __future__ import annotations

import matplotlib.pyplot as plt
import style
from explanation import fitted
from sklearn.inspection import PartialDependenceDisplay


def main() -> None:
    """Draw two columns, and a pair."""
    model, frame, _ = fitted()
    names = list(frame.columns)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
    PartialDependenceDisplay.from_estimator(
        model,
        frame.sample(300, random_state=0),
        [names[0], names[5], (names[-2], names[-1])],
        kind=["both", "both", "average"],
        grid_resolution=25,
        subsample=40,
        random_state=0,
        ice_lines_kw={"color": style.LIGHT, "linewidth": 0.6},
        pd_line_kw={"color": style.BLUE, "linewidth": 2.0, "linestyle": "-"},
        ax=axes,
    )
    style.save(figure, "partial_dependence")


if __name__ == "__main__":
    main()
