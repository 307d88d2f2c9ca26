"""Dates written as text: what reads, what must not, and sets of formats that add over blocks."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.columns.text_dates import (
    DateFormat,
    formats_of,
    is_ambiguous,
    parse_dates,
    preferred_format,
    read_dates,
)

READS = [
    ("2024-01-02", DateFormat.ISO, "2024-01-02"),
    ("2024-1-2", DateFormat.ISO, "2024-01-02"),
    (" 2024-01-02 ", DateFormat.ISO, "2024-01-02"),
    ("2024-02-29", DateFormat.ISO, "2024-02-29"),
    ("0001-01-01", DateFormat.ISO, "0001-01-01"),
    ("9999-12-31", DateFormat.ISO, "9999-12-31"),
    ("2024-01-02T03:04", DateFormat.ISO, "2024-01-02T03:04"),
    ("2024-01-02 03:04:05", DateFormat.ISO, "2024-01-02T03:04:05"),
    ("2024-01-02T03:04:05.678", DateFormat.ISO, "2024-01-02T03:04:05.678"),
    ("2024-01-02 03:04:05,678", DateFormat.ISO, "2024-01-02T03:04:05.678"),
    ("2024-01-02T03:04:05.123456789Z", DateFormat.ISO, "2024-01-02T03:04:05.123456"),
    ("2024-01-02T03:04:05Z", DateFormat.ISO, "2024-01-02T03:04:05"),
    ("2024-01-02 03:04:05 UTC", DateFormat.ISO, "2024-01-02T03:04:05"),
    ("2024-01-01T00:30+02:00", DateFormat.ISO, "2023-12-31T22:30"),
    ("2024-01-02 23:30:00-0530", DateFormat.ISO, "2024-01-03T05:00"),
    ("2024-01-02 03:04:05+00", DateFormat.ISO, "2024-01-02T03:04:05"),
    ("2024-01-02 03:04 PM", DateFormat.ISO, "2024-01-02T15:04"),
    ("2024/1/2", DateFormat.YEAR_SLASH, "2024-01-02"),
    ("2024/01/02 13:14:15", DateFormat.YEAR_SLASH, "2024-01-02T13:14:15"),
    ("31/12/2024", DateFormat.DAY_SLASH, "2024-12-31"),
    ("31/12/68", DateFormat.DAY_SLASH, "2068-12-31"),
    ("12/31/69", DateFormat.MONTH_SLASH, "1969-12-31"),
    ("12/31/2024 1:05 am", DateFormat.MONTH_SLASH, "2024-12-31T01:05"),
    ("12/31/2024 12:05 AM", DateFormat.MONTH_SLASH, "2024-12-31T00:05"),
    ("12/31/2024, 12:05:09 p.m.", DateFormat.MONTH_SLASH, "2024-12-31T12:05:09"),
    ("31-12-2024", DateFormat.DAY_DASH, "2024-12-31"),
    ("12-31-2024 10:00", DateFormat.MONTH_DASH, "2024-12-31T10:00"),
    ("31-12-95", DateFormat.DAY_DASH, "1995-12-31"),
    ("1-31-95", DateFormat.MONTH_DASH, "1995-01-31"),
    ("95-01-31", DateFormat.SHORT_ISO, "1995-01-31"),
    ("2.1.2024", DateFormat.DAY_DOT, "2024-01-02"),
    ("02.01.24 14:30", DateFormat.DAY_DOT, "2024-01-02T14:30"),
    ("31.12.99", DateFormat.DAY_DOT, "1999-12-31"),
    ("2 Jan 2024", DateFormat.DAY_NAME, "2024-01-02"),
    ("02-Jan-2024", DateFormat.DAY_NAME, "2024-01-02"),
    ("02-Jan-24", DateFormat.DAY_NAME, "2024-01-02"),
    ("2nd sept 2024 9:30PM", DateFormat.DAY_NAME, "2024-09-02T21:30"),
    ("29 FEBRUARY 2024", DateFormat.DAY_NAME, "2024-02-29"),
    ("Jan 2, 2024", DateFormat.NAME_DAY, "2024-01-02"),
    ("Dec. 31 2024, 3:04 PM", DateFormat.NAME_DAY, "2024-12-31T15:04"),
    ("May 5, 2024", DateFormat.NAME_DAY, "2024-05-05"),
    ("2024-03", DateFormat.YEAR_MONTH, "2024-03-01"),
    ("14:30", DateFormat.TIME, "1970-01-01T14:30"),
    ("4:30:05.25", DateFormat.TIME, "1970-01-01T04:30:05.25"),
    ("2:30 PM", DateFormat.TIME, "1970-01-01T14:30"),
]

NOT_DATES = [
    "",
    "2024",
    "20240102",
    "12",
    "1.5",
    "today",
    "NaT",
    "2024-02-30",
    "2023-02-29",
    "1900-02-29",
    "2024-13-01",
    "2024-00-10",
    "2024-01-00",
    "0000-01-01",
    "2024-01-02T25:00",
    "2024-01-02 24:00",
    "2024-01-02 12:60",
    "2024-01-02 13:00 PM",
    "2024-01-02 00:30 AM",
    "2024-01-02T12:00+25:00",
    "2024-01-02+02:00",
    "2024-01-02x",
    "2024/01-02",
    "32/12/2024",
    "31/31/2024",
    "31/12/024",
    "24/13/45/1",
    "31.13.2024",
    "1.2.3",
    "10.0.0.1",
    "31 Feb 2024",
    "2-Jan 2024",
    "2 Foo 2024",
    "Janu 2, 2024",
    "2 Januar 2024",
    "2024-3",
    "3001-12",
    "2024-13",
    "12:3",
    "12:30:5",
    "12:30:61",
    "2 PM",
    "\u0662\u0660\u0662\u0664-01-02",  # digits, but not ASCII ones
]


def expected(text):
    return np.datetime64(text, "us")


@pytest.mark.parametrize(("level", "format", "date"), READS, ids=lambda part: str(part))
def test_reads(level, format, date):
    assert formats_of([level]) == {format}
    (value,) = parse_dates([level], format)
    assert value == expected(date)


@pytest.mark.parametrize("level", NOT_DATES)
def test_is_not_a_date(level):
    assert formats_of([level]) == frozenset()
    assert preferred_format(formats_of([level])) is None
    for format in DateFormat:
        assert np.isnat(parse_dates([level], format)).all()


@pytest.mark.parametrize(
    ("levels", "formats", "choice"),
    [
        (["1/2/2024"], {DateFormat.MONTH_SLASH, DateFormat.DAY_SLASH}, DateFormat.MONTH_SLASH),
        (["1/2/24 3:04"], {DateFormat.MONTH_SLASH, DateFormat.DAY_SLASH}, DateFormat.MONTH_SLASH),
        (["1-2-2024"], {DateFormat.MONTH_DASH, DateFormat.DAY_DASH}, DateFormat.DAY_DASH),
    ],
)
def test_day_and_month_can_be_either_way_round(levels, formats, choice):
    assert formats_of(levels) == formats
    assert is_ambiguous(frozenset(formats))
    assert preferred_format(frozenset(formats)) == choice


def test_one_level_settles_which_way_round():
    formats = formats_of(["1/2/2024", "13/2/2024"])
    assert formats == {DateFormat.DAY_SLASH}
    assert not is_ambiguous(formats)
    assert formats_of(["1/13/2024", "13/1/2024"]) == frozenset()


def test_no_levels_leave_every_format():
    assert formats_of([]) == set(DateFormat)
    assert not is_ambiguous(frozenset(DateFormat))
    assert not is_ambiguous(frozenset())
    assert parse_dates([], DateFormat.ISO).dtype == "datetime64[us]"


def test_a_level_that_does_not_fit_the_format_is_nat():
    levels = np.array(
        ["2024-01-02", "3.1.2024", "", "2024-02-30", "2024-01-04 12:00"], dtype=object
    )
    dates = parse_dates(levels, DateFormat.ISO)
    assert np.isnat(dates).tolist() == [False, True, True, True, False]
    assert dates[[0, 4]].tolist() == [datetime(2024, 1, 2), datetime(2024, 1, 4, 12)]


def test_times_of_day_and_dates_are_not_read_as_each_other():
    assert np.isnat(read_dates(["14:30"], DateFormat.ISO)).all()
    assert np.isnat(read_dates(["2024-01-02"], DateFormat.TIME)).all()


def test_levels_with_and_without_time_fraction_half_and_offset_mix():
    levels = ["2024-01-02", "2024-01-02 03:04:05.5", "2024-01-02 03:04 PM", "2024-01-02T03:04+01"]
    wanted = [
        expected(f"2024-01-02T{time}") for time in ("00:00", "03:04:05.5", "15:04:00", "02:04")
    ]
    assert formats_of(levels) == {DateFormat.ISO}
    np.testing.assert_array_equal(parse_dates(levels, DateFormat.ISO), wanted)


@pytest.mark.parametrize("format", DateFormat)
def test_a_format_is_stored_by_its_description(format):
    assert DateFormat(format.value) is format


PATTERNS = {
    DateFormat.ISO: "{:%Y-%m-%d}",
    DateFormat.YEAR_SLASH: "{:%Y/%m/%d}",
    DateFormat.MONTH_SLASH: "{:%m/%d/%y}",
    DateFormat.DAY_SLASH: "{:%d/%m/%Y}",
    DateFormat.DAY_DASH: "{:%d-%m-%Y}",
    DateFormat.MONTH_DASH: "{:%m-%d-%y}",
    DateFormat.SHORT_ISO: "{:%y-%m-%d}",
    DateFormat.DAY_DOT: "{:%d.%m.%y}",
    DateFormat.DAY_NAME: "{:%d-%b-%y}",
    DateFormat.NAME_DAY: "{:%B %d, %Y}",
}
CLOCKS = [" {:%H:%M:%S.%f}", " {:%I:%M:%S.%f %p}"]
#: The years that two digits can be.
DATES = st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31, 23, 59))


@given(
    dates=st.lists(DATES, min_size=1, max_size=5),
    format=st.sampled_from(list(PATTERNS)),
    clock=st.sampled_from(CLOCKS),
)
def test_what_is_written_is_read_back(dates, format, clock):
    levels = [(PATTERNS[format] + clock).format(date, date) for date in dates]
    assert format in formats_of(levels)
    assert parse_dates(levels, format).tolist() == dates


@given(dates=st.lists(st.datetimes(), min_size=1, max_size=5), separator=st.sampled_from("T "))
def test_plain_iso_dates_are_the_same_in_a_column_with_other_ones(dates, separator):
    levels = [date.isoformat(separator) for date in dates]
    plain = parse_dates(levels, DateFormat.ISO)
    assert plain.tolist() == dates
    mixed = parse_dates([*levels, "2024-1-2", "2024-02-30"], DateFormat.ISO)
    np.testing.assert_array_equal(mixed[:-2], plain)


@given(date=DATES, minutes=st.integers(-14 * 60, 14 * 60))
def test_offsets_are_converted_to_utc(date, minutes):
    zoned = date.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    (value,) = parse_dates([zoned.isoformat()], DateFormat.ISO).tolist()
    assert value == zoned.astimezone(UTC).replace(tzinfo=None)


@given(date=DATES)
def test_months_and_times_are_read_back(date):
    month, time = f"{date:%Y-%m}", f"{date:%H:%M:%S.%f}"
    assert formats_of([month]) == {DateFormat.YEAR_MONTH}
    assert formats_of([time]) == {DateFormat.TIME}
    assert parse_dates([month], DateFormat.YEAR_MONTH).tolist() == [
        datetime(date.year, date.month, 1)
    ]
    assert parse_dates([time], DateFormat.TIME).tolist() == [
        datetime.combine(datetime(1970, 1, 1), date.time())
    ]


LEVELS = st.lists(
    st.one_of(
        st.text(alphabet="0123456789-/.: ", max_size=10),
        st.sampled_from([level for level, *_ in READS] + ["1/2/2024", "1-2-2024", "3/4/05"]),
    ),
    max_size=3,
)


@given(first=LEVELS, second=LEVELS)
def test_formats_of_two_blocks_are_the_intersection(first, second):
    assert formats_of(first + second) == formats_of(first) & formats_of(second)
