"""Draw, fit and measure, trial by trial."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from sklearn.base import clone
from threadpoolctl import threadpool_limits

from experiments.kernel_conjugate_gradients.methods import (
    FACTORS,
    METHODS,
    RIDGE,
    RULES,
    Method,
    ridge,
)
from experiments.kernel_conjugate_gradients.problem import draw, knots, squared_distance
from experiments.scaffold import Array
from experiments.scaffold.records import as_json
from experiments.scaffold.runner import Job, Kept

#: What is kept.
FILE = "trials.json"


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = 100
    sizes: tuple[int, ...] = (32, 64, 128, 256, 512, 1024)
    methods: tuple[str, ...] = (*METHODS, RIDGE)


FULL = Size()
SMALL = Size(2, (32, 64))


@dataclass
class Steps:
    """One method at one n: a row a trial."""

    errors: list[list[float]] = field(default_factory=list)  # to the truth, after each step
    training: list[list[float]] = field(default_factory=list)  # to y, after each step
    chosen: dict[str, list[int]] = field(default_factory=lambda: {rule: [] for rule in RULES})
    reached: dict[str, list[float]] = field(default_factory=lambda: {rule: [] for rule in RULES})
    dropped: int = 0  # functions that the library left out because others span them


@dataclass
class Ridges:
    """Ridge regression at one n: a row a trial."""

    errors: list[list[float]] = field(default_factory=list)  # for each of FACTORS
    reached: list[float] = field(default_factory=list)  # by generalized cross-validation


@dataclass
class Results:
    """Everything that was measured."""

    steps: dict[tuple[str, int], Steps] = field(default_factory=dict)
    ridges: dict[int, Ridges] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        """Each n, from small to large."""
        return sorted({n for _, n in self.steps} | set(self.ridges))

    @property
    def methods(self) -> list[str]:
        """The methods that take steps."""
        return [name for name in METHODS if any(name == other for other, _ in self.steps)]

    @property
    def all_methods(self) -> list[str]:
        """The same, and ridge regression if it was run."""
        return self.methods + [RIDGE] * bool(self.ridges)

    def as_json(self) -> str:
        """Return all of it, to be read again by :func:`read`."""
        steps = [(*key, found) for key, found in self.steps.items()]
        return as_json({"steps": steps, "ridges": list(self.ridges.items())})


def read(folder: Path, size: Size) -> Results | None:
    """Return what was kept, if anything was."""
    path = folder / FILE
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        {(name, n): Steps(**found) for name, n, found in kept["steps"]},
        {n: Ridges(**found) for n, found in kept["ridges"]},
    )


def run(job: Job) -> Kept:
    """Run all methods on the same rows, for each n and trial; what is kept is not run again."""
    size, results = job.size, (read(job.folder, job.size) if job.resume else None) or Results()
    names = [name for name in size.methods if name != RIDGE]
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for n in (n for n in size.sizes if n not in results.sizes):
            ridges, steps = Ridges(), {name: Steps() for name in names}
            for trial in range(size.repeats):
                X, y = draw(n, trial)
                for name in names:
                    take_steps(METHODS[name], X, y, trial, steps[name])
                if RIDGE in size.methods:
                    take_ridges(X, y, ridges)
                job.progress.count(f"n = {n}, trials", trial + 1, size.repeats)
            results.steps.update({(name, n): found for name, found in steps.items()})
            if ridges.errors:
                results.ridges[n] = ridges
            job.keep({FILE: results.as_json()})
    return {FILE: results.as_json()}


def take_steps(method: Method, X: Array, y: Array, trial: int, into: Steps) -> None:
    """Fit the whole path, and once more for each rule."""
    n, at = len(X), knots(X)
    most = method.steps(n)
    model = method.estimator(n, trial).fit(X, y)
    errors = [squared_distance(at, f) for f in model.staged_predict(at[:, None])]
    into.errors.append(held(errors, most))
    into.training.append(held(list(model.path_.training_error), most))
    into.dropped += model.basis_.n_dropped_
    for rule, stop in RULES.items():
        model = clone(model).set_params(solver__stop=stop, solver__max_steps=most).fit(X, y)
        into.chosen[rule].append(model.best_step_)
        into.reached[rule].append(squared_distance(at, model.predict(at[:, None])))


def held(values: list[float], steps: int) -> list[float]:
    """Go on with the last value: where steps end before their time, the equations are solved."""
    return values + values[-1:] * (steps - len(values))


def take_ridges(X: Array, y: Array, into: Ridges) -> None:
    """Fit every alpha, and the one of generalized cross-validation."""
    n, at = len(X), knots(X)
    models = [ridge(n, factor).fit(X, y) for factor in [*FACTORS, None]]
    *errors, reached = (squared_distance(at, model.predict(at[:, None])) for model in models)
    into.errors.append(errors)
    into.reached.append(reached)
