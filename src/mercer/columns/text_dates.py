"""Dates written as text: ``formats(A + B) = formats(A) & formats(B)`` for two blocks of a column.

How a column writes its dates is learned from its distinct strings (levels): a format survives if
every level is a valid date in it, so blocks, shards and machines combine in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from enum import Enum
from typing import Any

import numpy as np

from mercer.contracts import Array


class DateFormat(Enum):
    """How a column writes dates. All but the last two may have a time of day after the date.

    Times are HH:MM, HH:MM:SS or with a fraction of a second, by 24 or by 12 hours (AM, PM). Months
    are numbers or English names. The value of a member is its description.

    >>> DateFormat("day.month.year")
    <DateFormat.DAY_DOT: 'day.month.year'>
    """

    # The preferred ones first.
    #: 2024-01-02, 2024-01-02T03:04:05.678Z, 2024-01-02 03:04:05+02:00
    ISO = "year-month-day"
    #: 2024/01/02
    YEAR_SLASH = "year/month/day"
    #: 1/2/2024, 01/02/24
    MONTH_SLASH = "month/day/year"
    #: 2/1/2024, 02/01/24
    DAY_SLASH = "day/month/year"
    #: 02-01-2024, 02-01-24
    DAY_DASH = "day-month-year"
    #: 01-02-2024, 01-02-24
    MONTH_DASH = "month-day-year"
    #: 24-01-02
    SHORT_ISO = "year (two digits)-month-day"
    #: 2.1.2024, 02.01.24
    DAY_DOT = "day.month.year"
    #: 2 Jan 2024, 02-Jan-2024, 02-Jan-24, 2nd January 2024
    DAY_NAME = "day month-name year"
    #: Jan 2, 2024
    NAME_DAY = "month-name day, year"
    #: 2024-03
    YEAR_MONTH = "year-month"
    #: 14:30, 14:30:05.678, 2:30 PM
    TIME = "time of day"

    def __reduce__(self) -> tuple[Any, ...]:
        return DateFormat, (self.value,)  # skops stores by it what pickle stores by __reduce_ex__


_CLOCK = (
    r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,9}))?)?(?: ?(?P<half>[ap])\.?m\.?)?"
)
_ZONE = "(?: ?(?P<zone>Z|UTC|GMT|[-+\N{MINUS SIGN}](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?))?"
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_NUMBERS = {name: number for number, name in enumerate(_NAMES.split(), 1)}
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_SHORT_YEAR = r"(?P<year>\d{4}|\d\d)"
_DATES = np.dtype("datetime64[us]")
_NAT = np.iinfo(np.int64).min  # as NumPy stores it
_FIRST = date(1970, 1, 1).toordinal()


def _compiled(day: str, time: str = f"(?:,? {{1,2}}{_CLOCK})?") -> re.Pattern[str]:
    return re.compile(day + time, re.ASCII | re.IGNORECASE)


_ISO = _compiled(
    rf"{_YEAR}-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})", f"(?:(?:T| {{1,2}}){_CLOCK}{_ZONE})?"
)
_YEAR_SLASH = _compiled(rf"{_YEAR}/(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})")
_SLASH = _compiled(rf"(?P<day>\d{{1,2}})/(?P<month>\d{{1,2}})/{_SHORT_YEAR}")
_DASH = _compiled(rf"(?P<day>\d{{1,2}})-(?P<month>\d{{1,2}})-{_SHORT_YEAR}")
_SHORT_ISO = _compiled(r"(?P<year>\d\d)-(?P<month>\d\d)-(?P<day>\d\d)")
_DOT = _compiled(rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{_SHORT_YEAR}")
_DAY_NAME = _compiled(rf"{_DAY}(?P<separator>[- ]){_MONTH}(?P=separator){_SHORT_YEAR}")
_NAME_DAY = _compiled(rf"{_MONTH} {_DAY},? {_YEAR}")
# Years 1000 to 2999, and two digits of a month: other pairs of numbers are more often codes.
_YEAR_MONTH = _compiled(r"(?P<year>[12]\d{3})-(?P<month>\d\d)", "")
_TIME = _compiled("", _CLOCK)

#: The pattern of each format, and whether its day and month are the other way round.
_PATTERNS: dict[DateFormat, tuple[re.Pattern[str], bool]] = {
    DateFormat.ISO: (_ISO, False),
    DateFormat.YEAR_SLASH: (_YEAR_SLASH, False),
    DateFormat.MONTH_SLASH: (_SLASH, True),
    DateFormat.DAY_SLASH: (_SLASH, False),
    DateFormat.DAY_DASH: (_DASH, False),
    DateFormat.MONTH_DASH: (_DASH, True),
    DateFormat.SHORT_ISO: (_SHORT_ISO, False),
    DateFormat.DAY_DOT: (_DOT, False),
    DateFormat.DAY_NAME: (_DAY_NAME, False),
    DateFormat.NAME_DAY: (_NAME_DAY, False),
    DateFormat.YEAR_MONTH: (_YEAR_MONTH, False),
    DateFormat.TIME: (_TIME, False),
}


def _year(text: str) -> int:
    """Return a year of four digits, or of two: 69 to 99 are 1969 to 1999, others 2000 to 2068."""
    year = int(text)
    return year if len(text) > 2 else year + (1900 if year >= 69 else 2000)


def _offset(zone: str) -> int:
    """Return minutes east of UTC for Z, UTC, GMT, +02, +0200 or +02:00."""
    if zone[0].isalpha():
        return 0
    minutes = 60 * int(zone[1:3]) + int(zone[-2:] if len(zone) > 3 else 0)
    return minutes if zone[0] == "+" else -minutes


def _microseconds(text: str, format: DateFormat) -> int | None:
    """Return microseconds since 1970 in UTC; None if there is no such day or hour in the format.

    Times of day alone are of 1970-01-01, and times without an offset are taken as they are.
    """
    pattern, swapped = _PATTERNS[format]
    match = pattern.fullmatch(text)
    if match is None:
        return None
    parts = {name: part for name, part in match.groupdict().items() if part}
    name, day = parts.get("name"), int(parts.get("day", 1))
    month = _NUMBERS[name[:3].lower()] if name else int(parts.get("month", 1))
    month, day = (day, month) if swapped else (month, day)
    hour, half = int(parts.get("hour", 0)), parts.get("half")
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half in "pP")
    try:
        days = date(_year(parts.get("year", "1970")), month, day).toordinal() - _FIRST
    except ValueError:
        return None
    minutes = 60 * hour + int(parts.get("minute", 0)) - _offset(parts.get("zone", "Z"))
    seconds = 86_400 * days + 60 * minutes + int(parts.get("second", 0))
    return 1_000_000 * seconds + int(parts.get("fraction", "")[:6].ljust(6, "0"))


_plain_iso = re.compile(
    r"(?!0000)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII
).fullmatch


def _iso_dates(texts: list[str]) -> Array | None:
    """Return plain ISO dates, which NumPy reads all at once, or None if one is not plain."""
    if not all(map(_plain_iso, texts)):
        return None
    try:
        return np.array(texts, dtype=_DATES)
    except ValueError:  # a day or an hour that does not exist
        return None


def formats_of(levels: Iterable[str]) -> frozenset[DateFormat]:
    """Return all formats in which every level is a valid date; none if these are not dates.

    ``formats_of(A + B) == formats_of(A) & formats_of(B)``; no levels at all leave every format.

    >>> formats_of(["2024-02-29", "2024-03-01 12:30"])
    frozenset({<DateFormat.ISO: 'year-month-day'>})
    >>> formats_of(["2024-02-30"])
    frozenset()
    >>> sorted(format.value for format in formats_of(["1/2/2024", "3/4/2024"]))
    ['day/month/year', 'month/day/year']
    """
    texts = [level.strip() for level in levels]
    if not texts:
        return frozenset(DateFormat)
    if _iso_dates(texts) is not None:
        return frozenset([DateFormat.ISO])
    return frozenset(
        format
        for format in DateFormat
        if all(_microseconds(text, format) is not None for text in texts)
    )


def is_ambiguous(formats: frozenset[DateFormat]) -> bool:
    """Whether several orders of day, month and year fit a column, which the caller should say.

    >>> is_ambiguous(formats_of(["1/2/2024"])), is_ambiguous(formats_of(["1/2/2024", "13/2/2024"]))
    (True, False)
    """
    return 1 < len(formats) < len(DateFormat)  # a column without levels has all


def preferred_format(formats: frozenset[DateFormat]) -> DateFormat | None:
    """Return the format to read a column in, or None if there is none.

    Where day and month can be either way round, the month comes first with slashes, and the day
    comes first with dashes.

    >>> preferred_format(formats_of(["1/2/2024"])), preferred_format(formats_of(["1-2-2024"]))
    (<DateFormat.MONTH_SLASH: 'month/day/year'>, <DateFormat.DAY_DASH: 'day-month-year'>)
    """
    return next((format for format in DateFormat if format in formats), None)


def parse_dates(levels: Iterable[str], format: DateFormat) -> Array:
    """Return levels as datetime64[us], NaT where a level is no valid date in this format.

    Times with an offset are converted to UTC, others are taken as they are; digits below a
    microsecond are dropped. Times of day are of 1970-01-01, and a month is its first day.

    >>> dates = parse_dates(["2.1.2024", "2.1.24 14:30", "30.2.2024"], DateFormat.DAY_DOT)
    >>> dates.astype("datetime64[m]").astype(str).tolist()
    ['2024-01-02T00:00', '2024-01-02T14:30', 'NaT']
    """
    texts = [level.strip() for level in levels]
    if format is DateFormat.ISO and (plain := _iso_dates(texts)) is not None:
        return plain
    found = [_microseconds(text, format) for text in texts]
    return np.array([_NAT if one is None else one for one in found], np.int64).view(_DATES)


def read_dates(levels: Sequence[str], format: DateFormat) -> Array:
    """Return the dates of levels; in another format where this leaves no doubt, otherwise NaT.

    Days and months are not swapped: where they are, other dates were misread without a word.

    >>> dates = read_dates(["2024-01-02", "2.1.2024", "1/2/2024", "13/2/2024"], DateFormat.ISO)
    >>> dates.astype("datetime64[D]").astype(str).tolist()
    ['2024-01-02', '2024-01-02', 'NaT', '2024-02-13']
    """
    dates = parse_dates(levels, format)
    for at in np.flatnonzero(np.isnat(dates)).tolist():
        found = {
            parse_dates([levels[at]], other)[0]
            for other in formats_of([levels[at]])
            if _PATTERNS[other][0] is not _PATTERNS[format][0]
            and DateFormat.TIME not in (other, format)
        }
        dates[at] = found.pop() if len(found) == 1 else np.datetime64("NaT")
    return dates
