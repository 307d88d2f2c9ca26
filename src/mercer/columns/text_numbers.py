"""Numbers written as text: ``styles(A + B) = styles(A) & styles(B)`` for two blocks of a column.

How a column writes its numbers is learned from its distinct strings (levels): a style survives if
every level reads as a number in it. Intersection is associative and commutative, so blocks, shards
and machines combine in any order, as sums do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array
from mercer.validation import check_choice

_NAMES = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}


@dataclass(frozen=True)
class NumberStyle:
    """How a column writes its numbers: decimal sign, thousands separator, and percent signs.

    ``percent`` is part of the style because a column has either percent signs in all of its levels
    or in none. A currency sign does not change how a number reads, so it is no part of the style.

    Parameters
    ----------
    decimal : {".", ","}
        The sign before the fraction.
    thousands : {"", ",", ".", " ", "'"}
        What may separate groups of three digits; "" if nothing does. No-break and narrow spaces
        count as spaces.
    percent : bool
        Whether all numbers have a percent sign; they are divided by 100.
    """

    decimal: str = "."
    thousands: str = ""
    percent: bool = False

    def __post_init__(self) -> None:
        check_choice(self.decimal, "decimal", (".", ","))
        check_choice(self.thousands, "thousands", ("", ",", ".", " ", "'"))
        if self.decimal == self.thousands:
            raise ValueError(
                f"decimal and thousands must differ, got {self.decimal!r} for both: "
                f"use thousands='' if there are no separators"
            )

    def describe(self) -> str:
        """Return the style in words.

        >>> NumberStyle(",", ".").describe()
        'decimal commas, points between thousands'
        """
        parts = [f"decimal {_NAMES[self.decimal]}"]
        if self.thousands:
            parts.append(f"{_NAMES[self.thousands]} between thousands")
        if self.percent:
            parts.append("percent signs")
        return ", ".join(parts)


#: All styles, the preferred ones first. Sets of styles are bit masks over the first half, shifted
#: by its length for percentages.
_STYLES = tuple(
    NumberStyle(decimal, thousands, percent)
    for percent in (False, True)
    for decimal in (".", ",")
    for thousands in ("", ",", ".", " ", "'")
    if decimal != thousands
)
_PLAIN = _STYLES[: len(_STYLES) // 2]
_ALL = (1 << len(_STYLES)) - 1

#: Longer strings are not numbers, so that digits without an exponent cannot overflow.
_LONGEST = 250
_INTEGER = "(?:0|[1-9][0-9]*)"  # no leading zeros: "007" and "01234" are codes
_FIRST = "[1-9][0-9]{0,2}"
_MINUS = "\N{MINUS SIGN}"
_EXPONENT = f"(?:[eE][-+{_MINUS}]?[0-9]{{1,3}})?"
_EXPONENTIAL = str.maketrans({",": ".", _MINUS: "-"})
_SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{FIGURE SPACE}"
_APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"


def _grouped(separators: str) -> str:
    return f"{_FIRST}(?:[{separators}][0-9]{{3}})+"


#: What digits and separators can look like: a pattern, and the (decimal, thousands) for which it
#: is a number; None stands for any. The first pattern that fits the whole string counts.
_SHAPES: dict[str, tuple[str, list[tuple[str | None, str | None]]]] = {
    "integer": (_INTEGER + _EXPONENT, [(None, None)]),
    "point_or_group": (rf"{_FIRST}\.[0-9]{{3}}", [(".", None), (",", ".")]),
    "comma_or_group": (f"{_FIRST},[0-9]{{3}}", [(",", None), (".", ",")]),
    "point": (rf"(?:{_INTEGER}\.[0-9]*|\.[0-9]+){_EXPONENT}", [(".", None)]),
    "comma": (f"{_INTEGER}?,[0-9]+{_EXPONENT}", [(",", None)]),
    "commas": (_grouped(",") + r"(?:\.[0-9]*)?", [(".", ",")]),
    "indian": (r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]*)?", [(".", ",")]),
    "points": (_grouped(".") + "(?:,[0-9]+)?", [(",", ".")]),
    "spaces": (_grouped(_SPACES), [(None, " ")]),
    "spaces_point": (_grouped(_SPACES) + r"\.[0-9]*", [(".", " ")]),
    "spaces_comma": (_grouped(_SPACES) + ",[0-9]+", [(",", " ")]),
    "apostrophes": (_grouped(_APOSTROPHES), [(None, "'")]),
    "apostrophes_point": (_grouped(_APOSTROPHES) + r"\.[0-9]*", [(".", "'")]),
    "apostrophes_comma": (_grouped(_APOSTROPHES) + ",[0-9]+", [(",", "'")]),
}
_MASKS = {
    name: sum(
        1 << bit
        for bit, style in enumerate(_PLAIN)
        if any(d in (None, style.decimal) and t in (None, style.thousands) for d, t in fits)
    )
    for name, (_, fits) in _SHAPES.items()
}
_bare = re.compile(
    "-?(?:" + "|".join(f"(?P<{name}>{shape})" for name, (shape, _) in _SHAPES.items()) + ")"
).fullmatch

# Not here: the cent sign (it would scale the value), "R" and "Ft" (codes such as R2, and feet).
_CURRENCY_UNITS = """
    $ £ € ¥ ₹ ₽ ₩ ₺ ₴ ₦ ₫ ₱ ₪ ₡ ₲ ₵ ₸ ₿ ฿ 元 円 원
    US$ AU$ CA$ NZ$ HK$ NT$ A$ C$ S$ R$ CN¥ kr kr. Kr Kr. Kč zł Rs Rs. Fr. SFr.
    USD EUR GBP JPY CNY RMB INR CHF SEK NOK DKK ISK PLN CZK HUF RON BGN RUB UAH TRY BRL MXN ARS CLP
    COP PEN UYU CAD AUD NZD SGD HKD TWD KRW THB IDR MYR PHP VND PKR BDT LKR ZAR NGN KES EGP ILS AED
    SAR QAR KWD BTC
