"""What is measured where, and the measuring."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.distributed_nystroem.methods import METHODS, estimator
from experiments.distributed_nystroem.problems import Problem, load
from experiments.scaffold.data import Split
from experiments.scaffold.runner import Job
from mercer import MercerWarning

#: The methods of figure 1.
IN_FIGURE_1 = ("DNystroem", "DC-NY", "DKRR")


@dataclass(frozen=True, order=True)
class Point:
    """A method at some m, M and N; m is 1 and M is 0 where it has none, or has all rows."""

    method: str
    partitions: int
    centers: int
    rows: int


#: Share of test rows with the wrong class, by point and seed.
Results = dict[tuple[Point, int], float]


@dataclass(frozen=True)
class Trial:
    """One trial, as it is kept."""

    method: str
    partitions: int
    centers: int
    rows: int
    seed: int
    error: float


def as_trials(results: Results) -> list[Trial]:
    """Return trials in an order that does not depend on when they were made."""
    ordered = sorted(results.items(), key=lambda item: (order(item[0][0]), item[0][1]))
    return [Trial(*astuple(at), seed, value) for (at, seed), value in ordered]


def as_results(trials: Iterable[Trial]) -> Results:
    """Return what was kept by point and seed."""
    return {
        (Point(one.method, one.partitions, one.centers, one.rows), one.seed): one.error
        for one in trials
    }


def point(method: str, partitions: int, centers: int, rows: int) -> Point:
    """Return where a method is measured, under the one name of what is the same.

    With a center at each row of a shard, DC-NY has the exact kernel, and is not fitted again.

    >>> point("DC-NY", partitions=20, centers=500, rows=7291)
    Point(method='DC-NY', partitions=20, centers=0, rows=7291)
    """
    if method == "DC-NY" and centers >= -(-rows // partitions):
        centers = 0
    known = METHODS[method]
    return Point(
        method,
        partitions if known.has_partitions else 1,
        centers if known.has_centers else 0,
        rows,
    )


def by_partitions(problem: Problem, method: str) -> list[Point]:
    """Return the points of a curve of figure 5."""
    rows, M = problem.train_rows, problem.at_centers
    return [point(method, m, M, rows) for m in problem.partitions]


def by_centers(problem: Problem, method: str) -> list[Point]:
    """Return the points of a curve of figure 6, and of figure 1, left."""
    rows, m = problem.train_rows, problem.at_partitions
    return [point(method, m, centers, rows) for centers in problem.centers]


def by_rows(problem: Problem, method: str) -> list[Point]:
    """Return the points of a curve of figure 1, right."""
    m, M = problem.at_partitions, problem.at_centers
    return [point(method, m, M, rows) for rows in problem.samples]


def points(problem: Problem) -> list[Point]:
    """Return every point of every figure, once."""
    found: list[Point] = []
    for method in METHODS:
        found += by_partitions(problem, method) + by_centers(problem, method)
    for method in IN_FIGURE_1:
        found += by_rows(problem, method)
    return sorted(set(found), key=order)


def order(at: Point) -> tuple[int, int, int, int]:
    """Sort by method, as they are listed, then by m, M and N."""
    return list(METHODS).index(at.method), at.partitions, at.centers, at.rows


def missing(problem: Problem, repeats: int, known: Results) -> list[tuple[Point, int]]:
    """Return the trials still to be made: all points once, then all again with the next seed."""
    wanted = ((at, seed) for seed in range(repeats) for at in points(problem))
    return [trial for trial in wanted if trial not in known]


def run(job: Job) -> list[Trial]:
    """Make the trials of a data set that are not kept yet, and keep each at once."""
    problem = job.size.problems[job.part]
    repeats = problem.repeats if job.size.repeats is None else job.size.repeats
    results = as_results(job.before(Trial))
    asked = missing(problem, repeats, results)
    if asked:
        data = load(problem)
        with threadpool_limits(limits=1):  # the same on any number of cores
            for done, (at, seed) in enumerate(asked, start=1):
                results[at, seed] = error(problem, data, at, seed)
                job.keep(as_trials(results))
                job.progress.count(f"{job.part}, trials", done, len(asked))
    return as_trials(results)


def error(problem: Problem, data: Split, at: Point, seed: int) -> float:
    """Fit a method and return its error rate. A seed deals the same shards to every method."""
    model = estimator(at.method, at.partitions, at.centers, problem.bandwidth, problem.alpha, seed)
    X, y = data.X, data.y
    if at.rows < len(X):
        kept = np.random.default_rng(seed).permutation(len(X))[: at.rows]
        X, y = X[kept], y[kept]
    with warnings.catch_warnings():
        # Shards differ by a row, so the smaller ones may have fewer rows than centers are asked.
        warnings.filterwarnings("ignore", "n_components=", MercerWarning)
        model.fit(X, y)
    return float(np.mean(model.predict(data.X_test) != data.y_test))
