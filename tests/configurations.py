"""A table of estimators: bases x solvers x criteria x combinations, as all pairs of them.

``expected_failures`` says which of scikit-learn's checks cannot hold for one of them, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cases import MEDIAN
from mercer import (
    KCGM,
    GradientDescent,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    Sketch,
    StopAfter,
)
from pairs import all_pairs

KINDS = {
    "regressor": KernelRegressor,
    "classifier": KernelClassifier,
    "ranker": KernelRanker,
}
#: "auto" also searches kernel, metric and scale; the others take the columns as they are.
BASES: dict[str, dict[str, Any]] = {
    "auto": {},
    "full": {"basis": "full", **MEDIAN},
    "landmarks": {"basis": Landmarks(100), **MEDIAN},
    "leverage": {"basis": Landmarks(100, sampling="leverage"), **MEDIAN},
    "kmeans": {"basis": Landmarks(100, sampling="kmeans"), **MEDIAN},
    "random_features": {"basis": RandomFeatures(50), **MEDIAN},
    "sketch": {"basis": Sketch(100, kind="dct"), **MEDIAN},
}
#: In float32, one row at a time and all rows at once differ by more than the 1e-7 of a check.
SOLVERS: dict[str, dict[str, Any]] = {
    "auto": {},
    "cutoff": {"solver": "cutoff"},
    "steps by folds": {"solver": KCGM(max_steps=50)},
    "given steps": {"solver": GradientDescent(StopAfter(20))},
    "products": {"solver": "pcg", "dtype": "float64"},
}
CRITERIA: dict[str, dict[str, Any]] = {
    "auto": {},
    "gcv": {"selection": "gcv"},
    "kfold": {"selection": "kfold"},
    "loo": {"selection": "loo"},
    "given": {"alpha": 1e-3},
}
COMBINATIONS: dict[str, dict[str, Any]] = {
    "one place": {},
    "sum": {"shards": 2},
    "average": {"shards": 2, "combine": "average"},
    "newton": {"shards": 2, "combine": "newton"},
    "conjugate": {"shards": 2, "combine": "conjugate"},
}
#: Why a row of weight 2 may not be the same as the row given twice. Each is a matter of chance: the
#: draws of a small data set can come out the same.
REASONS = {
    "drawn": "functions are drawn from rows: two copies are drawn twice as often as one row",
    "shards": "rows are dealt to shards: two copies may be in two shards, a row is in one",
    "folds": "rows are dealt to folds: two copies may be in two folds, a row is in one",
    "left out": "of two copies one is left out and the other stays, a row is left out whole",
    "probabilities": "probabilities are fitted to left-out rows: of two copies, one stays",
}


@dataclass(frozen=True)
class Configuration:
    """A value of each factor."""

    kind: str
    basis: str
    solver: str
    criterion: str
    combination: str

    def __str__(self) -> str:
        return "-".join(vars(self).values()).replace(" ", "_")

    def estimator(self) -> Any:
        """Return the estimator, not fitted."""
        return KINDS[self.kind](
            **BASES[self.basis],
            **SOLVERS[self.solver],
            **CRITERIA[self.criterion],
            **COMBINATIONS[self.combination],
            random_state=0,
        )

    @property
    def works(self) -> bool:
        """Whether the library does not refuse it before a fit."""
        if "steps" in self.solver and self.criterion != "auto":
            return False  # there is no alpha to choose
        if self.solver == "cutoff" and self.criterion == "loo":
            return False
        if self.combination in ("newton", "conjugate"):
            return self.solver == "auto" and self.basis not in ("full", "sketch")
        if self.combination == "sum" and self.basis in ("full", "sketch"):
            return self.basis == "full" and self.solver == "products" and self.kind != "ranker"
        return self.solver != "products" or self.combination != "average"


def why_weights_are_not_copies(one: Configuration) -> str | None:
    """Return the key of the reason why a row of weight 2 is not two copies; None if it is."""
    if one.basis == "kmeans":  # the other bases take all rows of the small data of the check
        return "drawn"
    if one.combination != "one place":
        return "shards"
    if one.solver == "steps by folds" or one.criterion == "kfold":
        return "folds"
    if one.criterion == "loo" or (one.criterion == "auto" and one.solver in ("auto", "products")):
        return "left out"
    return "probabilities" if one.kind == "classifier" else None


def expected_failures(one: Configuration) -> dict[str, str]:
    """Return the checks of scikit-learn that cannot hold, each with its reason."""
    why = why_weights_are_not_copies(one)
    if why is None:
        return {}
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{rows}_data": REASONS[why] for rows in kinds}


def _works(*row: str) -> bool:
    return Configuration(*row).works


_FACTORS = (KINDS, BASES, SOLVERS, CRITERIA, COMBINATIONS)
#: Any two values of two factors meet, where they can.
CONFIGURATIONS = [Configuration(*row) for row in all_pairs(*_FACTORS, allowed=_works)]
#: Every value once, but the search of the defaults, which have tests of their own.
FEW_CONFIGURATIONS = [
    Configuration(*row)
    for row in all_pairs(
        *_FACTORS, allowed=lambda *row: _works(*row) and row[1] != "auto", strength=1
    )
]
