"""Split, choose landmarks, fit and measure."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from experiments.landmark_sampling.over_shards import (
    SHARDED_SMALL,
    ScoredSet,
    ShardedFit,
    ShardedSize,
)
from experiments.landmark_sampling.problems import (
    LONELY,
    PROBLEMS,
    TEST,
    TRAIN,
    Problem,
    Split,
    split,
)
from experiments.landmark_sampling.unevenness import ROWS, Unevenness, unevenness
from experiments.scaffold import Array
from experiments.scaffold.data import AbsentError
from experiments.scaffold.records import as_csv
from experiments.scaffold.runner import Kept, Progress
from experiments.scaffold.timing import one_thread
from mercer import Gaussian, KernelRegressor, Landmarks, LeaveOneOut

SAMPLINGS = ("uniform", "leverage", "bless", "rpcholesky", "kmeans")
#: The alpha of fits that are hardly regularized.
TINY = 1e-9
#: Training rows with which lonely test rows are found.
NEIGHBORS = 1000
#: Training rows that the trace of the approximation is taken over.
TRACED = 3000
#: Landmarks of the fits that show what choosing costs, where there are many rows, and their set.
MANY_SIZE, MANY_SET = 800, "covtype"


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = 5  # splits
    other_repeats: int = 3  # of them with bandwidths other than the median
    problems: Mapping[str, Problem] = field(default_factory=lambda: PROBLEMS)
    #: Bandwidths, in units of the median distance, with the numbers of landmarks for each.
    sizes: Mapping[float, tuple[int, ...]] = field(
        default_factory=lambda: {
            1.0: (25, 50, 100, 200, 400, 800),
            0.5: (25, 50, 100, 200, 400),
            2.0: (25, 50, 100, 200, 400),
        }
    )
    train: int = TRAIN
    test: int = TEST
    loo_size: int = 400  # landmarks of the fits whose alpha is chosen by leave-one-out as well
    many: tuple[int, ...] = (10_000, 100_000)  # rows, where there are many
    shards: ShardedSize = field(default_factory=ShardedSize)


FULL = Size()
SMALL = Size(
    2,
    1,
    {name: PROBLEMS[name] for name in ("letter", "islands")},
    {1.0: (25, 50, 100), 2.0: (25, 50, 100)},
    train=350,
    test=200,
    loo_size=50,
    many=(),
    shards=SHARDED_SMALL,
)


@dataclass(frozen=True)
class Found:
    """One fit."""

    problem: str
    factor: float
    seed: int
    rows: int
    sampling: str
    size: int
    alpha: float  # as chosen
    error: float  # share of the variance of test targets left unexplained
    lonely: float  # the same on lonely test rows
    error_tiny: float  # both again, with the tiny alpha
    lonely_tiny: float
    wrong: float  # share of test rows in the wrong class; nan for numbers
    trace: float  # of K minus its approximation, relative to that of K
    dropped: int  # landmarks that others span
    choosing: float  # seconds
    fitting: float  # seconds of the whole fit


@dataclass
class Results:
    """Everything that was measured."""

    found: list[Found] = field(default_factory=list)
    loo: list[Found] = field(default_factory=list)  # alpha by leave-one-out
    many: list[Found] = field(default_factory=list)
    uneven: list[Unevenness] = field(default_factory=list)
    shards: list[ShardedFit] = field(default_factory=list)
    scored: list[ScoredSet] = field(default_factory=list)


def uniform_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return half and twice as many as well: what others are compared with must reach further.

    >>> uniform_sizes((25, 50))
    (12, 25, 50, 100)
    """
    return (sizes[0] // 2, *sizes, 2 * sizes[-1])


@dataclass(frozen=True)
class Case:
    """One split of a set with one bandwidth: all ways to choose landmarks see the same."""

    problem: str
    factor: float  # the bandwidth, in units of the median distance
    seed: int
    part: Split
    kernel: Gaussian

    @cached_property
    def lonely(self) -> Array:
        """The test rows with the least mean kernel value to training rows: few are near."""
        near = self.kernel(self.part.X_test, self.part.X[:NEIGHBORS]).mean(axis=1)
        return np.argsort(near, kind="stable")[: max(1, int(LONELY * len(near)))]


def cases(name: str, size: Size, factors: Iterable[float]) -> Iterator[Case]:
    """Yield all splits and bandwidths of a set."""
    X, Y = size.problems[name].rows()
    for seed in range(size.repeats):
        part = split(X, Y, seed, size.train, size.test)
        median = Gaussian("median").fitted(part.X)
        for factor in factors if seed < size.other_repeats else {1.0}.intersection(factors):
            kernel = median.with_bandwidth(factor * median.bandwidth)
            yield Case(name, factor, seed, part, kernel)


def run(size: Size, progress: Progress) -> Kept:
    """Fit in all ways to all splits, on one thread, so that seconds can be compared."""
    results = Results()
    widest = uniform_sizes(max(size.sizes.values(), key=len))
    for name, problem in size.problems.items():
        try:
            for case in cases(name, size, size.sizes):
                found = run_case(case, size, widest, results)
                last = {one.sampling: f"{one.sampling} {one.error:.4f}" for one in found}
                at = f"{problem.label}, bandwidth x {case.factor:g}, split {case.seed}"
                progress(f"{at}: {', '.join(last.values())}")
        except AbsentError as error:
            progress(f"{problem.label}: skipped, as its data are not at hand: {error}")
    files = {"fits": results.found, "loo": results.loo, "uneven": results.uneven}
    return {f"{name}.csv": as_csv(rows) for name, rows in files.items()}


def run_case(case: Case, size: Size, widest: tuple[int, ...], into: Results) -> list[Found]:
    """Measure one split with one bandwidth."""
    with one_thread():
        if case.seed == 0:
            few = case.part.X[:ROWS]
            into.uneven.append(unevenness(case.problem, case.factor, case.kernel, few, widest))
        found = compare(case, size.sizes[case.factor])
        if case.factor == 1.0:
            by = LeaveOneOut()
            into.loo += [measured(case, way, size.loo_size, by) for way in SAMPLINGS]
    into.found += found
    return found


def run_many(size: Size, progress: Progress) -> list[Found]:
    """Fit to many rows, to see what choosing costs."""
    found = []
    for rows in size.many:
        (case,) = cases(MANY_SET, replace(size, repeats=1, train=rows), [1.0])
        for sampling in SAMPLINGS:
            with one_thread():
                one = measured(case, sampling, MANY_SIZE)
            found.append(one)
            progress(f"{rows} rows, {sampling}: {one.choosing:.1f} of {one.fitting:.1f} s")
    return found


def compare(case: Case, sizes: Sequence[int]) -> list[Found]:
    """Fit with all ways to choose on the same rows."""
    return [
        measured(case, sampling, size)
        for sampling in SAMPLINGS
        for size in (uniform_sizes(sizes) if sampling == "uniform" else sizes)
        if size <= len(case.part.X)
    ]


def measured(case: Case, sampling: str, size: int, by: Any = "gcv") -> Found:
    """Fit once, and look at errors, at the approximation and at the clock.

    Alpha is chosen by generalized cross-validation where nothing else is said.
    """
    part = case.part
    settings: Any = {
        "solver": "ridge",
        "dtype": "float64",
        "random_state": case.seed,
        "metric": None,
        "scale": None,
    }
    penalty = "size" if sampling in ("leverage", "bless") else None  # suited to M
    basis = Landmarks(size, sampling, alpha=penalty)
    model = KernelRegressor(case.kernel, basis, selection=by, **settings)
    start = time.perf_counter()
    model.fit(part.X, part.Y)
    seconds = time.perf_counter() - start
    chosen = model.predict(part.X_test)
    same = Landmarks(sampling=model.basis_.landmarks_)
    other = KernelRegressor(case.kernel, same, TINY, **settings).fit(part.X, part.Y)
    tiny = other.predict(part.X_test)
    return Found(
        case.problem,
        case.factor,
        case.seed,
        len(part.X),
        sampling,
        size,
        model.alpha_,
        part.error(chosen),
        part.error(chosen, case.lonely),
        part.error(tiny),
        part.error(tiny, case.lonely),
        part.wrong(chosen) if part.classes else float("nan"),
        trace_error(model.basis_, part.X[:TRACED]),
        model.basis_.n_dropped_,
        model.fit_.seconds["basis"],
        seconds,
    )


def trace_error(basis: Landmarks, X: Array) -> float:
    """Return ``trace(K - K_nys) / trace(K)`` over some rows."""
    features = Landmarks(sampling=basis.landmarks_, kernel=basis.kernel_).fit_transform(X)
    total = basis.kernel_.diag(X).sum()
    return float(max(total - np.sum(features**2), 0.0) / total)
