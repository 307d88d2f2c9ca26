"""Every method that tables compare, at its defaults: boosted trees, kernels, and mercer itself.

A seed is set where there is one, threads are those of the machine, and nothing is printed or
written; all else is left as each library has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from inspect import signature
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from benchmarks.kernel_grid import KernelGrid
from benchmarks.table_sets import CLASSIFICATION, RANKING, REGRESSION, Rows

#: What the default was before a metric was learned, beside the kernel, as far as a version has it.
PLAIN = {"metric": None, "scale": None, "selection": "gcv"}
#: Landmarks of the picture of error against time.
LADDER = (250, 500, 1000, 2000, 4000, 8000)
#: The method whose time the search over kernels gets.
DEFAULT = "mercer"


@dataclass(frozen=True)
class Method:
    """A package, what makes an estimator of each kind of task, and what is asked of the run.

    ``make`` takes a kind, a seed, and the seconds that may be used where ``timed`` is set.
    ``queries`` names the argument by which ``fit`` takes the queries of a ranking.
    """

    package: str
    kinds: tuple[str, ...]
    make: Callable[..., Any]
    queries: str | None = None
    timed: bool = False

    @property
    def installed(self) -> bool:
        """Whether the package is there."""
        return find_spec(self.package) is not None

    @property
    def version(self) -> str:
        """The package and its version."""
        name = {"sklearn": "scikit-learn", "xgboost": _installed_xgboost()}
        distribution = name.get(self.package, self.package)
        return f"{distribution} {version(distribution)}"

    def fit(self, model: Any, rows: Rows) -> Any:
        """Fit a model to the training rows."""
        return model.fit(rows.X, rows.y, **self.further(rows))

    def further(self, rows: Rows) -> dict[str, Any]:
        """Return what ``fit`` takes beside X and y."""
        if self.queries is None or rows.qid is None:
            return {}
        if self.queries == "group":  # sizes, in the order of the rows
            return {"group": np.unique(rows.qid, return_counts=True)[1]}
        return {self.queries: rows.qid}


def catboost(suffix: Mapping[str, str], kind: str, seed: int) -> Any:
    quiet = {"verbose": False, "allow_writing_files": False}
    made = getattr(import_module("catboost"), f"CatBoost{suffix[kind]}")
    return made(thread_count=joblib.cpu_count(), random_seed=seed, **quiet)


def xgboost(suffix: Mapping[str, str], kind: str, seed: int) -> Any:
    made = getattr(import_module("xgboost"), f"XGB{suffix[kind]}")
    return made(n_jobs=joblib.cpu_count(), random_state=seed)


def lightgbm(suffix: Mapping[str, str], kind: str, seed: int) -> Any:
    made = getattr(import_module("lightgbm"), f"LGBM{suffix[kind]}")
    return made(n_jobs=joblib.cpu_count(), random_state=seed, verbose=-1)


def histogram(kind: str, seed: int) -> Any:
    from sklearn import ensemble

    name = "Classifier" if kind == CLASSIFICATION else "Regressor"
    return getattr(ensemble, f"HistGradientBoosting{name}")(random_state=seed)


def grid(kind: str, seed: int, seconds: float) -> KernelGrid:
    return KernelGrid(seconds, kind == CLASSIFICATION, seed)


def mercer(settings: Mapping[str, Any], kind: str, seed: int) -> Any:
    """Return mercer's estimator with those of the settings that this version has."""
    made = getattr(import_module("mercer"), f"Kernel{SUFFIX[kind]}")
    known = signature(made).parameters
    return made(
        **{name: value for name, value in settings.items() if name in known}
        | {"random_state": seed}
    )


def plain(kind: str, seed: int) -> Any:
    """Return mercer's default before a metric was learned: one bandwidth, the median distance."""
    library = import_module("mercer")
    fixed = {"kernel": library.Gaussian("median"), "basis": library.Landmarks()}
    return mercer(PLAIN | fixed, kind, seed)


class WithoutMetric:
    """Mercer with the kernel that its default chose, but no metric: what the metric is worth."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed

    def fit(self, X: Any, y: Any) -> WithoutMetric:
        """Fit the default, then its kernel without a metric."""
        chosen = mercer({}, self.kind, self.seed).fit(X, y).kernel_
        kernel = clone(getattr(chosen, "kernel", chosen)).set_params(bandwidth="auto")
        self.model = mercer({"kernel": kernel, "metric": None}, self.kind, self.seed).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Predict with the second."""
        return self.model.predict(X)


def landmarks(number: int, kind: str, seed: int) -> Any:
    """Return mercer's default with a number of landmarks."""
    return mercer({"basis": import_module("mercer").Landmarks(number)}, kind, seed)


def _installed_xgboost() -> str:
    from importlib.metadata import packages_distributions

    return packages_distributions().get("xgboost", ["xgboost"])[0]


SUFFIX = {REGRESSION: "Regressor", CLASSIFICATION: "Classifier", RANKING: "Ranker"}
#: A ranking learned as the regression of its grades.
GRADES = SUFFIX | {RANKING: "Regressor"}
ALL, TABLES = (REGRESSION, CLASSIFICATION, RANKING), (REGRESSION, CLASSIFICATION)

METHODS = {
    DEFAULT: Method("mercer", ALL, partial(mercer, {}), "qid"),
    "mercer plain": Method("mercer", ALL, plain, "qid"),
    "mercer, no metric": Method("mercer", TABLES, WithoutMetric),
    "CatBoost": Method("catboost", ALL, partial(catboost, SUFFIX), "group_id"),
    "XGBoost": Method("xgboost", ALL, partial(xgboost, SUFFIX), "qid"),
    "LightGBM": Method("lightgbm", ALL, partial(lightgbm, SUFFIX), "group"),
    "HistGradientBoosting": Method("sklearn", TABLES, histogram),
    "kernel grid": Method("sklearn", TABLES, grid, timed=True),
    "CatBoost, grades": Method("catboost", (RANKING,), partial(catboost, GRADES)),
    "XGBoost, grades": Method("xgboost", (RANKING,), partial(xgboost, GRADES)),
    "LightGBM, grades": Method("lightgbm", (RANKING,), partial(lightgbm, GRADES)),
    "HistGradientBoosting, grades": Method("sklearn", (RANKING,), histogram),
}
#: mercer with more and more landmarks, for the picture.
SIZES = {
    f"mercer, M = {number}": Method("mercer", TABLES, partial(landmarks, number))
    for number in LADDER
}
#: The methods whose best one mercer is compared with.
TREES = ("CatBoost", "XGBoost", "LightGBM", "HistGradientBoosting")
PEERS = (*TREES, "kernel grid")
