"""From shards to one model: exact sums, averages, rounds."""

from typing import Any

from mercer.combine.average import Average, LocalModel, averaged
from mercer.combine.base import Combination
from mercer.combine.communication import Communication, Exchange, count_numbers
from mercer.combine.exact_sum import ExactSum, add_folds
from mercer.combine.function_rounds import FunctionShard, FunctionSystem
from mercer.combine.rounds import ConjugateRounds, NewtonRounds, Rounds
from mercer.combine.shard_system import MeanSystem, ShardSystem
from mercer.validation import from_alias

#: Names that ``combine=`` accepts.
COMBINATIONS: dict[str, type[Any]] = {
    "sum": ExactSum,
    "average": Average,
    "newton": NewtonRounds,
    "conjugate": ConjugateRounds,
}


def as_combination(combine: Any) -> Combination:
    """Turn a name into a combination; pass objects through."""
    found: Combination = from_alias(combine, COMBINATIONS, Combination, "combine")
    found.check()
    return found


__all__ = [
    "COMBINATIONS",
    "Average",
    "Combination",
    "Communication",
    "ConjugateRounds",
    "ExactSum",
    "Exchange",
    "FunctionShard",
    "FunctionSystem",
    "LocalModel",
    "MeanSystem",
    "NewtonRounds",
    "Rounds",
    "ShardSystem",
    "add_folds",
    "as_combination",
    "averaged",
    "count_numbers",
]
