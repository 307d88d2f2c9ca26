"""What is run on EEG eye state: figures 9 to 11, and other penalties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from threadpoolctl import threadpool_limits

from experiments.data_dependent_features.eeg import (
    ALPHA,
    INVERSE,
    LEVERAGE,
    LITERAL,
    NONE,
    PLAIN,
    REPEATED,
    UNBIASED,
    Progress,
    choose,
    fit,
    split,
)
from experiments.data_dependent_features.measured import Measured, Trial, measured
from mercer.contracts import Array

TRIALS, FEW_TRIALS = 5, 2
#: d 2^0 .. d 2^7, as in the paper.
COMPONENTS = (14, 28, 56, 112, 224, 448, 896, 1792)
#: Up to here also leverage, which needs an eigendecomposition of all candidates, and two variants.
FEW_COMPONENTS = 448
LABELED, UNLABELED, SEMI_COMPONENTS = 3000, 7000, 1000
UNLABELED_SIZES = (0, 1000, 2000, 3000, 4000, 5000, 6000, 7000)
FIXED_SHARDS = 10
PARTITIONS = (10, 25, 50, 100)
ALPHAS = (2.0**-16, 2.0**-13, 2.0**-10, 2.0**-7, 2.0**-4)
PENALTY_COMPONENTS, PENALTY_PARTITIONS = 448, (10, 100)
#: The two methods of figures 10 and 11, both with features that labels have chosen.
SUPERVISED, SEMI = "supervised", "semi-supervised"
#: Beside them in figure 10, plain features.
PLAIN_SEMI = "semi-supervised, plain"

#: M, m, rows without labels, alpha.
Setting = tuple[int, int, int, float]
One = Iterator[tuple[str, Setting, Trial]]


def repeat(one: Callable[[int], One], trials: int, name: str, progress: Progress) -> list[Measured]:
    """Run all trials and summarize them by method and setting."""
    found: dict[tuple[str, Setting], list[Trial]] = defaultdict(list)
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for trial in range(trials):
            for method, setting, result in one(trial):
                found[method, setting].append(result)
            progress(f"{name}: trial {trial + 1} of {trials}")
    return [measured(method, setting, results) for (method, setting), results in found.items()]


def run_features(
    X: Array,
    y: Array,
    components: tuple[int, ...] = COMPONENTS,
    partitions: tuple[int, ...] = (1, FIXED_SHARDS),
    trials: int = TRIALS,
    progress: Progress = print,
) -> list[Measured]:
    """Figure 9: accuracy and seconds against M."""

    def one(trial: int) -> One:
        rows = split(X, y, len(X) // 2, 0, trial)
        for M in components:
            methods: tuple[str, ...] = (PLAIN, NONE, UNBIASED, LITERAL)
            if M <= FEW_COMPONENTS:
                methods += (REPEATED, INVERSE, LEVERAGE)
            for method, (features, seconds) in choose(rows, M, trial, methods).items():
                for m in partitions[:1] if method in (REPEATED, INVERSE) else partitions:
                    yield method, (M, m, 0, ALPHA), fit(rows, features, seconds, m)

    return repeat(one, trials, "features", progress)


def run_unlabeled(
    X: Array,
    y: Array,
    labeled: int = LABELED,
    sizes: tuple[int, ...] = UNLABELED_SIZES,
    size: int = SEMI_COMPONENTS,
    shards: int = FIXED_SHARDS,
    trials: int = TRIALS,
    progress: Progress = print,
) -> list[Measured]:
    """Figure 10: accuracy and seconds against the rows without labels; 0 is supervised."""

    def one(trial: int) -> One:
        rows = split(X, y, labeled, max(sizes), trial)
        chosen = choose(rows, size, trial, (NONE, PLAIN))
        for method, (features, seconds) in chosen.items():
            name = SEMI if method == NONE else PLAIN_SEMI
            for count in sizes if method == NONE else (sizes[0], sizes[-1]):
                found = fit(rows.fewer(count), features, seconds, shards)
                yield name, (size, shards, count, ALPHA), found

    return repeat(one, trials, "unlabeled", progress)


def run_partitions(
    X: Array,
    y: Array,
    labeled: int = LABELED,
    unlabeled: int = UNLABELED,
    size: int = SEMI_COMPONENTS,
    partitions: tuple[int, ...] = PARTITIONS,
    trials: int = TRIALS,
    progress: Progress = print,
) -> list[Measured]:
    """Figure 11: accuracy and seconds against m."""

    def one(trial: int) -> One:
        rows = split(X, y, labeled, unlabeled, trial)
        features, seconds = choose(rows, size, trial, (NONE,))[NONE]
        for m in partitions:
            for name, count in ((SUPERVISED, 0), (SEMI, unlabeled)):
                found = fit(rows.fewer(count), features, seconds, m)
                yield name, (size, m, count, ALPHA), found

    return repeat(one, trials, "partitions", progress)


def run_penalties(
    X: Array,
    y: Array,
    alphas: tuple[float, ...] = ALPHAS,
    components: int = PENALTY_COMPONENTS,
    labeled: int = LABELED,
    unlabeled: int = UNLABELED,
    size: int = SEMI_COMPONENTS,
    partitions: tuple[int, ...] = PENALTY_PARTITIONS,
    trials: int = FEW_TRIALS,
    progress: Progress = print,
) -> list[Measured]:
    """Measure how far the comparisons depend on lambda."""

    def one(trial: int) -> One:
        rows = split(X, y, len(X) // 2, 0, trial)
        chosen = choose(rows, components, trial, (PLAIN, NONE, UNBIASED, LITERAL))
        for method, (features, seconds) in chosen.items():
            for alpha in alphas:
                found = fit(rows, features, seconds, alpha=alpha)
                yield method, (components, 1, 0, alpha), found
        rows = split(X, y, labeled, unlabeled, trial)
        features, seconds = choose(rows, size, trial, (NONE,))[NONE]
        for m in partitions:
            for alpha in alphas:
                for name, count in ((SUPERVISED, 0), (SEMI, unlabeled)):
                    found = fit(rows.fewer(count), features, seconds, m, alpha)
                    yield name, (size, m, count, alpha), found

    return repeat(one, trials, "penalties", progress)
