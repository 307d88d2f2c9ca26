"""What a statement asks of the exponents, and the words for what it does not cover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.rates.exponents import Exponents

#: Sums such as 2 r + gamma are compared up to rounding: 2 * 0.35 + 0.3 is 1.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Interval:
    """``[low, high]``, with round brackets where an end is left out.

    Examples
    --------
    >>> print(Interval(0, 1, "(]"), 0.0 in Interval(0, 1, "(]"), 1.0 in Interval(0, 1, "(]"))
    (0, 1] False True
    """

    low: float
    high: float
    brackets: str = "[]"

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.brackets[0] == "[" else value > self.low
        below = value <= self.high if self.brackets[1] == "]" else value < self.high
        return above and below

    def __str__(self) -> str:
        return f"{self.brackets[0]}{self.low:g}, {self.high:g}{self.brackets[1]}"


#: A condition on several exponents: its words, and whether it holds.
Joint = tuple[str, Callable[[Exponents], bool]]


def at_least(words: str, left: Callable[[Exponents], float], right: float = 1.0) -> Joint:
    """``left(exponents) >= right`` up to rounding, as a joint condition with its words."""
    return words, lambda exponents: left(exponents) >= right - TOLERANCE


@dataclass(frozen=True)
class Conditions:
    """``r in I, gamma in J`` and inequalities between them, for one statement of one paper.

    Examples
    --------
    >>> thm = Conditions("theorem 2", joint=(at_least("2 r + gamma >= 1", lambda e: e.complexity),))
    >>> print(thm)
    r in (0, 1], gamma in [0, 1], 2 r + gamma >= 1
    >>> thm.broken(Exponents(r=0.25, gamma=0.25))
    ['2 r + gamma >= 1 does not hold: r = 0.25, gamma = 0.25, alpha = 1']
    """

    statement: str
    r: Interval = Interval(0, 1, "(]")
    gamma: Interval = Interval(0, 1)
    joint: tuple[Joint, ...] = ()

    def broken(self, exponents: Exponents) -> list[str]:
        """Return what does not hold, in words; an empty list if the statement covers them."""
        words = [
            f"{name} must be in {interval}, got {getattr(exponents, name):g}"
            for name, interval in (("r", self.r), ("gamma", self.gamma))
            if getattr(exponents, name) not in interval
        ]
        if exponents.r > self.r.high:
            words[0] += f" (the rate is no better than at r = {self.r.high:g})"
        got = f"r = {exponents.r:g}, gamma = {exponents.gamma:g}, alpha = {exponents.alpha:g}"
        return words + [
            f"{text} does not hold: {got}" for text, holds in self.joint if not holds(exponents)
        ]

    def require(self, **given: Any) -> Exponents:
        """Return the exponents, or raise a ValueError that says what the statement does not cover.

        >>> Conditions("theorem 1", r=Interval(0.5, 1)).require(r=0.25, gamma=1.0)
        Traceback (most recent call last):
        ...
        ValueError: not covered by theorem 1: r must be in [0.5, 1], got 0.25
        """
        exponents = Exponents(**given)
        broken = self.broken(exponents)
        if broken:
            raise ValueError(f"not covered by {self.statement}: {'; '.join(broken)}")
        return exponents

    def __str__(self) -> str:
        texts = [text for text, _ in self.joint]
        return ", ".join([f"r in {self.r}", f"gamma in {self.gamma}", *texts])
