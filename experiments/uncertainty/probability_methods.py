"""Every method of probabilities, at its defaults, on one thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks import peers
from benchmarks.table_sets import CLASSIFICATION

from experiments.uncertainty.availability import Needs

FOLDS = 5
UNCALIBRATED = {"calibration": None}


@dataclass(frozen=True)
class Method:
    """What it needs, what makes a classifier of a seed, what readers are told, sets left out."""

    needs: Needs
    make: Callable[[int], Any]
    told: str
    too_slow: frozenset[str] = field(default_factory=frozenset)


def mercer(seed: int) -> Any:
    """Return mercer's default."""
    return peers.mercer({}, CLASSIFICATION, seed)


def uncalibrated(seed: int) -> Any:
    """Return mercer without a calibration: least squares, projected onto the simplex."""
    return peers.mercer(UNCALIBRATED, CLASSIFICATION, seed)


def wrapped(seed: int) -> Any:
    """Return scikit-learn's calibration around the latter, with a search in each fold."""
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(uncalibrated(seed), method="sigmoid", cv=FOLDS)


CALIBRATED = Needs("mercer", "KernelClassifier", "calibration")
METHODS = {
    "mercer": Method(CALIBRATED, mercer, "mercer"),
    "mercer-uncalibrated": Method(Needs("mercer"), uncalibrated, "mercer, not calibrated"),
    "mercer-calibrated-cv": Method(Needs("mercer"), wrapped, "CalibratedClassifierCV(mercer)"),
    "catboost": Method(
        Needs("catboost"),
        partial(peers.catboost, peers.SUFFIX, CLASSIFICATION),
        "CatBoost",
        frozenset({"usps", "mnist", "fashion_mnist"}),  # up to a quarter of an hour a fit
    ),
    "histogram": Method(
        Needs("sklearn"), partial(peers.histogram, CLASSIFICATION), "HistGradientBoosting"
    ),
}
