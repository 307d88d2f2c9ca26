"""Draw, fit and measure, trial by trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

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
from mercer.contracts import Array

SIZES = (32, 64, 128, 256, 512, 1024)
TRIALS = 100
#: Called after each trial with n and the number of trials made.
Progress = Callable[[int, int], None]


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


def run(
    sizes: Iterable[int] = SIZES,
    trials: int = TRIALS,
    methods: Iterable[str] = (*METHODS, RIDGE),
    progress: Progress | None = None,
) -> Results:
    """Run all methods on the same rows, for each n and trial."""
    results, asked = Results(), list(methods)
    names = [name for name in asked if name != RIDGE]
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for n in sizes:
            if RIDGE in asked:
                results.ridges[n] = Ridges()
            results.steps.update({(name, n): Steps() for name in names})
            for trial in range(trials):
                X, y = draw(n, trial)
                for name in names:
                    take_steps(METHODS[name], X, y, trial, results.steps[name, n])
                if RIDGE in asked:
                    take_ridges(X, y, results.ridges[n])
                if progress is not None:
                    progress(n, trial + 1)
    return results


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
