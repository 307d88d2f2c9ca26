"""Combine shards into one model: exact sums, averages, rounds."""

from typing import Any

from mercer.combine.average import Average
from mercer.combine.combination import Combination, ExactSum
from mercer.combine.newton_rounds import NewtonRounds
from mercer.combine.rounds import ConjugateRounds, Rounds
from mercer.validation import from_alias

#: Names that ``combine=`` accepts.
COMBINATIONS: dict[str, type[Any]] = {
    "sum": ExactSum,
    "average": Average,
    "newton": NewtonRounds,
    "conjugate": ConjugateRounds,
}


def as_combination(combine: str | Combination) -> Combination:
    """Turn a name into a combination; pass objects through."""
    return from_alias(combine, COMBINATIONS, Combination, "combine")


__all__ = [
    "COMBINATIONS",
    "Average",
    "Combination",
    "ConjugateRounds",
    "ExactSum",
    "NewtonRounds",
    "Rounds",
    "as_combination",
]