"""
_CURRENCIES = frozenset(_CURRENCY_UNITS.split())
_PERCENT = {"%"}
_UNIT = rf"[^-0-9.,()\s+{_APOSTROPHES}{_MINUS}]{{1,3}}(?:(?<=[a-z])\.)?"
_SPACE = f"[{_SPACES}]*"
# Spaces are matched only next to a sign or unit, so that no two patterns can share a run of them
# (which would take polynomial time).
_decorated = re.compile(
    f"(?P<sign>[-+{_MINUS}(]{_SPACE})?"
    f"(?:(?P<before>{_UNIT}){_SPACE})?"
    f"(?P<inner>[-+{_MINUS}(]{_SPACE})?"
    rf"(?P<body>[0-9.,](?:[0-9.,{_SPACES}{_APOSTROPHES}]*[0-9.,])?{_EXPONENT})"
    rf"(?P<close>{_SPACE}\))?"
    f"(?:{_SPACE}(?P<after>{_UNIT}))?"
    rf"(?P<last>{_SPACE}\))?"
).fullmatch


def _read(level: str) -> tuple[int, str, bool]:
    """Return the mask of styles, digits with separators, and whether the number is negated."""
    if len(level) > _LONGEST:
        return 0, "", False
    body, negative, shift = level, False, 0
    shape = _bare(level)
    if shape is None:
        whole = _decorated(level.strip())
        if whole is None:
            return 0, "", False
        sign, before, inner, body, close, after, last = whole.groups()
        shape = _bare(body)
        mark = (sign or inner or "+")[0]
        closed = (close is not None) + (last is not None)
        units = {unit for unit in (before, after) if unit}
        if (
            shape is None
            or (sign and inner)
            or closed != (mark == "(")
            or not (units == _PERCENT or units <= _CURRENCIES)
        ):
            return 0, "", False
        negative, shift = mark != "+", len(_PLAIN) if units == _PERCENT else 0
    exponent = "e" in body or "E" in body
    if exponent and not math.isfinite(float(body.translate(_EXPONENTIAL))):
        return 0, "", False
    assert shape.lastgroup is not None  # every alternative has a name
    return _MASKS[shape.lastgroup] << shift, body, negative


def styles_of(levels: Iterable[str]) -> frozenset[NumberStyle]:
    """Return all styles in which every level is a number; none if this is not a column of numbers.

    ``styles_of(A + B) == styles_of(A) & styles_of(B)``; no levels at all leave every style.

    Currency signs and codes before or after the number, percent signs, surrounding spaces, a sign,
    parentheses for negative numbers and exponents are read. Groups of thousands have three digits
    (with commas also the Indian 12,34,567). Leading zeros (007), units (5 kg), dates, times,
    versions, infinities, and percentages next to plain numbers are not numbers. An internet address
    whose last three parts all have three digits reads as points between thousands, but a column of
    addresses does not.

    >>> [style.describe() for style in styles_of(["$1,234.50", "(99)"])]
    ['decimal points, commas between thousands']
    >>> styles_of(["01234", "94103"])
    frozenset()
    """
    mask = _ALL
    for level in levels:
        mask &= _read(level)[0]
        if not mask:
            break
    return frozenset(style for bit, style in enumerate(_STYLES) if mask >> bit & 1)


def preferred(styles: frozenset[NumberStyle]) -> NumberStyle | None:
    """Return the simplest of the styles that fit a column, or None if there are none.

    Decimal points come before decimal commas, then no thousands before commas, points, spaces and
    apostrophes. So 1,234 is 1234 unless another level, such as 0,5, has a decimal comma; and 1.234
    is a fraction unless another level, such as 1.234.567, has points between thousands.

    >>> preferred(styles_of(["1,234", "56,789"]))
    NumberStyle(decimal='.', thousands=',', percent=False)
    >>> preferred(styles_of(["1,234", "0,5"]))
    NumberStyle(decimal=',', thousands='', percent=False)
    """
    return next((style for style in _STYLES if style in styles), None)


def narrowed(styles: frozenset[NumberStyle], decimal: str) -> frozenset[NumberStyle]:
    """Return the styles with the decimal sign of the file, if there are any.

    >>> style = preferred(narrowed(styles_of(["512.000"]), ","))
    >>> float(parse_numbers(["512.000"], style)[0])
    512000.0
    """
    return frozenset(style for style in styles if style.decimal == decimal) or styles


def parse_numbers(levels: Iterable[str], style: NumberStyle) -> Array:
    """Return the values of levels as float64, NaN where a level is no number in this style.

    Percentages are divided by 100.

    >>> parse_numbers(["1.234,5 €", "-€ 2", "n/a"], NumberStyle(",", "."))
    array([1234.5,   -2. ,     nan])
    """
    wanted = 1 << _STYLES.index(style)
    drop = {" ": _SPACES, "'": _APOSTROPHES}.get(style.thousands, style.thousands)
    table = str.maketrans({**dict.fromkeys(drop), style.decimal: ".", _MINUS: "-"})
    values = []
    for level in levels:
        mask, body, negative = _read(level)
        if mask & wanted:
            value = float(body.translate(table))
            values.append(-value if negative else value)
        else:
            values.append(math.nan)
    result = np.array(values, dtype=np.float64)
    return result / 100 if style.percent else result


def read_numbers(levels: Sequence[str], style: NumberStyle) -> Array:
    """Return the values of levels; in another style where this leaves no doubt, otherwise NaN.

    A style that gives a sign of this one another meaning is not tried: where it is right, values
    that can be read in both were misread without a word. Nor is one with other units, percent.

    >>> read_numbers(["1.5", "0,5", "1,500", "1.234,5", "5 %"], NumberStyle())
    array([1.5, 0.5, nan, nan, nan])
    """
    values = parse_numbers(levels, style)
    for at in np.flatnonzero(np.isnan(values)).tolist():
        found = {
            float(parse_numbers([levels[at]], other)[0])
            for other in styles_of([levels[at]])
            if other.percent == style.percent
            and other.decimal != style.thousands
            and other.thousands != style.decimal
        }
        values[at] = found.pop() if len(found) == 1 else math.nan
    return values


#: Words that are 1 and 0 in a column of zeros and ones.
TRUE = frozenset(["true", "yes", "on", "t", "y", "1"])
FALSE = frozenset(["false", "no", "off", "f", "n", "0"])


def folded(level: str) -> str:
    """Return a level without capitals, and with single spaces only between words."""
    return " ".join(level.casefold().split())


def number_in(level: str) -> float | None:
    """Return the number that a level is, None if it is none.

    >>> number_in("1.0"), number_in("01"), number_in("a")
    (1.0, None, None)
    """
    value = float(read_numbers([level], NumberStyle())[0])
    return None if np.isnan(value) else value


def truth_in(level: str) -> bool | None:
    """Return whether a level is a word for true or for false, None for other words.

    >>> truth_in("Yes"), truth_in("F"), truth_in("1.0"), truth_in("perhaps")
    (True, False, True, None)
    """
    number = number_in(level)
    word = folded(level) if number is None else f"{number:g}"
    return True if word in TRUE else False if word in FALSE else None


def truths(levels: Iterable[str]) -> Array:
    """Return 1 and 0 for words for true and false, NaN for other words."""
    found = map(truth_in, levels)
    return np.array([np.nan if truth is None else float(truth) for truth in found])
