"""How the metric is learned: California housing, error by candidate, and a rotated direction."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import style

from mercer import Gaussian, KernelRegressor, Landmarks, MetricDisplay, MetricSearch, SearchDisplay
from mercer.datasets import load_real

#: Columns of the generated table, if California housing is not there.
NAMES = ["rooms", "age", "noise 1", "noise 2", "latitude", "longitude"]


def houses() -> tuple[str, list[str], np.ndarray, np.ndarray]:
    """Return California housing; without it, a generated table with a map in two columns."""
    try:
        data = load_real("california_housing")
    except OSError:  # neither a folder of data nor a network
        rng = np.random.default_rng(0)
        X = rng.random((4000, 6)) * [8, 50, 1, 1, 10, 10]
        y = np.sin(X[:, 4]) * np.cos(X[:, 5]) + 0.1 * X[:, 0] + 0.2 * rng.standard_normal(4000)
        return "A generated table", NAMES, X, y
    names = [str(name) for name in data.feature_names]
    return "California housing", names, np.asarray(data.X, float), np.asarray(data.y, float)


def angles(P: np.ndarray, w: np.ndarray) -> float:
    """Return the angle in degrees between the leading direction of P and w."""
    leading = np.linalg.svd(P)[0][:, 0]
    return float(np.degrees(np.arccos(min(1.0, abs(leading @ w)))))


def rotated(axes: plt.Axes) -> None:
    """A function of one direction that is no column: the directions before and after."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 10))
    w = rng.standard_normal(10)
    w /= np.linalg.norm(w)
    y = np.sin(3 * X @ w) + 0.1 * rng.standard_normal(2000)
    places = np.arange(10)
    axes.bar(places, w, width=0.8, color=style.LIGHT, label="w")
    for rounds, color in ((1, style.SKY), (4, style.BLUE)):
        search = MetricSearch("full", rounds=rounds, n_components=400)
        model = KernelRegressor(Gaussian("median"), Landmarks(400), metric=search, random_state=0)
        model.fit(X, y)
        leading = np.linalg.svd(model.metric_)[0][:, 0]
        leading *= np.sign(leading @ w)
        taken = model.fit_.search.rounds
        label = f"{taken} round{'s' * (taken > 1)}: {angles(model.metric_, w):.1f}°"
        axes.plot(places, leading, "o", color=color, markersize=5, label=label)
        print(label)
    axes.axhline(0, color=style.GRAY, linewidth=0.6)
    axes.set(title="y = sin(3 w'x): the direction is found", xlabel="column", xticks=places)
    axes.set_ylim(-0.75, 0.95)
    axes.legend(loc="upper center", ncols=3, columnspacing=1.0, handlelength=1.2)


def main() -> None:
    """Draw the importances, the search and the direction."""
    title, names, X, y = houses()
    import pandas as pd

    model = KernelRegressor(basis=Landmarks(500), random_state=0)
    model.fit(pd.DataFrame(X, columns=names), y)
    print(model.summary())
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 3.5), layout="constrained", width_ratios=(1.1, 1.15, 1)
    )
    MetricDisplay.from_estimator(model, ax=left, name=f"{title}: importances")
    SearchDisplay.from_estimator(model, ax=middle, name=f"{title}: the search")
    rotated(right)
    style.save(figure, "metric")


if __name__ == "__main__":
    main()
