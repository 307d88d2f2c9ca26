"""What is run on EEG eye state: figures 9 to 11, and other penalties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from experiments.data_dependent_features import eeg, made_up
from experiments.data_dependent_features.eeg import (
    ALPHA,
    INVERSE,
    LEVERAGE,
    LITERAL,
    NONE,
    PLAIN,
    REPEATED,
    UNBIASED,
    choose,
    fit,
    split,
)
from experiments.data_dependent_features.measured import Excess, Measured, Trial, measured
from experiments.scaffold import Array
from experiments.scaffold.runner import Progress

#: Up to here also leverage, which needs an eigendecomposition of all candidates, and two variants.
FEW_COMPONENTS = 448
#: The two methods of figures 10 and 11, both with features that labels have chosen.
SUPERVISED, SEMI = "supervised", "semi-supervised"
#: Beside them in figure 10, plain features.
PLAIN_SEMI = "semi-supervised, plain"

#: M, m, rows without labels, alpha.
Setting = tuple[int, int, int, float]
One = Iterator[tuple[str, Setting, Trial]]


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = 5  # splits
    penalty_repeats: int = 2
    components: tuple[int, ...] = (14, 28, 56, 112, 224, 448, 896, 1792)  # d 2^0 .. d 2^7
    at_partitions: tuple[int, ...] = (1, 10)
    labeled: int = 3000
    unlabeled: tuple[int, ...] = (0, 1000, 2000, 3000, 4000, 5000, 6000, 7000)
    semi_components: int = 1000
    shards: int = 10
    partitions: tuple[int, ...] = (10, 25, 50, 100)
    alphas: tuple[float, ...] = (2.0**-16, 2.0**-13, 2.0**-10, 2.0**-7, 2.0**-4)
    penalty_components: int = 448
    penalty_partitions: tuple[int, ...] = (10, 100)
    reading_splits: tuple[int, ...] = tuple(range(10))  # as many as in the paper
    reading_partitions: tuple[int, ...] = tuple(range(10, 101, 10))
    published_splits: int = 6
    published_components: tuple[int, ...] = (14, 28, 56, 112, 224, 448, 896)
    made_up_repeats: int = made_up.TRIALS
    made_up_partitions: tuple[int, ...] = made_up.PARTITIONS


FULL = Size()
SMALL = Size(
    repeats=2,
    penalty_repeats=1,
    components=(14, 28),
    at_partitions=(1, 4),
    labeled=200,
    unlabeled=(0, 300),
    semi_components=40,
    shards=4,
    partitions=(4, 10),
    alphas=(2.0**-10, 2.0**-4),
    penalty_components=20,
    penalty_partitions=(4,),
    reading_splits=(0, 1),
    reading_partitions=(4, 10),
    published_splits=2,
    published_components=(14, 28),
    made_up_repeats=3,
    made_up_partitions=(1, 30),
)


def repeat(
    one: Callable[[Array, Array, int], One], trials: int, name: str, progress: Progress
) -> list[Measured]:
    """Run all trials on EEG eye state and summarize them by method and setting."""
    found: dict[tuple[str, Setting], list[Trial]] = defaultdict(list)
    X, y = eeg.load()
    with threadpool_limits(limits=1):  # the same bits on any number of cores
        for trial in range(trials):
            for method, setting, result in one(X, y, trial):
                found[method, setting].append(result)
            progress.count(f"{name}, trials", trial + 1, trials)
    return [measured(method, setting, results) for (method, setting), results in found.items()]


def features(size: Size, progress: Progress) -> list[Measured]:
    """Figure 9: accuracy and seconds against M."""

    def one(X: Array, y: Array, trial: int) -> One:
        rows = split(X, y, len(X) // 2, 0, trial)
        for M in size.components:
            methods: tuple[str, ...] = (PLAIN, NONE, UNBIASED, LITERAL)
            if M <= FEW_COMPONENTS:
                methods += (REPEATED, INVERSE, LEVERAGE)
            for method, (chosen, seconds) in choose(rows, M, trial, methods).items():
                once = method in (REPEATED, INVERSE)
                for m in size.at_partitions[:1] if once else size.at_partitions:
                    yield method, (M, m, 0, ALPHA), fit(rows, chosen, seconds, m)

    return repeat(one, size.repeats, "features", progress)


def unlabeled(size: Size, progress: Progress) -> list[Measured]:
    """Figure 10: accuracy and seconds against the rows without labels; 0 is supervised."""
    M, m, counts = size.semi_components, size.shards, size.unlabeled

    def one(X: Array, y: Array, trial: int) -> One:
        rows = split(X, y, size.labeled, max(counts), trial)
        for method, (chosen, seconds) in choose(rows, M, trial, (NONE, PLAIN)).items():
            name = SEMI if method == NONE else PLAIN_SEMI
            for count in counts if method == NONE else (counts[0], counts[-1]):
                yield name, (M, m, count, ALPHA), fit(rows.fewer(count), chosen, seconds, m)

    return repeat(one, size.repeats, "unlabeled", progress)


def both(
    size: Size, X: Array, y: Array, trial: int, partitions: Iterable[int], alphas: Iterable[float]
) -> One:
    """Fit with and without the rows that have no labels, with the same features."""
    M = size.semi_components
    rows = split(X, y, size.labeled, max(size.unlabeled), trial)
    chosen, seconds = choose(rows, M, trial, (NONE,))[NONE]
    for m in partitions:
        for alpha in alphas:
            for name, count in ((SUPERVISED, 0), (SEMI, max(size.unlabeled))):
                found = fit(rows.fewer(count), chosen, seconds, m, alpha)
                yield name, (M, m, count, alpha), found


def partitions(size: Size, progress: Progress) -> list[Measured]:
    """Figure 11: accuracy and seconds against m."""

    def one(X: Array, y: Array, trial: int) -> One:
        return both(size, X, y, trial, size.partitions, (ALPHA,))

    return repeat(one, size.repeats, "partitions", progress)


def penalties(size: Size, progress: Progress) -> list[Measured]:
    """Measure how far the comparisons depend on lambda."""

    def one(X: Array, y: Array, trial: int) -> One:
        rows, M = split(X, y, len(X) // 2, 0, trial), size.penalty_components
        ways = choose(rows, M, trial, (PLAIN, NONE, UNBIASED, LITERAL))
        for method, (chosen, seconds) in ways.items():
            for alpha in size.alphas:
                yield method, (M, 1, 0, alpha), fit(rows, chosen, seconds, alpha=alpha)
        yield from both(size, X, y, trial, size.penalty_partitions, size.alphas)

    return repeat(one, size.penalty_repeats, "penalties", progress)


def noise(size: Size, progress: Progress) -> list[Excess]:
    """Measure on made-up rows at which noise rows without labels begin to help."""
    return made_up.run(size.made_up_partitions, size.made_up_repeats, progress)
