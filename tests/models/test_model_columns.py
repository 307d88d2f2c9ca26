"""A damaged description of the columns gives a ModelFileError, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from model_files import put, read, rewrite, tensor

from mercer import Gaussian, KernelRegressor, Landmarks, ModelFileError, TableEncoder, load, save

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
