"""Plan from a sample, then fit all rows, and keep both."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.scaffold.data import AbsentError, Split, load
from experiments.scaffold.runner import Job
from mercer import KernelClassifier, KernelRegressor, Landmarks, Matern, RandomFeatures
from mercer.theory import Cluster
from mercer.theory.forecast import SHAPES, predicted_error
from mercer.theory.system_costs import COSTS, Sizes


@dataclass(frozen=True)
class Size:
    """How much to run."""

    sets: tuple[str, ...]
    rows: int
    test: int
    sample: int
    functions: tuple[int, ...]
    shards: tuple[int, ...]
    repeats: int = 1


REGRESSION = ("california_housing", "elevators", "kin40k", "us_flights_2001")
CLASSES = ("letter", "covtype", "higgs_subset")
FULL = Size((*REGRESSION, *CLASSES), 60_000, 20_000, 8000, (500, 1000, 2000, 4000), (10, 50))
SMALL = Size(("california_housing", "letter"), 1500, 500, 600, (50, 100), (4,))
#: The largest shard of an exact kernel that is fitted.
LARGEST_SHARD = 6000


@dataclass(frozen=True)
class Fitted:
    """What was planned for a fit, and what came out."""

    set: str
    system: str
    rows: int
    functions: int
    shards: int
    planned_error: float
    low: float
    high: float
    error: float
    planned_seconds: float
    seconds: float


@dataclass(frozen=True)
class Problem:
    """The exponents of a set, as text with their intervals, and what the theorems make of them."""

    set: str
    rows: int
    gamma: str
    alpha: str
    r: str
    law: str
    landmarks: float
    features: float
    shards: float
    recommended: str
    study_seconds: float


def split_of(name: str, size: Size) -> Split:
    """Return rows to train and to test on, shuffled, with standardized columns."""
    data = load(name)
    if hasattr(data, "X_train"):
        X, y = np.vstack([data.X_train, data.X_test]), np.r_[data.y_train, data.y_test]
    else:
        X, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(X))[: size.rows + size.test]
    X, y = X[order].astype(float), y[order]
    test = min(size.test, len(X) // 4)
    train = slice(0, len(X) - test)
    center, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - center) / np.where(scale > 0, scale, 1.0)
    return Split(X[train], y[train], X[-test:], y[-test:])


def systems(rows: int, size: Size) -> Iterator[tuple[str, int, int]]:
    """Yield what is fitted: a system, its functions and its shards."""
    for functions in size.functions:
        if functions < rows:
            by = "FALKON" if functions > 2000 else "KRR-Nystroem"
            yield by, functions, 1
    middle = size.functions[1]
    yield "KRR-RF", middle, 1
    for shards in size.shards:
        yield "DNystroem", middle, shards
        yield "DKRR-RF", middle, shards
        if rows / shards <= LARGEST_SHARD:
            yield "DKRR", rows, shards


def settings(system: str, functions: int, shards: int) -> dict[str, Any]:
    """Return the parameters of a fit."""
    shape = SHAPES[system]
    basis: Any = Landmarks(functions)
    if shape.family == "random features":
        basis = RandomFeatures(functions)
    found: dict[str, Any] = {"basis": "full" if shape.full else basis}
    found["solver"] = "pcg" if shape.combination == "products" else "ridge"
    return found | ({"shards": shards, "combine": "average"} if shape.averaged else {})


def model_of(name: str, **parameters: Any) -> Any:
    """Return an estimator with a Matern kernel and its median bandwidth."""
    kind = KernelClassifier if name in CLASSES else KernelRegressor
    kernel = Matern(nu=1.5, bandwidth="median")
    return kind(kernel, metric=None, scale=None, random_state=0, **parameters)


def error_of(name: str, model: Any, data: Split) -> float:
    """Return the root mean squared error, or the error rate, on the test rows."""
    found = model.predict(data.X_test)
    if name in CLASSES:
        return float(np.mean(found != data.y_test))
    return float(np.sqrt(np.mean((found - data.y_test) ** 2)))


def run(job: Job) -> dict[str, str] | list[Fitted]:
    """Plan and fit every set; keep rows as they come."""
    from experiments.scaffold.records import as_csv

    fitted: list[Fitted] = []
    problems: list[Problem] = []
    for name in job.size.sets:
        try:
            data = split_of(name, job.size)
        except AbsentError as error:
            job.progress(f"{name}: skipped, {error}")
            continue
        plan = model_of(name).plan(data.X, data.y, sample=job.size.sample)
        found, study = plan.forecast, plan.forecast.study
        by = {one.name: one for one in plan.systems}
        problems.append(
            Problem(
                name,
                len(data.X),
                str(study.gamma),
                str(study.supremum),
                f"{study.r}; {study.r_verdict}",
                study.capacity.gamma.verdict,
                _number(by["DNystroem"].paper_functions),
                _number(by["DKRR-RF"].paper_functions),
                _number(by["DNystroem"].paper_shards),
                f"{plan.recommended.name}, {plan.recommended.functions:,} functions",
                study.seconds,
            )
        )
        for system, functions, shards in systems(len(data.X), job.size):
            shape = SHAPES[system]
            each = len(data.X) / shards if shape.averaged else np.inf
            expected = predicted_error(study, shape, len(data.X), functions, each)
            sizes = Sizes(
                len(data.X), data.X.shape[1], found.outputs, functions, shards, 0, shape.full
            )
            planned, _ = COSTS[shape.combination](sizes, found.speeds, Cluster())
            model = model_of(name, **settings(system, functions, shards))
            start = time.perf_counter()
            model.fit(data.X, data.y)
            seconds = time.perf_counter() - start
            fitted.append(
                Fitted(
                    name,
                    system,
                    len(data.X),
                    functions,
                    shards,
                    expected.value,
                    expected.low,
                    expected.high,
                    error_of(name, model, data),
                    planned,
                    seconds,
                )
            )
            last = fitted[-1]
            job.progress(
                f"{name} {system} M={functions} m={shards}: error {last.planned_error:.4g} planned,"
                f" {last.error:.4g} found; {planned:.1f} s planned, {seconds:.1f} s"
            )
            job.keep({"fits.csv": as_csv(fitted), "problems.csv": as_csv(problems)})
    return {"fits.csv": as_csv(fitted), "problems.csv": as_csv(problems)}


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
