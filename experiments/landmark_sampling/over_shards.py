"""Landmarks that all shards share, drawn uniformly and by leverage scores (DNystroem).

Li, Liu and Wang (2023) draw centers by the scores of equation (4), at the lambda of the fit. Here
these scores are exact, computed once for a set, and the same for every number of partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from experiments.distributed_nystroem.problems import PROBLEMS, Problem, cut, load
from experiments.scaffold import Array
from experiments.scaffold.data import AbsentError, Split
from experiments.scaffold.records import as_csv
from experiments.scaffold.runner import Kept, Progress
from experiments.scaffold.timing import one_thread
from mercer import Gaussian, KernelClassifier, Landmarks, recipe
from mercer.kernels import Kernel
from mercer.sampling import drawn_by_weight, recursive_dictionary

#: How landmarks are chosen: uniformly, by scores at the fit's alpha, and at a penalty that suits M.
WAYS = ("uniform", "leverage at alpha", "leverage at M")


@dataclass(frozen=True)
class ShardedSize:
    """How much is run over shards: M at some partitions, and partitions at some M."""

    problems: Mapping[str, Problem] = field(
        default_factory=lambda: {name: PROBLEMS[name] for name in ("usps", "pendigits")}
    )
    sizes: tuple[int, ...] = (100, 250, 500, 1000)
    partitions: tuple[int, ...] = (5, 20, 50)
    at_size: int = 500
    at_partitions: int = 20

    def points(self) -> list[tuple[int, int]]:
        """Return partitions and numbers of landmarks, each pair once."""
        found = {(self.at_partitions, size) for size in self.sizes}
        return sorted(found | {(m, self.at_size) for m in self.partitions})


SHARDED_SMALL = ShardedSize({"letter": cut(PROBLEMS["letter"])}, (20, 60), (2, 8), 60, 4)


@dataclass(frozen=True)
class ShardedFit:
    """One fit over shards."""

    problem: str
    sampling: str
    partitions: int
    size: int
    seed: int
    wrong: float  # share of test rows in the wrong class


@dataclass(frozen=True)
class ScoredSet:
    """Exact leverage scores of a set at the alpha of the paper, and approximate ones by them."""

    problem: str
    rows: int
    alpha: float
    dimension: float  # their sum
    spread: float  # standard deviation over mean
    peak: float  # largest over mean
    low: float  # approximate over exact scores: quantiles of 5 %, 50 % and 95 %
    middle: float
    high: float


def exact_leverage(kernel: Kernel, X: Array, alpha: float) -> Array:
    """Return ``diag(K (K + c I)^-1) = 1 - c diag((K + c I)^-1)``, c = alpha n, by Cholesky.

    >>> exact_leverage(Gaussian(1.0), np.array([[0.0], [100.0]]), 0.5).round(9).tolist()
    [0.5, 0.5]
    """
    K = np.asfortranarray(kernel(X))
    c = alpha * len(K)
    np.einsum("ii->i", K)[...] += c
    factor, failed = lapack.dpotrf(K, lower=1, overwrite_a=1)
    inverse, failed_too = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed or failed_too:
        raise ValueError(f"alpha={alpha:g} is too small for these {len(X)} rows")
    return np.asarray(1.0 - c * np.diagonal(inverse))


def scored(problem: Problem, X: Array) -> tuple[Array, ScoredSet]:
    """Return exact scores, with their shape and the ratios of approximate ones to them."""
    kernel, alpha = Gaussian(problem.bandwidth), problem.alpha
    exact = exact_leverage(kernel, X, alpha)
    dictionary = recursive_dictionary(kernel, X, np.random.default_rng(0), alpha=alpha)
    ratios = np.quantile(dictionary.scores(X) / exact, [0.05, 0.5, 0.95])
    mean = exact.mean()
    shape = (float(exact.sum()), float(exact.std() / mean), float(exact.max() / mean))
    return exact, ScoredSet(problem.name, len(X), alpha, *shape, *map(float, ratios))


def fits(
    problem: Problem, data: Split, exact: Array, size: ShardedSize, repeats: int
) -> Iterator[ShardedFit]:
    """Fit in all ways. A seed deals the same shards to every way."""
    for seed in range(repeats):
        for partitions, landmarks in size.points():
            # The draw does not depend on the number of partitions.
            at = drawn_by_weight(exact, landmarks, np.random.default_rng([seed, landmarks]))
            bases = {
                "uniform": Landmarks(landmarks),
                "leverage at alpha": Landmarks(sampling=data.X[at]),
                "leverage at M": Landmarks(landmarks, "leverage", alpha="size"),
            }
            for way in WAYS:
                model = estimator(problem, partitions, seed).set_params(basis=bases[way])
                wrong = np.mean(model.fit(data.X, data.y).predict(data.X_test) != data.y_test)
                yield ShardedFit(problem.name, way, partitions, landmarks, seed, float(wrong))


def estimator(problem: Problem, partitions: int, seed: int) -> KernelClassifier:
    """Return DNystroem with the settings of the paper: no constant, one alpha for all shards."""
    found = recipe(
        "DNystroem",
        "classification",
        kernel=Gaussian(problem.bandwidth),
        alpha=problem.alpha,
        fit_intercept=False,
        calibration=None,  # the class of the largest score, as in the paper
        dtype="float64",
        random_state=seed,
        shards=partitions,
    )
    assert isinstance(found, KernelClassifier)
    return found


def run(size: ShardedSize, repeats: int, progress: Progress) -> Kept:
    """Score each set once, and fit over shards."""
    found: list[ShardedFit] = []
    sets: list[ScoredSet] = []
    for name, problem in size.problems.items():
        try:
            data = load(problem)
        except AbsentError as error:
            progress(f"{name}: skipped, as its data are not at hand: {error}")
            continue
        with one_thread():
            exact, shape = scored(problem, data.X)
            sets.append(shape)
            progress(f"{name}: scores of {len(exact)} rows sum to {shape.dimension:.0f}")
            total = repeats * len(size.points()) * len(WAYS)
            for done, one in enumerate(fits(problem, data, exact, size, repeats), start=1):
                found.append(one)
                progress.count(f"{name}, fits", done, total)
    return {"shards.csv": as_csv(found), "scored.csv": as_csv(sets)} if found else {}
