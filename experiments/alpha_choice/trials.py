"""Fit to many splits of many sets, and note what every candidate chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.alpha_choice.candidates import CANDIDATES
from experiments.alpha_choice.paths import Path, measure
from experiments.alpha_choice.problems import PROBLEMS, Problem, split
from experiments.scaffold.data import AbsentError
from experiments.scaffold.runner import Job
from experiments.scaffold.timing import one_thread
from mercer import Gaussian, LaplacianL2, Matern
from mercer.kernels import Kernel

KERNELS: dict[str, type[Kernel]] = {
    "Gaussian": Gaussian,
    "Matern 3/2": Matern,
    "Laplacian": LaplacianL2,
}
BOTH = ("raw", "standardized")


@dataclass(frozen=True)
class Grid:
    """Fits of all combinations; a size of 0 is the full kernel."""

    rows: int
    sizes: Sequence[int]
    kernels: Sequence[str]
    columns: Sequence[str] = BOTH
    splits: int = 1
    folds: int = 0  # splits with folds, which take most of the time


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = 1  # factor on the number of splits
    grids: Sequence[Grid] = (
        Grid(200, (0, 100), tuple(KERNELS), splits=3, folds=1),
        Grid(1000, (0, 100, 400), ("Gaussian", "Matern 3/2"), splits=2, folds=1),
        Grid(1000, (0, 400), ("Laplacian",)),
        Grid(4000, (100, 400, 800), ("Gaussian",), splits=2),
        Grid(4000, (400, 800), ("Laplacian",)),
        Grid(4000, (2000,), ("Gaussian",), ("raw",)),
        Grid(10_000, (800,), ("Gaussian",)),
    )
    problems: dict[str, Problem] = field(default_factory=lambda: PROBLEMS)
    test: int = 10_000


FULL = Size()
SMALL = Size(
    grids=(
        Grid(100, (0, 50), ("Gaussian", "Laplacian"), splits=2, folds=1),
        Grid(300, (40,), ("Gaussian",)),
    ),
    problems={"letter": PROBLEMS["letter"]},
    test=300,
)


@dataclass(frozen=True)
class Found:
    """One fit: test errors on the path, and the place that each candidate chooses."""

    problem: str
    rows: int
    size: int  # landmarks, 0 for the full kernel
    kernel: str
    columns: str
    seed: int
    errors: tuple[float, ...]  # root mean squared error on test rows
    wrong: tuple[float, ...]  # share of test rows in a wrong class, nan for numbers
    chosen: tuple[float, ...]  # one place a candidate, -1 where it was not run

    @property
    def key(self) -> tuple[str, int, int, str, str, int]:
        """What was fitted."""
        return self.problem, self.rows, self.size, self.kernel, self.columns, self.seed


def cases(size: Size) -> Iterator[tuple[int, int, str, str, int, bool]]:
    """Yield rows, landmarks, kernel, columns, split, and whether there are folds."""
    for grid in size.grids:
        for seed in range(grid.splits * size.repeats):
            for landmarks in grid.sizes:
                for kernel in grid.kernels:
                    for columns in grid.columns:
                        yield grid.rows, landmarks, kernel, columns, seed, seed < grid.folds


def run(job: Job) -> list[Found]:
    """Fit to all sets that are at hand; what was kept before is not fitted again."""
    size: Size = job.size
    found: list[Found] = job.before(Found)
    known = {one.key for one in found}
    for name, problem in size.problems.items():
        try:
            X, y = problem.load()
        except AbsentError as error:
            job.progress(f"{name}: skipped, as its data are not at hand: {error}")
            continue
        before = len(found)
        for rows, landmarks, kernel, columns, seed, folds in cases(size):
            key = (name, rows, landmarks, kernel, columns, seed)
            if key in known or len(X) < rows + min(size.test, 500):
                continue
            scaled = columns == "standardized"
            part = split(X, y, seed, rows, size.test, scaled, problem.classes)
            with one_thread():
                path = measure(part, KERNELS[kernel](), landmarks, seed, problem.classes, folds)
            found.append(Found(*key, *noted(path)))
        job.keep(found)
        job.progress(f"{name}: {len(found) - before} fits")
    return found


def noted(path: Path) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the errors, and where each candidate is on the path."""
    places = [choose(path) for choose in CANDIDATES.values()]
    chosen = tuple(-1.0 if place is None else float(place) for place in places)
    return tuple(map(float, path.errors)), tuple(map(float, path.wrong)), chosen


def ratios(found: Sequence[Found], candidate: str, what: str = "errors") -> np.ndarray:
    """Return the test error at the chosen alpha over the best of the path, for each fit."""
    place = list(CANDIDATES).index(candidate)
    values = []
    for one in found:
        at, path = int(one.chosen[place]), np.array(getattr(one, what))
        values.append(path[at] / path.min() if at >= 0 else np.nan)
    return np.array(values)
