"""Rows to predict whose values are written otherwise are read as the same values, or counted."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, KernelRegressor, Landmarks, TableEncoder, load, save

CHEAP = {"kernel": Gaussian(2.0), "alpha": 1e-3, "metric": None, "scale": None}
ROWS = 60
NUMBERS = np.round(np.random.default_rng(0).uniform(-9, 9, ROWS), 1)
TRUE = np.arange(ROWS) % 3 == 0
CODES = np.arange(ROWS) % 5
LEVELS = np.array(["a", "b c", "d", "e", "f"], dtype=object)[CODES]
DAYS = pd.Series(pd.to_datetime("2023-01-03") + pd.to_timedelta(13 * np.arange(ROWS), "D"))


def text(values, form=str):
    return pd.Series([form(value) for value in values], dtype=object)


def comma(value):
    return str(value).replace(".", ",")


def dates(pattern):
    return text(DAYS.dt.strftime(pattern))


def mixed(values):
    """Numbers and the same numbers as text, in turns."""
    return pd.Series([str(v) if at % 2 else int(v) for at, v in enumerate(values)], dtype=object)


CATEGORY = {"columns": {"x": "category"}}
#: What is fitted, what is predicted, and how the column is read.
SAME = {
    "decimal commas": (NUMBERS, text(NUMBERS, comma), {}),
    "decimal points": (text(NUMBERS, comma), text(NUMBERS), {}),
    "text with spaces": (NUMBERS, text(NUMBERS, " {} ".format), {}),
    "a currency": (NUMBERS, text(NUMBERS, "{} €".format), {}),
    "thousands": (1e6 + CODES, text(1000000 + CODES, "{:,}".format), {}),
    "yes for true": (TRUE, text(np.where(TRUE, "yes", "no")), {}),
    "True for true": (TRUE, text(TRUE), {}),
    "T for true": (TRUE, text(np.where(TRUE, "T", "F")), {}),
    "1.0 for true": (TRUE, text(TRUE.astype(float)), {}),
    "true for yes": (text(np.where(TRUE, "yes", "no")), TRUE, {}),
    "1 for yes": (text(np.where(TRUE, "yes", "no")), TRUE.astype(int), {}),
    "Y for yes": (text(np.where(TRUE, "yes", "no")), text(np.where(TRUE, "Y", "N")), {}),
    "spaces": (LEVELS, text(LEVELS, " {}".format), {}),
    "capitals": (LEVELS, text(LEVELS, str.upper), {}),
    "two spaces": (LEVELS, text(LEVELS, lambda v: v.replace(" ", "  ").title()), {}),
    "a decimal": (text(CODES, "L{}".format), text(CODES, "l{} ".format), {}),
    "1.0 for 1": (text(CODES), text(CODES, "{}.0".format), CATEGORY),
    "1 for 1.0": (pd.Categorical(text(CODES, "{}.0".format)), CODES, {}),
    "floats for integers": (CODES, CODES.astype(float), CATEGORY),
    "integers and text": (CODES, mixed(CODES), CATEGORY),
    "integers of both": (mixed(CODES), CODES, CATEGORY),
    "categories of both": (pd.Categorical(mixed(CODES)), CODES, {}),
    "numbers of both": (mixed(np.arange(ROWS) ** 2), np.arange(ROWS) ** 2, {}),
    "text for dates": (DAYS, dates("%d.%m.%Y"), {}),
    "names of months": (dates("%d.%m.%Y"), dates("%B %d, %Y"), {}),
    "ISO dates": (dates("%m/%d/%Y"), dates("%Y-%m-%d"), {}),
    "short years": (dates("%d-%m-%y"), DAYS, {}),
    "names and short years": (dates("%d-%b-%y"), dates("%Y/%m/%d"), {}),
}


def fitted(values, **settings):
    x = pd.DataFrame({"x": values, "z": np.sin(np.arange(ROWS))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dates in which days and years can be swapped
        return KernelRegressor(**CHEAP, **settings).fit(x, np.cos(np.arange(ROWS))), x


@pytest.mark.parametrize("case", SAME)
@pytest.mark.filterwarnings("error")
def test_is_read_as_the_same_value(case, tmp_path):
    old, new, settings = SAME[case]
    model, x = fitted(old, **settings)
    assert len(model.columns_.encoding_.feature_names) > 1
    new = x.assign(x=new)
    expected = model.predict(x)
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m")).predict(new), expected)
    new.to_csv(tmp_path / "new.csv", index=False)
    np.testing.assert_array_equal(model.predict(tmp_path / "new.csv"), expected)


def test_categories_of_numbers_and_text_are_one_level_each():
    model, _ = fitted(pd.Categorical(mixed(CODES)))
    assert "5 levels" in model.columns_.encoding_.describe()[0][1]


#: What is fitted, what is predicted, and how many values are counted, with an example.
COUNTED = {
    "thousands or a fraction": (
        NUMBERS, text(1000 + CODES, "{:,}".format), "60 unreadable values (such as '1,000')"
    ),
    "points that were fractions": (
        NUMBERS, ["1.234,5"] * ROWS, "60 unreadable values (such as '1.234,5')"
    ),
    "commas that were thousands": (
        text(1e6 + NUMBERS, "{:,}".format), ["0,5"] * ROWS, "60 unreadable values (such as '0,5')"
    ),
    "percent": (NUMBERS, ["5 %"] * ROWS, "60 unreadable values (such as '5 %')"),
    "words": (NUMBERS, ["yes"] * 2 + ["2"] * 58, "2 unreadable values (such as 'yes')"),
    "months for days": (
        dates("%m/%d/%Y"), dates("%d/%m/%Y"), f"{sum(DAYS.dt.day > 12)} unreadable values"
    ),
    "days or months": (DAYS, ["1/2/2024"] * ROWS, "60 unreadable values (such as '1/2/2024')"),
    "compact dates": (DAYS, dates("%Y%m%d"), "60 unreadable values (such as '20230103')"),
    "one of two": (
        np.where(TRUE, "a", "A"), [" A", "a ", "B"] * 20, "20 unknown values (such as 'B')"
    ),
    "either": (text(CODES, lambda v: "xXyzz"[v]), ["y ", "X", "Z", "w", "x"] * 12, "12 unknown"),
    "perhaps": (
        text(CODES, lambda v: ["yes", "no", "perhaps"][v % 3]), [True] * ROWS, "60 unknown"
    ),
    "a zip code": (text(CODES, "0213{}".format), 2130 + CODES, "60 unknown values"),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTED)
def test_doubtful_values_are_counted_in_one_warning(case, tmp_path):
    old, new, words = COUNTED[case]
    model, x = fitted(old)
    x.assign(x=new).to_csv(tmp_path / "new.csv", index=False)
    for rows in (x.assign(x=new), tmp_path / "new.csv"):
        with pytest.warns(UserWarning, match=re.escape(f"of 60 rows, 'x' has {words}")) as caught:
            assert np.isfinite(model.predict(rows)).all()
        assert len(caught) == 1


def test_integers_that_became_floats_because_of_gaps_are_the_same_beside_the_gaps():
    for settings in ({}, CATEGORY):
        model, x = fitted(CODES, **settings)
        gaps = x.assign(x=np.where(CODES == 3, np.nan, CODES))
        with pytest.warns(UserWarning, match="of 60 rows, 'x' has 12 missing values, filled"):
            found = model.predict(gaps)
        np.testing.assert_array_equal(found[CODES != 3], model.predict(x)[CODES != 3])


def test_the_prediction_of_a_row_does_not_depend_on_the_others():
    model, x = fitted(dates("%d.%m.%Y"))
    new = x.assign(x=dates("%d/%m/%Y"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [float(model.predict(new.iloc[[at]])[0]) for at in range(ROWS)]
        np.testing.assert_allclose(model.predict(new), alone, rtol=1e-9)


# -- text among numbers --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["frame", "file", "list"])
def test_words_that_first_appear_after_many_numbers_are_gaps(form, tmp_path):
    values = np.random.default_rng(1).normal(size=40_100)
    x = pd.DataFrame({"x": np.append(values[:40_000].astype(object), ["n/k"] * 100), "y": values})
    parts = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for part, path in zip((x[:40_000], x[40_000:]), parts, strict=True):
        part.to_csv(path, index=False)
    x.to_csv(tmp_path / "all.csv", index=False)
    rows = {"frame": x, "file": tmp_path / "all.csv", "list": parts}[form]
    with pytest.warns(UserWarning, match=r"'x' is read as numbers, .* such as 'n/k', as gaps"):
        model = KernelRegressor(basis=Landmarks(20), **CHEAP).fit(rows, "y")
    assert model.columns_.encoding_.encoders[0].kind == "number"


def test_a_kind_of_number_takes_words_as_gaps():
    x = pd.DataFrame({"x": ["1", "2", "3", "n/k"] * 10, "z": np.arange(40) % 7})
    with pytest.warns(UserWarning, match="such as 'n/k', as gaps"):
        encoder = TableEncoder({"x": "number"}).fit(x)
    with pytest.warns(UserWarning, match="10 unreadable values .such as 'n/k'., filled like gaps"):
        np.testing.assert_array_equal(
            encoder.transform(x)[:4, :2], [[1, 0], [2, 0], [3, 0], [2, 1]]
        )


def test_a_lone_surrogate_is_a_level_like_others(tmp_path):
    x = np.array([["a\ud800", 1.0], ["a\ud801", 2.0], ["é", 3.0]] * 20, dtype=object)
    y = np.tile([1.0, 2.0, 3.0], 20)
    frame = pd.DataFrame({"x": pd.Series(x[:, 0], dtype=object), "z": x[:, 1].astype(float)})
    for rows in (x, frame):
        model = KernelRegressor(**CHEAP).fit(rows, y)
        assert "3 levels" in model.columns_.encoding_.describe()[0][1]
        found = load(save(model, tmp_path / "m")).predict(rows)
        np.testing.assert_array_equal(found, model.predict(rows))
