"""What is learned of a table is a sum: of blocks of any size, of any shards, in any order."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRegressor, Landmarks, TableEncoder
from mercer.columns import column_statistics, table_sums
from mercer.columns.column_statistics import LevelSums, NumberSums
from mercer.columns.learning import Options, learned_encoders
from mercer.columns.row_folds import DEALS, RowIdentity, row_hashes
from mercer.columns.table_sums import TableSums, with_text
from mercer.rows.frames import table_of
from mercer.rows.table import Coded, Table, as_text

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
WORDS = ["a", "b", "B", "red wine", "1,5", "0", "7", "2024-01-02", "3/4/2024", "é", "$5"]

columns = st.sampled_from(["number", "whole", "text", "written", "dates", "written dates", "mixed"])


def column_of(kind, n, rng, gaps):
    if kind == "number":
        values = rng.normal(1e3, 5.0, n).astype(object)
    elif kind == "whole":
        values = rng.integers(-3, 3, n).astype(object)
    elif kind == "text":
        values = rng.choice(np.array(WORDS, dtype=object), n)
    elif kind == "written":
        values = np.array([f"${value:,.2f}" for value in rng.normal(0, 4e3, n)], dtype=object)
    elif kind == "dates":
        values = np.array(
            pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
        )
        values = pd.Series(values).astype(object).to_numpy()
    elif kind == "written dates":
        days, months = rng.integers(1, 29, n), rng.integers(1, 13, n)
        values = np.array(
            [f"{d}.{m}.2021" for d, m in zip(days, months, strict=True)], dtype=object
        )
    else:
        values = np.array([1, "x", 2.5, "7"], dtype=object)[rng.integers(0, 4, n)]
    values = values.copy()
    values[rng.random(n) < gaps] = None
    return values


@st.composite
def tables(draw):
    """A table of any columns as text, dates and numbers; y with gaps; weights."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kinds = draw(st.lists(columns, min_size=1, max_size=4))
    gaps = draw(st.sampled_from([0.0, 0.2, 1.0]))
    X = np.column_stack([column_of(kind, n, rng, gaps) for kind in kinds])
    Y = rng.normal(size=(n, draw(st.integers(1, 3))))
    Y[rng.random(n) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    weight = draw(st.sampled_from([None, "whole", "any"]))
    if weight is not None:
        weight = rng.integers(1, 4, n).astype(float) if weight == "whole" else 0.1 + rng.random(n)
    return table_of(X.astype(object)), weight, Y


def sums_of(table, weight, Y, rows=None):
    rows = slice(None) if rows is None else rows
    weight = None if weight is None else weight[rows]
    identity = RowIdentity.of(table[rows], Y[rows], np.arange(table.n_rows)[rows])
    return TableSums.of(table[rows], weight, Y[rows], identity=identity)


def summed(table, weight, Y, parts):
    total = None
    for rows in parts:
        part = sums_of(table, weight, Y, rows)
        total = part if total is None else total + part
    return total


def same(one, other):
    """Counts exactly, sums to 1e-12."""
    assert one.rows == other.rows
    assert list(one.columns) == list(other.columns)
    np.testing.assert_array_equal(one.hashes, other.hashes)
    for name, left in one.columns.items():
        right = other.columns[name]
        assert type(left) is type(right)
        assert (left.rows, left.gaps) == (right.rows, right.gaps)
        if isinstance(left, LevelSums):
            left, right = left.sorted(), right.sorted()
            assert left.levels.tolist() == right.levels.tolist()
            assert (left.styles, left.formats) == (right.styles, right.formats)
            assert (left.hashed, left.ordered) == (right.hashed, right.ordered)
            np.testing.assert_array_equal(left.counts, right.counts)
            np.testing.assert_allclose(left.sums, right.sums, **CLOSE)
            continue
        if not isinstance(left, NumberSums):
            assert left.timed == right.timed
            left, right = left.days, right.days
        assert (left.low, left.high, left.whole) == (right.low, right.high, right.whole)
        np.testing.assert_allclose(
            [left.weight, left.mean, left.square], [right.weight, right.mean, right.square],
            rtol=1e-12, atol=1e-12 * max(1.0, right.weight),
        )  # fmt: skip


def encoders_of(sums, **options):
    try:
        return learned_encoders(sums, Options(max_levels=4, **options))
    except ValueError as error:
        return str(error)


def same_encoders(one, other):
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert {name: (type(e), e.describe()) for name, e in one.items()} == {
        name: (type(e), e.describe()) for name, e in other.items()
    }
    for left, right in zip(one.values(), other.values(), strict=True):
        for field, value in vars(left).items():
            if field.startswith("_"):
                continue
            if np.asarray(value).dtype.kind == "f":
                np.testing.assert_allclose(value, getattr(right, field), rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(value, getattr(right, field))


@given(tables(), st.integers(1, 13))
def test_blocks_of_any_size_add_up(rows, size):
    table, weight, Y = rows
    whole = sums_of(*rows)
    parts = [slice(at, at + size) for at in range(0, table.n_rows, size)]
    found = summed(table, weight, Y, parts)
    same(found, whole)
    same_encoders(encoders_of(found), encoders_of(whole))


@given(tables(), st.sampled_from([1, 7, 40]), st.integers(0, 99))
def test_shards_in_any_order_add_up(rows, shards, seed):
    table, weight, Y = rows
    rng = np.random.default_rng(seed)
    at = rng.integers(0, shards, table.n_rows)
    parts = [np.flatnonzero(at == number) for number in rng.permutation(shards)]
    found = summed(table, weight, Y, parts)
    same(found, sums_of(*rows))
    same_encoders(encoders_of(found), encoders_of(sums_of(*rows)))


@given(tables())
def test_addition_is_associative(rows):
    table, weight, Y = rows
    cuts = np.array_split(np.arange(table.n_rows), 3)
    a, b, c = (sums_of(table, weight, Y, part) for part in cuts)
    same((a + b) + c, a + (b + c))
    same((a + b) + c, (c + a) + b)


@given(tables())
def test_a_weight_of_2_is_a_repeated_row(rows):
    table, _, Y = rows
    weight = np.random.default_rng(0).integers(1, 4, table.n_rows)
    weighted = sums_of(table, weight.astype(float), Y)
    again = np.repeat(np.arange(table.n_rows), weight)
    repeated = TableSums.of(table[again], None, Y[again])
    for name, left in weighted.columns.items():
        right = repeated.columns[name]
        if isinstance(left, LevelSums):
            content = DEALS.index("content")  # a repeated row has numbers of its own
            left, right = left.sorted().sums[content], right.sorted().sums[content]
            np.testing.assert_allclose(left, right, **CLOSE)
        else:
            left, right = getattr(left, "days", left), getattr(right, "days", right)
            np.testing.assert_allclose(left.weight, right.weight, rtol=1e-12)
            np.testing.assert_allclose(left.mean, right.mean, rtol=1e-12)
            np.testing.assert_allclose(left.square, right.square, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from([1, 7, 40]), st.integers(2, 12))
def test_levels_beyond_the_most_are_hashed_alike_in_any_shards(seed, shards, most):
    rng = np.random.default_rng(seed)
    n = 120
    text = Coded.of([f"L{level}" for level in rng.integers(0, 9, n)])
    table, Y = Table({"k": text, "x": rng.normal(size=n)}), rng.normal(size=(n, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_statistics, "MOST_LEVELS", most)
        whole = sums_of(table, None, Y)
        assert whole.columns["k"].hashed == (len(np.unique(text.codes)) > most)
        at = rng.integers(0, shards, n)
        parts = [np.flatnonzero(at == number) for number in range(shards)]
        found = summed(table, None, Y, parts)
        same(found, whole)
        same_encoders(encoders_of(found), encoders_of(whole))


def test_hashed_levels_still_are_encoded_by_the_mean_of_y(monkeypatch):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 40, 2000)
    X = pd.DataFrame({"k": [f"L{number}" for number in level], "x": rng.normal(size=2000)})
    y = np.sin(level)
    exact = TableEncoder(max_levels=20).fit(X, y).transform(X)
    monkeypatch.setattr(column_statistics, "MOST_LEVELS", 10)
    encoder = TableEncoder().fit(X, y)
    assert "buckets" in encoder.encoding_.describe()[0][1]
    np.testing.assert_allclose(encoder.transform(X), exact, atol=1e-12)  # 40 of 4096 buckets
    new = pd.DataFrame({"k": ["never seen"], "x": [0.0]})
    mean_of_levels = y[np.unique(level, return_index=True)[1]].mean()  # there is no noise
    with pytest.warns(UserWarning, match="1 unknown"):
        assert encoder.transform(new)[0, 0] == pytest.approx(mean_of_levels)


@pytest.mark.parametrize("shards", [1, 7, 40])
def test_a_column_of_numbers_in_one_shard_and_text_in_another(shards):
    """Both as text: the same levels, whichever shard they came from."""
    rng = np.random.default_rng(1)
    n = 200
    values = rng.choice([0.1 + 0.2, 0.3, 1e300, 1e16, -7.0, 94103.0], n)
    number = Table({"x": values, "z": rng.normal(size=n)})
    Y = rng.normal(size=(n, 1))
    text = with_text(number, ["x"])
    whole = sums_of(text, None, Y)
    assert len(whole.columns["x"].levels) == 6
    found = None
    for part, rows in enumerate(np.array_split(np.arange(n), shards)):
        source = number if part % 2 else text
        shard = sums_of(with_text(source, ["x"]), None, Y, rows)
        found = shard if found is None else found + shard
    same(found, whole)


def test_numbers_as_text_read_as_the_same_numbers():
    values = np.array([0.1 + 0.2, 0.3, 1 / 3, 5e-324, 1.7e100, -0.0, 12345678.9, 2.0**53, -1e15])
    coded = as_text(values)
    assert len(set(coded.levels.tolist())) == len(coded.levels) == len(values)
    encoder = TableEncoder({"x": "number"}).fit(pd.DataFrame({"x": coded.values()}))
    np.testing.assert_array_equal(
        encoder.transform(pd.DataFrame({"x": coded.values()}))[:, 0], values + 0.0
    )


@pytest.mark.parametrize("shards", [None, 1, 7, 40])
def test_estimators_learn_the_same_encoding_over_shards(shards):
    rng = np.random.default_rng(2)
    n = 400
    X = pd.DataFrame(
        {
            "id": rng.permutation(n) + 17,
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "kind": rng.choice(["a", "b", None], n),
            "place": [f"P{number}" for number in rng.integers(0, 60, n)],
            "sold": rng.choice(["13.1.2020", "2.5.2021", "4.4.2022"], n),
        }
    )
    y = X["size"].fillna(0) + rng.normal(size=n)
    settings = {"kernel": "linear", "basis": Landmarks(20), "alpha": 1.0, "random_state": 0}
    settings |= {"metric": None, "scale": None}
    with pytest.warns(UserWarning, match="'id' is left out: it looks like an identifier"):
        whole = KernelRegressor(**settings).fit(X, y).columns_.encoding_
    with pytest.warns(UserWarning, match="'id' is left out: it looks like an identifier"):
        found = KernelRegressor(**settings, shards=shards).fit(X, y).columns_.encoding_
    assert found.describe() == whole.describe()
    assert (found.names, found.gaps, found.text) == (whole.names, whole.gaps, whole.text)
    same_encoders(dict(zip(found.names, found.encoders, strict=True)),
                  dict(zip(whole.names, whole.encoders, strict=True)))  # fmt: skip


def test_blocks_of_a_fit_are_many(monkeypatch):
    """A shard is read in blocks; the encoding does not depend on their size."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"k": rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 300)})
    X["x"] = rng.normal(size=300)
    y = rng.normal(size=300)
    settings = {"kernel": "linear", "basis": Landmarks(9), "alpha": 1.0, "random_state": 0}
    whole = KernelRegressor(**settings, metric=None).fit(X, y)
    monkeypatch.setattr(table_sums, "ROWS", 11)
    found = KernelRegressor(**settings, metric=None).fit(X, y)
    same_encoders(
        {"k": found.columns_.encoding_.encoders[0]}, {"k": whole.columns_.encoding_.encoders[0]}
    )
    np.testing.assert_allclose(found.predict(X), whole.predict(X), rtol=1e-9)


def test_zeros_and_gaps_of_any_bits_are_alike():
    minus = np.array([0.0, np.nan]).view(np.int64) ^ np.int64(-(2**63))  # the sign of each
    one, other = (Table({"x": x}) for x in (np.array([0.0, np.nan]), minus.view(np.float64)))
    np.testing.assert_array_equal(row_hashes(one), row_hashes(other))
