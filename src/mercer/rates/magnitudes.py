"""Powers of the number of rows, known up to constants, and how they become numbers of things."""

from __future__ import annotations

import math

from mercer.validation import check_number


def power(n: float, exponent: float) -> float:
    """``n^exponent``, a size up to constants; infinite where floats end.

    >>> power(10_000, 0.5)
    100.0
    """
    rows = check_number(n, "n", minimum=1.0)
    return float(rows**exponent) if exponent * math.log(rows) < 709 else math.inf


def log_factor(n: float, gamma: float) -> float:
    """``max(1, log n^gamma)``, the logarithm in the sizes of Lin and Cevher (2018).

    >>> log_factor(1000, 0.0), round(log_factor(1000, 0.5), 3)
    (1.0, 3.454)
    """
    return max(1.0, gamma * math.log(check_number(n, "n", minimum=1.0)))


def fewest(size: float, constant: float = 1.0) -> int:
    """``ceil(constant * size)``, at least 1: the fewest functions or rows that a bound asks for.

    A size within rounding of an integer counts as that integer.

    >>> fewest(1000 ** (1 / 3)), fewest(1000 ** (2 / 3)), fewest(0.2)
    (10, 100, 1)
    """
    return max(1, math.ceil(_scaled(size, constant) * (1 - 1e-12)))


def most(size: float, constant: float = 1.0) -> int:
    """``floor(constant * size)``, at least 1: the most partitions that a bound allows.

    >>> most(1000 ** (1 / 3)), most(10.9), most(0.2)
    (10, 10, 1)
    """
    return max(1, math.floor(_scaled(size, constant) * (1 + 1e-12)))


def _scaled(size: float, constant: float) -> float:
    """Return ``constant * size``, both checked."""
    scale = check_number(constant, "constant", above=0.0)
    return scale * check_number(size, "size", minimum=0.0)
