"""Pools as they are found: spaces in the header, semicolons, text, dates and gaps."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import ImportanceLabeller, KernelRegressor, MercerWarning
from mercer.columns.level_encoders import OneHotColumn
from mercer.kernels import InMetric
from mercer.labelling import LabelPool, join, read_sheet, write_sheet

N = 200
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.gamma(3.0, 40.0, N).round(1),
        "kind": RNG.choice(["flat", "house", "castle, old"], N),
        "street": [f"street {i}" for i in RNG.integers(0, 40, N)],
        "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 700, N), unit="D"),
        "name": [f"Ä{i:03d}" for i in RNG.permutation(N)],
    }
)
FRAME.loc[::9, "size"] = np.nan
FRAME.loc[::11, "kind"] = None
FEATURES = ["size", "kind", "street", "sold"]


def labeller(**settings):
    return ImportanceLabeller(budget=30, random_state=0, **settings)


def price(row):
    return float(FRAME["size"].fillna(100.0)[row])


def files(tmp_path):
    FRAME.to_csv(tmp_path / "comma.csv", index=False)
    FRAME.to_csv(tmp_path / "excel.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    FRAME.to_parquet(tmp_path / "pool.parquet", index=False)
    return [tmp_path / name for name in ("comma.csv", "excel.csv", "pool.parquet")]


def test_every_file_draws_the_same_rows_as_the_frame(tmp_path):
    wanted = labeller().fit(FRAME[FEATURES])
    encoders = dict(zip(FEATURES, wanted.columns_.encoding_.encoders, strict=True))
    assert isinstance(encoders["street"], OneHotColumn)
    assert isinstance(wanted.kernel_, InMetric)  # the columns have no common unit
    for path in files(tmp_path):
        pool = LabelPool(path, FEATURES, "name")
        found = labeller().fit(pool.source)
        np.testing.assert_array_equal(found.indices_, wanted.indices_)
        np.testing.assert_allclose(found.sample_weight_, wanted.sample_weight_, rtol=1e-9)
        sheet = write_sheet(found, pool, tmp_path / f"{path.stem}_sheet.csv")
        assert sheet.drawn.ids == FRAME.name[wanted.indices_].tolist()
        rows = FRAME.iloc[wanted.indices_]
        np.testing.assert_array_equal(np.array(sheet.shown["size"], dtype=float), rows["size"])
        assert [kind or None for kind in sheet.shown["kind"]] == [
            kind if isinstance(kind, str) else None for kind in rows.kind
        ]


@pytest.mark.parametrize("shards", [1, 3])
def test_shards_learn_the_same_columns(shards, tmp_path):
    wanted = labeller().fit(FRAME[FEATURES])
    for pool in (FRAME[FEATURES], LabelPool(files(tmp_path)[2], FEATURES).source):
        found = labeller(shards=shards).fit(pool)
        np.testing.assert_array_equal(found.indices_, wanted.indices_)
        np.testing.assert_allclose(found.probability_, wanted.probability_, rtol=1e-8)


def test_the_target_of_a_file_is_not_used(tmp_path):
    path = tmp_path / "pool.csv"
    FRAME[FEATURES].assign(price=np.arange(N)).to_csv(path, index=False)
    found = labeller().fit(path, "price")
    np.testing.assert_array_equal(found.indices_, labeller().fit(FRAME[FEATURES]).indices_)


def test_numbers_are_drawn_as_before(tmp_path):
    X = RNG.random((N, 3))
    wanted = labeller(columns=None).fit(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "pool.csv", index=False)
    for pool in (X, frame, LabelPool(tmp_path / "pool.csv").source):
        found = labeller().fit(pool)
        np.testing.assert_array_equal(found.probability_, wanted.probability_)


def test_gaps_are_filled_or_refused():
    X = RNG.random((N, 3))
    X[::5, 1] = np.nan
    found = labeller().fit(X)
    assert found.columns_.encoding_.feature_names == ["x0", "x1", "x1 missing", "x2"]
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        labeller(missing="error").fit(X)


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_comes_back_as_a_frame(library, tmp_path):
    frame = FRAME if library is pd else pl.from_pandas(FRAME)
    pool = LabelPool(frame, FEATURES, "name")
    sheet = write_sheet(labeller().fit(pool.source), pool, tmp_path / "sheet.csv")
    drawn = sheet.drawn
    labelled = sheet.with_labels({i: price(r) for i, r in zip(drawn.ids, drawn.rows, strict=True)})
    X, y, weight = join(frame, labelled)
    assert isinstance(X, library.DataFrame)
    assert list(X.columns) == FEATURES
    model = KernelRegressor(random_state=0).fit(X, y, weight)
    assert model.feature_names_in_.tolist() == FEATURES
    changed = FRAME.copy()
    changed.loc[3, "kind"] = "tent"
    with pytest.raises(ValueError, match="it has changed: it has other values"):
        join(changed, labelled)


def test_the_rows_of_a_file_fit_a_model(tmp_path):
    path = files(tmp_path)[1]
    pool = LabelPool(path, ids="name", exclude=["street"])
    sheet = write_sheet(labeller().fit(pool.source), pool, tmp_path / "sheet.parquet")
    assert sheet.drawn.columns == ["size", "kind", "sold"]
    labels = {i: price(r) for i, r in zip(sheet.drawn.ids, sheet.drawn.rows, strict=True)}
    X, y, weight = join(path, read_sheet(tmp_path / "sheet.parquet").with_labels(labels))
    model = KernelRegressor(random_state=0).fit(X, y, weight)
    assert model.feature_names_in_.tolist() == ["size", "kind", "sold"]
    assert model.predict(path).shape == (N,)


def test_spaces_in_the_header(tmp_path):
    path = tmp_path / "pool.csv"
    rows = "".join(f"n{i}, {a:.6f}, {b:.6f}\n" for i, (a, b) in enumerate(RNG.random((N, 2))))
    path.write_text("id, a, b\n" + rows)
    pool = LabelPool(path, ids="id")
    assert pool.source.feature_names == ["a", "b"]
    shown = pool.look(np.array([0, 7]))
    assert list(shown) == ["a", "b"]
    np.testing.assert_array_equal(
        np.column_stack(list(shown.values())), pool.source.as_numbers().take(np.array([0, 7]))
    )


def test_a_feature_named_as_the_row_numbers(tmp_path):
    frame = pd.DataFrame({"row": RNG.random(N), "b": RNG.random(N)})
    frame.to_csv(tmp_path / "pool.csv", index=False)
    for pool in (LabelPool(tmp_path / "pool.csv"), LabelPool(frame)):
        found = write_sheet(labeller().fit(pool.source), pool, tmp_path / f"{id(pool)}.csv")
        assert list(found.shown) == ["pool_row", "b"]
        np.testing.assert_allclose(found.shown["pool_row"], frame.row[found.drawn.rows])


def test_an_index_without_a_name_and_postal_codes(tmp_path):
    path = tmp_path / "pool.csv"
    pd.DataFrame({"zip": ["01234"] * N, "b": RNG.random(N)}).to_csv(path)
    pool = LabelPool(path, exclude=["unnamed"])
    assert pool.source.feature_names == ["zip", "b"]
    assert pool.look(np.array([5]))["zip"] == ["01234"]


def test_a_given_delimiter_is_used(tmp_path):
    path = tmp_path / "pool.csv"
    FRAME[["size", "name"]].to_csv(path, index=False, sep="~")
    pool = LabelPool(path, ids="name", delimiter="~")
    assert pool.source.feature_names == ["size"]
    with pytest.raises(ValueError, match="has no id column 'name'"):
        LabelPool(path, ids="name")


def test_rows_of_a_table_without_weights_are_warned_of():
    found = labeller().fit(FRAME[FEATURES])
    rows, y = FRAME[FEATURES].iloc[found.indices_], [price(row) for row in found.indices_]
    with pytest.warns(MercerWarning, match="without their weights"):
        KernelRegressor().fit(rows, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*without their weights")
        KernelRegressor().fit(rows, y, found.sample_weight_)
