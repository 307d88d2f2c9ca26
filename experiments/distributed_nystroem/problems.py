"""The data sets of the paper, in the setting of its authors' code, and what is varied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from experiments.scaffold import Array
from experiments.scaffold.data import Split
from experiments.scaffold.data import load as load_set
from mercer import load_letter


@dataclass(frozen=True)
class Problem:
    """A data set, the kernel and alpha that the paper tuned for it, and what is varied."""

    name: str
    bandwidth: float
    alpha: float
    train_rows: int  # the others are to test on
    scale: Callable[[Array], Array]
    repeats: int
    partitions: tuple[int, ...]  # figure 5
    centers: tuple[int, ...]  # figure 6
    at_centers: int  # where figures 5 and 1, right, hold M
    at_partitions: int  # where figures 1 and 6 hold m
    samples: tuple[int, ...] = ()  # figure 1, right: numbers of rows to train on
    paper_partitions: int = 0  # where DNystroem is best from, by the paper's text
    paper_centers: int = 0
    test_rows: int | None = None  # all of the others
    part: str = ""  # where the trials are kept; by the name of the set if it is empty


def unchanged(X: Array) -> Array:
    """Return X as floating-point numbers."""
    return np.asarray(X, dtype=np.float64)


def from_pixels(X: Array) -> Array:
    """Scale 0..255 to -1..1, in float32: so many rows take half the memory."""
    return np.asarray(X, dtype=np.float32) / np.float32(127.5) - np.float32(1)


def from_sixteen(X: Array) -> Array:
    """Scale 0..15 to -1..1.

    >>> from_sixteen(np.array([0.0, 7.5, 15.0]))
    array([-1.,  0.,  1.])
    """
    return np.asarray(X, dtype=np.float64) / 7.5 - 1.0


#: Every third number of partitions of the authors, who have twenty.
PARTITIONS = (10, 14, 20, 26, 33, 41, 50)
#: The numbers of centers of the authors, but for pendigits and mnist.
CENTERS = (50, 69, 97, 135, 189, 264, 368, 513, 716, 1000)
PROBLEMS: dict[str, Problem] = {
    problem.part or problem.name: problem
    for problem in (
        Problem(
            "usps",
            bandwidth=10.0,
            alpha=1e-6,
            train_rows=7291,
            scale=unchanged,
            repeats=3,
            partitions=PARTITIONS,
            centers=CENTERS,
            at_centers=400,
            at_partitions=20,
            paper_partitions=20,
            paper_centers=513,
        ),
        Problem(
            "pendigits",
            bandwidth=100.0,
            alpha=1e-6,
            train_rows=7494,
            scale=unchanged,
            repeats=3,
            partitions=PARTITIONS,
            centers=(62, 114, 218, 322, 426, 531, 635, 791, 1000),
            at_centers=400,
            at_partitions=20,
            paper_partitions=10,
            paper_centers=531,
        ),
        Problem(  # the penalty at which the stored curves of figure 5 were made
            "pendigits",
            bandwidth=100.0,
            alpha=1e-5,
            train_rows=7494,
            scale=unchanged,
            repeats=3,
            partitions=PARTITIONS,
            centers=(),
            at_centers=400,
            at_partitions=20,
            paper_partitions=10,
            part="pendigits_5",
        ),
        Problem(
            "letter",
            bandwidth=1.0,
            alpha=1e-7,
            train_rows=15000,
            scale=from_sixteen,
            repeats=2,
            partitions=PARTITIONS,
            centers=CENTERS,
            at_centers=800,
            at_partitions=30,
            paper_partitions=37,
            paper_centers=716,
        ),
        Problem(
            "mnist",
            bandwidth=10.0,
            alpha=1e-6,
            train_rows=60000,
            scale=from_pixels,
            repeats=1,
            partitions=(60, 72, 157, 300),
            centers=(194, 528, 736, 1027),
            at_centers=500,
            at_partitions=60,
            samples=(7210, 25842, 60000),
            paper_partitions=72,
            paper_centers=528,
        ),
    )
}


def cut(problem: Problem) -> Problem:
    """Return the same in small."""
    return replace(
        problem,
        train_rows=400,
        test_rows=400,
        repeats=1,
        partitions=(2, 10),
        centers=(20, 100) if problem.centers else (),
        at_centers=100,
        at_partitions=4,
        samples=(200,) if problem.samples else (),
    )


@dataclass(frozen=True)
class Size:
    """How much is run: each set with repeats of its own, where none are asked for."""

    repeats: int | None = None
    problems: Mapping[str, Problem] = field(default_factory=lambda: PROBLEMS)


FULL = Size()
SMALL = Size(1, {name: cut(problem) for name, problem in PROBLEMS.items()})


def load(problem: Problem) -> Split:
    """Return the data of a problem, cut as in the paper and scaled."""
    found = load_letter() if problem.name == "letter" else load_set(problem.name)
    if "X" in found:
        X, y = found.X, found.y
    else:  # the paper cuts letter at another row than its home does
        X = np.concatenate([found.X_train, found.X_test])
        y = np.concatenate([found.y_train, found.y_test])
    X, rows = problem.scale(X), problem.train_rows
    last = rows + (problem.test_rows or len(X))
    return Split(X[:rows], y[:rows], X[rows:last], y[rows:last])
