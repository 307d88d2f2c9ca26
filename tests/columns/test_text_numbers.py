"""Numbers written as text: what reads, what must not, and sets of styles that add over blocks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.columns.text_numbers import NumberStyle, parse_numbers, preferred, styles_of

ALL = styles_of([])

READS = [
    # A column, its preferred style (decimal, thousands, percent), and its values.
    (["1", "-2", "+3", "0"], ("", "."), [1, -2, 3, 0]),
    (["1.5", ".5", "5.", "0.25"], ("", "."), [1.5, 0.5, 5, 0.25]),
    (["0,48", "1,5"], ("", ","), [0.48, 1.5]),
    (["-,5"], ("", ","), [-0.5]),
    (["1,234", "56"], (",", "."), [1234, 56]),
    (["1,234", "0,5"], ("", ","), [1.234, 0.5]),
    (["1,234", "1234,5"], ("", ","), [1.234, 1234.5]),
    (["0,480"], ("", ","), [0.48]),
    (["1.234"], ("", "."), [1.234]),
    (["1.234", "1.234.567"], (".", ","), [1234, 1234567]),
    (["1.234,56", "7"], (".", ","), [1234.56, 7]),
    (["1,234,567.89"], (",", "."), [1234567.89]),
    (["12,34,567", "1,23,456.5"], (",", "."), [1234567, 123456.5]),
    (["1 234 567", "12"], (" ", "."), [1234567, 12]),
    (["1 234,5"], (" ", ","), [1234.5]),
    (["1\u00a0234,5", "1\u202f234\u2009567,0"], (" ", ","), [1234.5, 1234567]),
    (["1'234.50", "1\u2019234\u2019567"], ("'", "."), [1234.5, 1234567]),
    (["1'234,5"], ("'", ","), [1234.5]),
    (["$452,600", "$ 1,000", "$7"], (",", "."), [452600, 1000, 7]),
    (["-$5.25", "$-5.25", "- $ 5.25", "5.25 $"], ("", "."), [-5.25, -5.25, -5.25, 5.25]),
    (["1.234,50 €", "€ -2,00", "-3€"], (".", ","), [1234.5, -2, -3]),
    (["£10", "10 £", "¥10", "₹10"], ("", "."), [10, 10, 10, 10]),
    (["CHF 1'000.50", "1'000 CHF"], ("'", "."), [1000.5, 1000]),
    (["USD5", "5 USD", "$5 USD", "US$ 5", "R$5"], ("", "."), [5, 5, 5, 5, 5]),
    (["5 EUR", "GBP 5", "5EUR"], ("", "."), [5, 5, 5]),
    (["$.5", "$ .25", "Rs. 5", "Fr.5", "5.00 Kč"], ("", "."), [0.5, 0.25, 5, 5, 5]),
    (["1 000 kr", "kr 5", "5 kr."], (" ", "."), [1000, 5, 5]),
    (["(1,234)", "($1,234)", "$(1,234.5)", "(5 €)"], (",", "."), [-1234, -1234, -1234.5, -5]),
    (["\u22125", "\u22121.5"], ("", "."), [-5, -1.5]),
    (["1e-3", "2E5", "1.5e+2", "1e\u22122"], ("", "."), [1e-3, 2e5, 150, 0.01]),
    (["1,5e3", "1,234e3"], ("", ","), [1500, 1234]),
    (["  5 ", "\t6", "7\u00a0"], ("", "."), [5, 6, 7]),
    (["50%", "12.5 %", "-5%", "%8", "(4%)"], ("", ".", True), [0.5, 0.125, -0.05, 0.08, -0.04]),
    (["0,5 %", "1.000 %"], (".", ",", True), [0.005, 10]),
    (["10000000000000000000000"], ("", "."), [1e22]),
]

NOT_NUMBERS = [
    ["", "1"],
    [" "],
    ["abc"],
    ["007"],
    ["01234", "94103"],
    ["-01"],
    ["00.5"],
    ["$05"],
    ["0,123,456"],
    ["12 km", "5 km"],
    ["5kg"],
    ["6 Ft"],
    ["R2", "R3"],
    ["3e"],
    ["0x1F"],
    ["5%", "5"],
    ["$5%"],
    ["%5%%"],
    ["5 USDX", "5 FOO"],
    ["EURO 5"],
    ["2024-01-02"],
    ["1.2.2024"],
    ["1/2/2024"],
    ["1.2.3"],
    ["10.0.0.1", "192.168.100.200"],
    ["12:30"],
    ["1,23", "1.5"],
    ["1,2345,678"],
    ["1234,567.5"],
    ["1.234,567.8"],
    ["1,234 567"],
    ["12 34"],
    ["1,234.5e3"],
    ["1.234", "1,5", "0.5"],
    ["--5"],
    ["-$-5"],
    ["-(5)"],
    ["(5"],
    ["5)"],
    ["(5))"],
    ["(5) $)"],
    ["5-"],
    ["1-2"],
    ["$"],
    ["."],
    [","],
    ["e5"],
    ["nan"],
    ["inf"],
    ["1e999"],
    ["9" * 400],
    ["1_000"],
    ["\u0663"],  # a digit, but not an ASCII one
    ["50¢"],
    ["1 2"],
    ["+"],
]


def style_of(given):
    thousands, decimal, *percent = given
    return NumberStyle(decimal, thousands, *percent)


@pytest.mark.parametrize(("levels", "style", "values"), READS, ids=lambda part: str(part)[:30])
def test_reads(levels, style, values):
    found = preferred(styles_of(levels))
    assert found == style_of(style)
    np.testing.assert_allclose(parse_numbers(levels, found), values, rtol=1e-15)


@pytest.mark.parametrize("levels", NOT_NUMBERS, ids=lambda levels: str(levels)[:30])
def test_is_not_a_column_of_numbers(levels):
    assert styles_of(levels) == frozenset()
    assert preferred(styles_of(levels)) is None


def test_a_level_that_does_not_fit_the_style_is_nan():
    values = parse_numbers(["1.5", "1,5", "", "50%", "1.234,5"], NumberStyle(".", ","))
    np.testing.assert_array_equal(values, [1.5] + [np.nan] * 4)


def test_integers_fit_every_plain_style():
    assert styles_of(["12", "-3"]) == {style for style in ALL if not style.percent}


def test_no_levels_leave_every_style():
    assert len(ALL) == 16
    assert preferred(ALL) == NumberStyle()
    assert parse_numbers([], NumberStyle()).shape == (0,)


def test_object_arrays_and_lists_are_the_same():
    levels = ["$1,234", "(5)"]
    array = np.array(levels, dtype=object)
    assert styles_of(array) == styles_of(levels)
    assert parse_numbers(array, NumberStyle(".", ",")).tolist() == [1234, -5]


def test_a_style_is_described():
    assert NumberStyle().describe() == "decimal points"
    assert NumberStyle(",", "'", True).describe() == (
        "decimal commas, apostrophes between thousands, percent signs"
    )
    assert len({style.describe() for style in ALL}) == len(ALL)


@pytest.mark.parametrize("arguments", [(";", ""), (".", "_"), (".", "."), (",", ",")])
def test_a_style_refuses_other_signs(arguments):
    with pytest.raises(ValueError, match=r"decimal|thousands"):
        NumberStyle(*arguments)


def written(value, style, digits):
    """Write a number in a style, as a spreadsheet would."""
    text = f"{value:,.{digits}f}"
    swap = {",": style.thousands, ".": style.decimal}
    return "".join(swap.get(sign, sign) for sign in text) + "%" * style.percent


@given(
    values=st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=5),
    style=st.sampled_from(sorted(ALL, key=NumberStyle.describe)),
    digits=st.integers(0, 6),
    currency=st.sampled_from(["{}", "$ {}", "{} €", " CHF {}", "{}\u00a0kr"]),
)
def test_what_is_written_is_read_back(values, style, digits, currency):
    wrap = "{}" if style.percent else currency
    levels = [wrap.format(written(value, style, digits)) for value in values]
    assert style in styles_of(levels)
    expected = np.array([float(f"{value:.{digits}f}") for value in values])
    np.testing.assert_array_equal(
        parse_numbers(levels, style), expected / 100 if style.percent else expected
    )


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_python_writes_it(value):
    assert parse_numbers([repr(value)], NumberStyle()).tolist() == [value]


SIGNS = st.text(alphabet="0123456789.,' -+()%$€eE", max_size=8)
LEVELS = st.lists(
    st.one_of(SIGNS, st.sampled_from([level for case in READS for level in case[0]])), max_size=4
)


@given(first=LEVELS, second=LEVELS)
def test_styles_of_two_blocks_are_the_intersection(first, second):
    assert styles_of(first + second) == styles_of(first) & styles_of(second)


@given(level=SIGNS)
def test_a_style_fits_exactly_where_it_parses_to_a_finite_number(level):
    styles = styles_of([level])
    for style in ALL:
        (value,) = parse_numbers([level], style)
        assert math.isfinite(value) == (style in styles)


def test_runs_of_spaces_take_linear_time():
    # Patterns that try every way to share these spaces would not return.
    assert styles_of(["$" + " " * 240 + "x"]) == frozenset()
    assert styles_of(["$5" + " " * 240 + "x"]) == frozenset()
    assert preferred(styles_of(["$" + " " * 100 + "(5)"])) == NumberStyle()
