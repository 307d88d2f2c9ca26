"""Awkward tables: each becomes the right numbers, or a clear error."""

import datetime
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import Gaussian, KernelRegressor, TableEncoder

NAN = np.nan
CHEAP = {"kernel": Gaussian(2.0), "alpha": 1e-3, "metric": None, "scale": None}


def encoded(X, y=None, new=None, **parameters):
    """What the first column became in words, and its numbers."""
    encoder = TableEncoder(**parameters).fit(X, y)
    values = encoder.transform(X if new is None else new)
    first = encoder.encoding_.origins == 0
    return encoder.encoding_.describe()[0][1], values[:, first]


def one(*values, **settings):
    """A data frame of one column, and a second that is never left out."""
    return pd.DataFrame({"x": pd.Series(values, **settings), "z": np.arange(len(values)) % 2 + 0.5})


# -- what a column is ----------------------------------------------------------------------------

INDICATORS = [[1, 0], [0, 1], [1, 0]]
CASES = {
    "text": (one("a", "b", "a"), "category of 2 levels", INDICATORS),
    "text with gaps": (one("a", "b", None), "1 gaps", [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
    "empty strings": (one("a", "b", " "), "1 gaps", [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
    "words for a gap": (one("a", "b", "N/A"), "1 gaps", [[1, 0, 0], [0, 1, 0], [1, 0, 1]]),
    "yes and no": (one("no", "yes", "no"), "category of 2", INDICATORS),
    "true and false as text": (one("false", "true", "false"), "category of 2", INDICATORS),
    "booleans": (one(True, False, True), "number", [[1], [0], [1]]),
    "booleans with a gap": (
        one(True, None, False, dtype="boolean"), "number; 1 gaps", [[1, 0], [0.5, 1], [0, 0]]
    ),
    "0 and 1 as text": (one("0", "1", "1"), "number", [[0], [1], [1]]),
    "leading zeros": (one("02139", "94103", "02139"), "category of 2", INDICATORS),
    "decimal commas": (one("1,5", "2,25", "3"), "decimal commas", [[1.5], [2.25], [3]]),
    "thousands": (one("1,200", "3,400.5", "7"), "commas between", [[1200], [3400.5], [7]]),
    "currency": (one("$1,200", "US$ 5", "$7.5"), "number", [[1200], [5], [7.5]]),
    "currency with gaps": (
        one("$1,200", None, "$7.5"), "1 gaps", [[1200, 0], [603.75, 1], [7.5, 0]]
    ),
    "euros": (one("1.200,50 €", "7,25 €", "3 €"), "decimal commas", [[1200.5], [7.25], [3]]),
    "percent": (one("5%", "7 %", "12.5%"), "percent", [[0.05], [0.07], [0.125]]),
    "parentheses": (one("(300)", "5", "-2"), "number", [[-300], [5], [-2]]),
    "numbers and a word": (one("1", "two", "1"), "category of 2", INDICATORS),
    "objects of several types": (one(1, "b", 1.0, dtype=object), "category of 2", INDICATORS),
    "nullable integers": (
        one(1, None, 3, dtype="Int64"), "number; 1 gaps", [[1, 0], [2, 1], [3, 0]]
    ),
    "NA among objects": (
        one(1, pd.NA, 3, dtype=object), "number; 1 gaps", [[1, 0], [2, 1], [3, 0]]
    ),
    "decimals": (
        one(Decimal("1.5"), None, Decimal("2.5")), "number; 1 gaps", [[1.5, 0], [2, 1], [2.5, 0]]
    ),
    "categories": (one("a", "b", "a", dtype="category"), "category of 2", INDICATORS),
    "categories of numbers": (one(7, 9, 7, dtype="category"), "category of 2", INDICATORS),
    "ordered categories": (
        one("mid", "low", None, dtype=pd.CategoricalDtype(["low", "mid", "high"], ordered=True)),
        "ordered category: low < mid < high; 1 gaps", [[1, 0], [0, 0], [0.5, 1]],
    ),
    "intervals of cut": (
        pd.DataFrame({"x": pd.cut([1.0, 9.0, 1.0], [0, 5, 10])}), "ordered", [[0], [1], [0]]
    ),
    "polars Enum": (
        pl.DataFrame({"x": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"]))}),
        "ordered category: b < a", [[0], [1], [0]],
    ),
    "polars Categorical": (
        pl.DataFrame({"x": pl.Series(["1", "2", "1"], dtype=pl.Categorical)}),
        "category of 2", INDICATORS,
    ),
    "polars decimals": (
        pl.DataFrame({"x": pl.Series(["1.5", "2.5", None]).cast(pl.Decimal(10, 2))}),
        "number; 1 gaps", [[1.5, 0], [2.5, 0], [2, 1]],
    ),
    "durations": (one(*pd.to_timedelta(["1h", "2h", "90s"])), "number", [[3600], [7200], [90]]),
    "times of day": (
        one("06:00", "18:00", "00:00"), "date (time of day): the day", [[1, 0], [-1, 0], [0, 1]]
    ),
    "times of day as objects": (
        one(datetime.time(6), datetime.time(18), datetime.time(0)), "the day",
        [[1, 0], [-1, 0], [0, 1]],
    ),
    "dates": (
        one(*pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-05"])), "date: days elapsed",
        [[1], [0], [4]],
    ),
    "dates as objects": (
        one(datetime.date(2024, 1, 2), datetime.date(2024, 1, 1), datetime.date(2024, 1, 5)),
        "date: days elapsed", [[1], [0], [4]],
    ),
    "dates as text": (one("2024-01-02", "2024-01-01", "2024-01-05"), "date", [[1], [0], [4]]),
    "dates with points": (one("2.1.2024", "01.01.2024", "5.1.24"), "date", [[1], [0], [4]]),
    "dates with names": (
        one("Jan 2, 2024", "January 1, 2024", "Jan 5, 2024"), "date", [[1], [0], [4]]
    ),
    "days before months": (
        one("14/1/2024", "13/1/2024", "17/1/2024"), "day/month/year", [[1], [0], [4]]
    ),
    "zones": (  # in UTC: noon, and noon of the next day
        one("2024-01-01T14:00+02:00", "2024-01-02T12:00Z", "2024-01-01T12:00Z"), "the day",
        [[0.5, 0, -1], [1.5, 0, -1], [0.5, 0, -1]],
    ),
    "constant with gaps": (one(5.0, None, 5.0), "number; 1 gaps", [[5, 0], [5, 1], [5, 0]]),
    "one level with gaps": (one("a", None, "a"), "category of 1", [[1, 0], [1, 1], [1, 0]]),
    "constant": (one(5.0, 5.0, 5.0), "left out: it is constant", [[], [], []]),
    "all missing": (one(None, None, None, dtype=object), "it has no values", [[], [], []]),
    "all missing numbers": (one(NAN, NAN, NAN), "left out: it has no values", [[], [], []]),
    "an array of objects": (
        np.array([["a", 1], ["b", None], ["a", 3]], dtype=object), "category of 2", INDICATORS
    ),
    "lists with text": ([["a", 1], ["b", 2], ["a", 3]], "category of 2", INDICATORS),
    "names that are numbers": (pd.DataFrame({0: ["a", "b", "a"], 1: [1, 2, 4]}), "category of 2",
                               INDICATORS),
    "a column of strings alone": (np.array([["a"], ["b"], ["a"]]), "category of 2", INDICATORS),
    "pyarrow": (pa.table({"x": ["a", "b", "a"]}), "category of 2", INDICATORS),
    "a dictionary of pyarrow": (
        pa.table({"x": pa.array([7, 9, 7]).dictionary_encode()}), "category of 2", INDICATORS
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_column_becomes(case):
    X, words, values = CASES[case]
    described, found = encoded(X)
    assert words in described
    np.testing.assert_allclose(found, np.array(values, dtype=float), atol=1e-9)


def test_dates_that_may_be_read_in_two_ways_are_a_warning():
    with pytest.warns(UserWarning, match=r"'x' could be month/day/year or day/month/year, and"):
        _, found = encoded(one("1/2/2024", "1/1/2024", "1/5/2024"))
    np.testing.assert_array_equal(found[:, 0], [1, 0, 4])


# -- errors --------------------------------------------------------------------------------------

ERRORS = {
    "infinity": (one(1.0, np.inf, 2.0), r"infinity at row 1, column 0 \('x'\)"),
    "lists": (one([1], [2, 3], [4]), "'x' contains list"),
    "structs": (one({"a": 1}, {"a": 2}, {"a": 3}), "'x' contains struct"),
    "lists in an array": (np.array([[[1], "a"], [(2,), "b"]], dtype=object), "'x0' contains list"),
    "complex numbers": (one(1j, 2.0, 3.0, dtype=object), "'x' contains complex"),
    "bytes": (one(b"a", b"b", b"a"), "'x' contains binary"),
    "polars lists": (pl.DataFrame({"x": [[1], [2]]}), "'x' contains .*list"),
    "duplicated names": (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "'a'"),
    "names of two types": (pd.DataFrame([[1, 2], [3, 4]], columns=["a", 0]), "string names"),
    "no rows": (one("a")[:0], r"0 sample\(s\)"),
    "no columns": (one("a")[[]], r"0 feature\(s\)"),
    "one row": (pd.DataFrame({"x": ["a"]}), "no column is left .* 'x': it is constant"),
    "lists of different lengths": ([["a", 1], ["b"]], "inhomogeneous"),
    "a single column as a list": (["a", "b"], "2D"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_says_why(case):
    X, words = ERRORS[case]
    with pytest.raises((ValueError, TypeError), match=words):
        TableEncoder().fit(X)


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ({"x": "number"}, "'x' cannot be read as 'number', since it contains text"),
        ({"x": "date"}, "'x' cannot be read as 'date', since it contains text"),
        ({"x": ["a"]}, "order of column 'x' must have all of its levels, but lacks 'b'"),
        ({"x": "target"}, "'x' cannot be encoded by the mean of y without y"),
        ({"z": "date"}, "'z' cannot be read as 'date', since it contains numbers"),
        ({"x": "drop", "z": "drop"}, "no column is left to learn from: 'x': as asked"),
    ],
)
def test_a_kind_that_does_not_fit_is_an_error(types, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder(types).fit(one("a", "b", "a"))


# -- identifiers ---------------------------------------------------------------------------------


def numbered(values):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": values, "z": rng.normal(size=len(values))})


def test_identifiers_are_left_out_with_a_word_that_says_how_to_keep_them():
    rng = np.random.default_rng(1)
    y = rng.normal(size=300)
    in_order = numbered(np.arange(300) + 1000)
    assert "identifier; keep it with columns={'x': 'number'}" in encoded(in_order, y)[0]
    assert "identifier" in encoded(numbered(rng.permutation(300)), y)[0]  # in any order
    # not consecutive, and without relation to y
    codes = numbered(rng.choice(10**9, 300, replace=False))
    assert "identifier" in encoded(codes, y)[0]
    described, found = encoded(codes, y, types={"x": "number"})
    assert described == "number"
    np.testing.assert_array_equal(found[:, 0], codes["x"])
    text = numbered([f"user-{number}" for number in rng.permutation(300)])
    assert "nearly all values are distinct" in encoded(text, y)[0]
    assert "300 levels" in encoded(text, y, types={"x": "category"})[0]
    with pytest.warns(UserWarning, match=r"column 'x' is left out: .* keep it with columns="):
        KernelRegressor(**CHEAP).fit(codes, y)


def test_whole_numbers_that_matter_are_kept():
    rng = np.random.default_rng(2)
    price = rng.choice(10**6, 300, replace=False)  # all distinct
    assert encoded(numbered(price), np.log(price + 1.0))[0] == "number"
    some = rng.integers(0, 200, 300)  # not distinct
    assert encoded(numbered(some), rng.normal(size=300))[0] == "number"
    with_gaps = numbered(np.where(rng.random(300) < 0.1, NAN, np.arange(300.0)))
    assert "number" in encoded(with_gaps, rng.normal(size=300))[0]
    few = numbered(np.arange(30))
    assert encoded(few, rng.normal(size=30))[0] == "number"
    years = numbered(np.arange(300) * 7 + 1)  # a time index with steps and a trend
    assert encoded(years, np.arange(300.0))[0] == "number"


@pytest.mark.parametrize("of", [lambda t: t / 100, lambda t: np.sin(t / 30)])
def test_a_number_that_counts_rows_is_kept_if_y_changes_with_it(of):
    rng = np.random.default_rng(3)
    rows = numbered(np.arange(400)).assign(kind=rng.choice(["a", "b"], 400))
    y = of(np.arange(400)) + 0.2 * rng.normal(size=400)
    some = rng.permutation(400)
    train, test = some[:300], some[300:]
    with pytest.warns(UserWarning, match="'x' counts the rows, and y changes with it"):
        encoded(rows, y)
    model = KernelRegressor(random_state=0).fit(rows.iloc[train], y[train])
    assert model.score(rows.iloc[test], y[test]) > 0.85


@pytest.mark.parametrize("seed", range(4))
def test_a_weak_trend_beside_strong_columns_is_kept(seed):
    """Whether a number is related to y is asked of what the other columns leave of y."""
    rng = np.random.default_rng(seed)
    rows = numbered(rng.permutation(100)).assign(kind=rng.choice(["a", "b", "c"], 100))
    rows.loc[::9, "z"] = NAN
    effects = rows["kind"].map({"a": 0.0, "b": 2.0, "c": 5.0}) + 2 * rows["z"].fillna(0)
    y = (effects + rows["x"] / 100 + 0.1 * rng.normal(size=100)).to_numpy()
    assert encoded(rows, y)[0] == "number"
    assert "identifier" in encoded(rows, rng.permutation(y))[0]
    assert "identifier" in encoded(rows, 3 * rows["kind"].map({"a": 0.0, "b": 2.0, "c": 5.0}))[0]


def test_the_only_column_of_numbers_is_kept():
    steps = pd.DataFrame({"step": np.arange(100)})
    y = np.sin(np.arange(100) / 15)
    assert encoded(steps, y)[0] == "number"
    assert (
        KernelRegressor(Gaussian(5.0), metric=None, scale=None).fit(steps, y).score(steps, y) > 0.9
    )


def test_a_hundred_thousand_levels():
    rng = np.random.default_rng(3)
    level = np.concatenate([np.arange(100_000), rng.integers(0, 100_000, 50_000)])
    X = pd.DataFrame({"x": np.char.add("L", level.astype(str)).astype(object)})
    y = (level % 7).astype(float) + 0.5 * rng.random(len(level))
    described, found = encoded(X, y)
    assert "category of 100,000 levels: the mean of y in each" in described
    assert np.corrcoef(found[:, 0], y)[0, 1] > 0.9


# -- new rows ------------------------------------------------------------------------------------

FITTED = pd.DataFrame(
    {
        "size": [1.0, 2.0, 3.0, 4.0],
        "kind": ["a", "b", "a", "a"],
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]),
    }
)
NEW = {
    "a new category": ({"kind": ["a", "b", "c", "a"]}, "'kind' has 1 unknown values .such as 'c'."),
    "a new gap in text": ({"kind": ["a", "b", None, "a"]}, "'kind' has 1 missing values"),
    "a new gap in numbers": ({"size": [1, NAN, NAN, 4]}, "'size' has 2 missing values"),
    "a new gap in dates": (
        {"day": FITTED["day"].where([True, False, True, True])},
        "'day' has 1 m",
    ),
    "text for numbers": (
        {"size": ["1", "2", "many", "4"]},
        "'size' has 1 unreadable .*'many'.",
    ),
    "dates for numbers": ({"size": FITTED["day"]}, "'size' has 4 unreadable"),
    "numbers for dates": ({"day": [1, 2, 3, 4]}, "'day' has 4 unreadable values .such as '1'."),
    "text for dates": ({"day": ["2024-01-01", "soon", "later", None]}, "2 unreadable .* 1 missing"),
    "numbers for text": ({"kind": [1, 2, 3, 4]}, "'kind' has 4 unknown"),
    "dates for text": ({"kind": FITTED["day"]}, "'kind' has 4 unknown"),
}


@pytest.mark.parametrize("case", NEW)
def test_values_that_the_fit_has_not_seen_are_counted_once(case):
    changed, words = NEW[case]
    encoder = TableEncoder().fit(FITTED)
    model = KernelRegressor(**CHEAP).fit(FITTED, [1.0, 2.0, 3.0, 4.0])
    new = FITTED.assign(**changed)
    for predict in (encoder.transform, model.predict):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = predict(new)
        assert np.isfinite(found).all()
        assert len(caught) == 1
        assert re.search(words, str(caught[0].message))


def test_the_same_values_of_another_type_are_no_surprise():
    encoder = TableEncoder().fit(FITTED)
    expected = encoder.transform(FITTED)
    new = FITTED.assign(size=["1", "2.0", " 3", "4"], day=FITTED["day"].astype(str))
    np.testing.assert_array_equal(encoder.transform(new), expected)
    np.testing.assert_array_equal(
        encoder.transform(FITTED.astype({"size": "int8", "kind": "category"})), expected
    )
    np.testing.assert_array_equal(encoder.transform(pl.from_pandas(FITTED)), expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[["day"]], "X has no columns of the fit 'size', 'kind'"),
        (lambda X: X.rename(columns={"kind": "sort"}), "no column of the fit 'kind'; .*'sort'"),
        (lambda X: X.assign(size=[1, 2, np.inf, 4]), "contains infinity at row 2"),
    ],
)
def test_columns_that_differ_are_an_error(change, words):
    encoder = TableEncoder().fit(FITTED)
    model = KernelRegressor(**CHEAP).fit(FITTED, [1.0, 2.0, 3.0, 4.0])
    for predict in (encoder.transform, model.predict):
        with pytest.raises(ValueError, match=words):
            predict(change(FITTED))


def test_missing_error_refuses_gaps_in_fits_and_in_new_rows(tmp_path):
    y, gap = [1.0, 2.0, 3.0, 4.0], FITTED.assign(kind=["a", None, "b", "a"])
    words = r"contains NaN (at row 1, column 1 .'kind'|or gaps.* 1 values of column 'kind')"
    for fit in (TableEncoder(missing="error").fit, KernelRegressor(missing="error", **CHEAP).fit):
        with pytest.raises(ValueError, match=words):
            fit(gap, y)
    with pytest.raises(ValueError, match=words):
        TableEncoder(missing="error").fit(FITTED).transform(gap)
    model = KernelRegressor(missing="error", **CHEAP).fit(FITTED, y)
    with pytest.raises(ValueError, match=words):
        model.predict(gap)
    gap.to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match=words):
        model.predict(tmp_path / "gap.parquet")


def test_gaps_in_nullable_targets_are_left_out():
    y = pd.Series([1, None, 3, 4], dtype="Int64")
    with pytest.warns(UserWarning, match="1 of 4 rows have no label"):
        model = KernelRegressor(**CHEAP).fit(FITTED, y)
    alone = KernelRegressor(**CHEAP).fit(FITTED.iloc[[0, 2, 3]], [1.0, 3.0, 4.0])
    np.testing.assert_allclose(model.predict(FITTED), alone.predict(FITTED), rtol=1e-8)


def test_a_single_column_of_text_is_enough():
    X, y = pd.DataFrame({"x": ["a", "b"] * 5}), [1.0, 2.0] * 5
    model = KernelRegressor(Gaussian(2.0), alpha=1e-8, metric=None, scale=None).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-4)
