"""A damaged description of the columns gives a ModelFileError, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from model_files import put, read, rewrite, tensor

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    ModelFileError,
    TableEncoder,
    load,
    save,
)
from mercer.columns.level_encoders import OneHotColumn
from mercer.storage.state import check_state

rng = np.random.default_rng(0)
N = 80
TABLE = pd.DataFrame(
    {
        "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "kind": rng.choice(["a", "b", "c"], N),
        "place": [f"P{number}" for number in rng.integers(0, 30, N)],
        "grade": pd.Categorical(rng.choice(["low", "high"], N), ["low", "high"], ordered=True),
        "sold": rng.choice(["13.1.2020", "2.5.2021"], N),
        "paid": [f"${number}" for number in range(N)],
        "none": np.ones(N),
        "code": [f"C{number}" for number in rng.integers(0, 30, N)],
    }
)
PARTS = ("columns", "params", "encoders", "tuple")
(SIZE, KIND, PLACE, GRADE, SOLD, PAID, NONE, CODE) = range(8)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    model = KernelRegressor(
        Gaussian(2.0), Landmarks(8), 1e-3, metric=None, scale=None, columns={"code": "hash"}
    )
    model.fit(TABLE, rng.normal(size=N))
    return save(model, tmp_path_factory.mktemp("models") / "model")


def param(column, name, value):
    return put(*PARTS, column, "params", name, value)


DAMAGE = {
    "no encoding": put("columns", 5),
    "a missing encoding": put("columns", None),
    "another class": put("columns", {"type": "NumberStyle", "params": {}}),
    "an unknown class": put(*PARTS, SIZE, "type", "EvilColumn"),
    "an unknown parameter": param(SIZE, "more", 1),
    "too few columns": put("columns", "params", "names", {"tuple": ["size"]}),
    "repeated names": put("columns", "params", "names", {"tuple": ["a"] * 8}),
    "names that are no text": put("columns", "params", "names", {"tuple": list(range(8))}),
    "an encoder that is none": put(*PARTS, SIZE, 3.0),
    "gaps of another length": put("columns", "params", "gaps", {"tuple": [1]}),
    "gaps that are text": put("columns", "params", "gaps", {"tuple": ["1"] * 8}),
    "text of no column": put("columns", "params", "text", {"tuple": ["price"]}),
    "text that is a number": put("columns", "params", "text", 3),
    "a fill of text": param(SIZE, "fill", "high"),
    "a fill that is missing": param(SIZE, "fill", None),
    "an indicator of text": param(SIZE, "indicator", "yes"),
    "an indicator that is lost": param(SIZE, "indicator", False),
    "a style that is text": param(PAID, "style", "$"),
    "a decimal sign that is none": put(*PARTS, PAID, "params", "style", "params", "decimal", "x"),
    "a fill of no level": param(KIND, "fill", 9),
    "a negative fill": param(KIND, "fill", -1),
    "a fraction as a level": param(KIND, "fill", 0.5),
    "levels that are numbers": param(KIND, "levels", {"labels": [1, 2, 3], "dtype": "O"}),
    "levels that are text": param(KIND, "levels", "abc"),
    "levels that repeat": param(KIND, "levels", {"labels": ["a", "a", "c"], "dtype": "O"}),
    "rare levels that are frequent": param(KIND, "rare", {"labels": ["a"], "dtype": "O"}),
    "rare levels that are numbers": param(KIND, "rare", 7),
    "a level too many": param(KIND, "levels", {"labels": list("abcd"), "dtype": "O"}),
    "means of no level": tensor("columns.encoders.2.values", lambda a: a[:-1]),
    "means that are NaN": tensor("columns.encoders.2.values", lambda a: a * np.nan),
    "folds that are NaN": tensor("columns.encoders.2.by_fold", lambda a: a * np.nan),
    "too few folds": tensor("columns.encoders.2.by_fold", lambda a: a[:2]),
    "no prior": tensor("columns.encoders.2.prior", lambda a: a[:0]),
    "means that are whole": tensor("columns.encoders.2.values", lambda a: a.astype(np.int64)),
    "hashed, or not": param(PLACE, "hashed", "no"),
    "an order of numbers": param(GRADE, "levels", {"labels": [1, 2], "dtype": "O"}),
    "an order that repeats": param(GRADE, "levels", {"labels": ["low"] * 2, "dtype": "O"}),
    "a fill of the order": param(GRADE, "fill", "low"),
    "an infinite first day": param(SOLD, "origin", 1e999),
    "an unknown cycle": param(SOLD, "cycles", {"tuple": ["moon"]}),
    "cycles that are text": param(SOLD, "cycles", "year"),
    "elapsed, or not": param(SOLD, "elapsed", "maybe"),
    "a format of text": param(SOLD, "format", "day first"),
    "a reason that is none": param(NONE, "reason", 7),
    "a negative width": param(CODE, "width", -3),
    "a width of text": param(CODE, "width", "wide"),
    "a huge width": param(CODE, "width", 2**40),
    "another width": param(CODE, "width", 8),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_columns(damage, path):
    with pytest.raises(ModelFileError) as caught:
        load(rewrite(path, DAMAGE[damage]))
    assert "changed.mercer" in str(caught.value)


def test_every_kind_of_column_survives(path):
    document, _ = read(path)
    kinds = [part["type"] for part in document["columns"]["params"]["encoders"]["tuple"]]
    assert len(set(kinds)) == 7
    model = load(path)
    assert isinstance(model.columns_, TableEncoder)
    assert np.isfinite(model.predict(TABLE)).all()


@pytest.mark.filterwarnings("ignore:of 80 rows")
def test_any_entry_replaced_by_nonsense_is_refused_or_harmless(path):
    """Every value of the description in turn: a ModelFileError, or a model that predicts."""
    document, _ = read(path)

    def places(part, keys=()):
        entries = part.items() if isinstance(part, dict) else enumerate(part)
        for key, value in entries:
            yield *keys, key
            if isinstance(value, (dict, list)):
                yield from places(value, (*keys, key))

    count = 0
    for keys in list(places(document["columns"], ("columns",))):
        for nonsense in (None, -1, 1e999, "x", [], {"tuple": []}):
            changed = rewrite(path, put(*keys, nonsense))
            try:
                model = load(changed)
            except ModelFileError:
                count += 1
                continue
            assert model.predict(TABLE).shape == (N,)
    assert count > 300


# -- every kind of column, and every encoder, comes back ------------------------------------------

ROWS = 240
draw = np.random.default_rng(1)
COMMON = draw.choice(["AA", "B6", "UA"], ROWS)
LEVELS = {
    "few levels": COMMON,
    "rare levels": np.where(np.arange(ROWS) < 4, ["OO", "YV"] * 120, COMMON),
    "one rare level": np.where(np.arange(ROWS) == 3, "OO", COMMON),
    "only rare levels": np.array([f"L{n % 60:02}" for n in range(ROWS)]),
    "many levels": draw.choice([f"L{n:02}" for n in range(40)], ROWS),
    "two levels": draw.choice(["no", "yes"], ROWS),
}
MINUTES = np.datetime64("2021-03-01T06:00") + draw.integers(0, 50_000, ROWS)
OTHERS = {
    "numbers": draw.normal(size=ROWS),
    "whole numbers": draw.integers(0, 9, ROWS),
    "booleans": draw.random(ROWS) < 0.5,
    "amounts": [f"${n:,}" for n in draw.integers(0, 9000, ROWS)],
    "percentages": [f"{n} %" for n in draw.integers(0, 99, ROWS)],
    "decimal commas": [f"{n},5" for n in draw.integers(0, 99, ROWS)],
    "days": MINUTES.astype("M8[D]").astype("M8[s]"),
    "times": MINUTES.astype("M8[s]"),
    "days as text": [f"{day.day}.{day.month}.{day.year}" for day in MINUTES.tolist()],
    "identifiers": [f"row {n}" for n in range(ROWS)],
    "a constant": ["same"] * ROWS,
    "ordered": pd.Categorical(COMMON, ["B6", "AA", "UA"], ordered=True),
    "unused levels": pd.Categorical(COMMON, ["none", "AA", "B6", "UA"]),
}
COLUMNS = [
    *((name, values, kind) for name, values in OTHERS.items() for kind in ("auto",)),
    ("days", OTHERS["days"], "number"),
    ("whole numbers", OTHERS["whole numbers"], "one_hot"),
    ("numbers", OTHERS["numbers"], "drop"),
    *(
        (name, values, kind)
        for name, values in LEVELS.items()
        for kind in ("auto", "category", "one_hot", "target", "hash", "ordered")
    ),
    ("few levels", COMMON, ["UA", "AA", "B6", "none"]),
]


@pytest.mark.filterwarnings("ignore:of 240 rows", "ignore:the dates of column")
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize(
    ("values", "kind"),
    [(values, kind) for _, values, kind in COLUMNS],
    ids=[f"{name}, {kind}" for name, _, kind in COLUMNS],
)
def test_every_column_comes_back(values, kind, gaps, tmp_path):
    column = pd.Series(values)
    if gaps:
        column = column.astype(object if column.dtype == bool else column.dtype)
        column = column.mask(np.arange(ROWS) % 9 == 4)
    table = pd.DataFrame({"x": column, "z": draw.normal(size=ROWS)})
    new = table.assign(x=column.astype(object).where(np.arange(ROWS) % 7 > 0, "of no level"))
    model = KernelRegressor(
        Gaussian(2.0),
        Landmarks(8),
        1e-3,
        metric=None,
        scale=None,
        columns="auto" if kind == "auto" else {"x": kind},
    ).fit(table, draw.normal(size=ROWS))
    again = load(save(model, tmp_path / "model"))
    for rows in (table, new):
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.columns_.encoding_.describe() == model.columns_.encoding_.describe()


def test_a_model_that_cannot_be_read_is_not_written(path, monkeypatch):
    """Whatever the fault of an encoder, the file of before stays."""
    before, model = path.read_bytes(), load(path)
    kind = model.columns_.encoding_.encoders[KIND]
    monkeypatch.setitem(vars(kind), "levels", np.array(["a", "a", "c"], dtype=object))
    with pytest.raises(ValueError, match=r"was not written.*levels must be distinct"):
        save(model, path)
    assert path.read_bytes() == before


def test_classes_with_lone_surrogates_come_back(tmp_path):
    """As in text that was read with errors="surrogateescape"."""
    y = np.array(["caf\udce9", "\ud83d\x00", "é🙂"] * 20, dtype=object)
    model = KernelClassifier(Gaussian(2.0), Landmarks(8), 1e-3, metric=None).fit(TABLE[:60], y)
    again = load(save(model, tmp_path / "model"))
    assert again.classes_.tolist() == model.classes_.tolist() == sorted(set(y))


@pytest.mark.parametrize(
    ("rare", "fill", "message"),
    [(["b", "c"], 0, "distinct"), (["c", "c"], 0, "distinct"), (["c", "d"], 2, "fill must be")],
)
def test_a_level_is_frequent_or_rare(rare, fill, message):
    frequent = np.array(["a", "b"], dtype=object)
    check_state(OneHotColumn(frequent, np.array(["c", "d"], dtype=object), 1))
    with pytest.raises(ValueError, match=message):
        check_state(OneHotColumn(frequent, np.array(rare, dtype=object), fill))
