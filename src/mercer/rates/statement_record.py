"""One statement of one paper: what it covers, and what it gives for n rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mercer.rates.conditions import Conditions
from mercer.rates.exponents import Exponents

#: A number for n rows of a problem with some exponents, up to constants.
Formula = Callable[[float, Exponents], float]

PREDICTION = "squared prediction error"
KERNEL_NORM = "error in the norm of the kernel's space"


@dataclass(frozen=True)
class Evaluated:
    """What a statement gives for n rows, up to constants; None where it says nothing of it.

    Parameters
    ----------
    name, statement : str
        The system, and the paper with the number of the theorem.
    n : float
        Rows with labels.
    exponents : Exponents
        Those of the problem.
    penalty, size, partitions, rows, error : float or None
        The penalty; the fewest functions; the most shards; the fewest rows with and without labels;
        the error.
    not_covered : str
        Which conditions do not hold; empty if the statement applies.
    """

    name: str
    statement: str
    n: float
    exponents: Exponents
    penalty: float | None = None
    size: float | None = None
    partitions: float | None = None
    rows: float | None = None
    error: float | None = None
    not_covered: str = ""

    def __str__(self) -> str:
        if self.not_covered:
            return f"{self.name}: not covered: {self.not_covered}"
        said = [
            f"{name} {value:.3g}"
            for name in ("penalty", "size", "partitions", "rows", "error")
            if (value := getattr(self, name)) is not None
        ]
        return f"{self.name}: {', '.join(said)}"


@dataclass(frozen=True)
class Statement:
    """``n -> (lambda, M, m, error)`` of one system, with the paper and its conditions.

    Parameters
    ----------
    name : str
        The system, as its recipe is named where there is one.
    conditions : Conditions
        What is asked of the exponents; its ``statement`` is the paper and the theorem's number.
    penalty, error : Formula
        The penalty and the error, for n rows with labels.
    size, partitions, rows : Formula or None
        The fewest functions, the most shards, the fewest rows with and without labels.
    functions : str
        What ``size`` counts.
    measure : str
        What ``error`` measures.
    holds : str
        In which sense: on average, or with high probability.
    note : str
        What a reader of the number should know.

    Examples
    --------
    >>> from mercer.rates import SYSTEMS, Exponents
    >>> print(SYSTEMS["DNystroem"].at(10_000, Exponents(r=0.5, gamma=1.0)))
    DNystroem: penalty 0.01, size 100, partitions 100, error 0.01
    >>> print(SYSTEMS["DC-NY"].at(10_000, Exponents(r=0.25, gamma=1.0)))
    DC-NY: not covered: r must be in [0.5, 1], got 0.25
    """

    name: str
    conditions: Conditions
    penalty: Formula
    error: Formula
    size: Formula | None = None
    partitions: Formula | None = None
    rows: Formula | None = None
    functions: str = ""
    measure: str = PREDICTION
    holds: str = "in expectation"
    note: str = ""

    @property
    def statement(self) -> str:
        """The paper and the number of the theorem."""
        return self.conditions.statement

    def at(self, n: float, exponents: Exponents) -> Evaluated:
        """Return its numbers for n rows, or a record of what it does not cover."""
        head = self.name, self.statement, n, exponents
        broken = self.conditions.broken(exponents)
        if broken:
            return Evaluated(*head, not_covered="; ".join(broken))

        def value(formula: Formula | None) -> float | None:
            return None if formula is None else formula(n, exponents)

        return Evaluated(
            *head,
            penalty=value(self.penalty),
            size=value(self.size),
            partitions=value(self.partitions),
            rows=value(self.rows),
            error=value(self.error),
        )
