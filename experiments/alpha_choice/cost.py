"""What each way to choose alpha costs, in fits with one alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.alpha_choice.trials import Size
from experiments.scaffold.runner import Progress
from experiments.scaffold.timing import Timed, one_thread
from mercer import Gaussian, KernelRegressor, KFold, Landmarks

#: Rows, columns and landmarks of the fits that are timed; small ones for the miniature.
ROWS, COLUMNS, LANDMARKS, REPEATS = 40_000, 10, 1000, 5


@dataclass(frozen=True)
class Cost:
    """The median seconds of one way."""

    way: str
    seconds: float


def run(size: Size, progress: Progress) -> list[Cost]:
    """Time fits in alternation, on one thread."""
    rows = min(ROWS, 100 * size.test)
    landmarks = LANDMARKS if rows == ROWS else 50
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(rows)
    ways: dict[str, dict[str, Any]] = {
        "one alpha": {"alpha": 1e-6},
        "GCV": {"selection": "gcv"},
        "5 folds": {"selection": KFold(5)},
        "leave-one-out, all rows": {"selection": "loo"},
        "auto": {"selection": "auto"},
    }
    timed = {way: Timed() for way in ways}
    with one_thread():
        for _ in range(REPEATS):
            for way, settings in ways.items():
                model = KernelRegressor(
                    Gaussian(3.0), Landmarks(landmarks), solver="ridge", random_state=0, **settings
                )
                timed[way].add(lambda model=model: model.fit(X, y))
    found = [Cost(way, one.median) for way, one in timed.items()]
    progress(", ".join(f"{cost.way} {cost.seconds:.2f} s" for cost in found))
    return found
