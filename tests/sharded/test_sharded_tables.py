"""A mixed table gives the same encoding and the same model, wherever its rows come from."""

import pickle

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    load,
    save,
)

N = 240
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(3.0, 1.0, N)),
        "kind": np.array(["a", "b", "c", None], dtype=object)[rng.integers(0, 4, N)],
        "place": [f"P{number}" for number in rng.integers(0, 40, N)],
        "sold": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 20, N), "D"),
        "paid": [f"${value:,.2f}" for value in rng.uniform(995, 1005, N)],
        "flag": rng.random(N) < 0.5,
    }
)
y = TABLE["place"].str.len() + TABLE["flag"] + 0.3 * rng.normal(size=N)
FULL = TABLE.assign(
    y=y, label=np.where(y > 3.4, "high", "low"), query=np.repeat(np.arange(N // 8), 8)
)
SETTINGS = {"kernel": Gaussian(6.0), "alpha": 1e-3, "dtype": "float64", "random_state": 0}
SETTINGS |= {"metric": None, "scale": None, "columns": {"place": "target"}}
FITS = {  # the estimator, its targets and how it is fitted
    "regressor": (KernelRegressor, "y", {}),
    "classifier": (KernelClassifier, "label", {}),
    "ranker": (KernelRanker, "y", {"qid": "query"}),
}


def fitted(name, X, basis, given=None, **settings):
    """Fit to features with arrays, or, without ``given``, to a table with named columns."""
    cls, target, named = FITS[name]
    model = cls(basis=basis, **{**SETTINGS, **settings})
    if given is None:
        return model.fit(X, target, **named)
    return model.fit(X, given[target], **{key: given[column] for key, column in named.items()})


def columns_for(name):
    """Features, target and query of a fit, as a table."""
    target, query = FITS[name][1], FITS[name][2].get("qid")
    return FULL[[*TABLE.columns, target, *([query] if query else [])]]


@pytest.fixture(scope="module", params=FITS)
def whole(request):
    """A name, the model in one place, and its landmarks."""
    name = request.param
    first = fitted(name, TABLE, Landmarks(25), FULL)
    points = Landmarks(sampling=first.basis_.landmarks_)
    return name, fitted(name, TABLE, points, FULL), points


def decide(model, X=TABLE):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)


def check_same(found, whole, predictions=True):
    mine, theirs = found.columns_.encoding_, whole.columns_.encoding_
    assert [words for _, words in mine.describe()] == [words for _, words in theirs.describe()]
    assert mine.gaps == theirs.gaps
    for one, other in zip(mine.encoders, theirs.encoders, strict=True):
        assert type(one) is type(other)
        for field in ("values", "by_fold", "prior", "fill", "origin"):
            if hasattr(one, field) and not callable(getattr(one, field)):
                np.testing.assert_allclose(
                    getattr(one, field), getattr(other, field), rtol=1e-12, atol=1e-12
                )
    wanted = decide(whole)
    np.testing.assert_allclose(
        decide(found) if predictions else wanted, wanted, rtol=0, atol=1e-8 * np.ptp(wanted)
    )


@pytest.mark.parametrize("of", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_data_frames(whole, of):
    name, model, points = whole
    found = fitted(name, of(TABLE), points, FULL)
    check_same(found, model)
    np.testing.assert_allclose(decide(found, of(TABLE)), decide(model), atol=1e-8)


@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_data_frames_with_named_columns(whole, of):
    name, model, points = whole
    check_same(fitted(name, of(columns_for(name)), points), model)


def test_an_array_of_objects(whole):
    name, model, points = whole
    rows = TABLE.astype(object).to_numpy()
    found = fitted(name, rows, points, FULL, columns={"x2": "target"})
    np.testing.assert_allclose(decide(found, rows), decide(model), atol=1e-8)
    check_same(found, model, predictions=False)


def write(kind, table, folder):
    cuts = np.array_split(np.arange(len(table)), 4)
    parts = [table.iloc[rows] for rows in cuts]
    if kind == "csv":
        table.to_csv(folder / "a.csv", index=False)
        return folder / "a.csv"
    if kind == "parquet":
        table.to_parquet(folder / "a.parquet", index=False, row_group_size=50)
        return folder / "a.parquet"
    written = [folder / f"{number}.{kind.split()[-1]}" for number in range(4)]
    for part, path in zip(parts, written, strict=True):
        part.to_csv(path, index=False) if "csv" in kind else part.to_parquet(path, index=False)
    return folder if kind == "folder of parquet" else written


KINDS = ["csv", "parquet", "folder of parquet", "list of csv", "list of parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_files(whole, kind, tmp_path):
    name, model, points = whole
    source = write(kind, columns_for(name), tmp_path)
    found = fitted(name, source, points)
    check_same(found, model)
    if not isinstance(source, list):
        np.testing.assert_allclose(decide(found, source), decide(model), atol=1e-8)


@pytest.mark.parametrize("shards", [1, 7])
def test_arrays_and_files_over_shards(whole, shards, engine, tmp_path):
    name, model, points = whole
    if name == "ranker":
        return  # a query is in one shard: see the next test
    check_same(fitted(name, TABLE, points, FULL, shards=shards, engine=engine), model)
    source = write("parquet", columns_for(name), tmp_path)
    check_same(fitted(name, source, points, shards=shards, engine=engine), model)


def test_lists_of_files_and_dask_frames_over_shards(whole, engine, tmp_path):
    name, model, points = whole
    table = columns_for(name)
    files = write("list of parquet", table, tmp_path)
    check_same(fitted(name, files, points, engine=engine), model)
    rows = dd.from_pandas(table, npartitions=3)
    check_same(fitted(name, rows, points, engine=engine), model)


def test_rows_that_are_encoded_in_every_pass(whole, engine, tmp_path, monkeypatch):
    name, model, points = whole
    monkeypatch.setattr("mercer.columns.encoded_source.EAGER_BYTES", 0)
    check_same(fitted(name, TABLE, points, FULL), model)
    check_same(fitted(name, write("csv", columns_for(name), tmp_path), points), model)


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_a_checkpoint_has_what_was_learned_of_the_columns(name, engine, tmp_path):
    basis = Landmarks(25)
    settings = {"shards": 4, "engine": engine, "checkpoint": tmp_path / "kept"}
    first = fitted(name, TABLE, basis, FULL, **settings)
    for path in sorted((tmp_path / "kept").glob("*.safetensors"))[-2:]:
        path.unlink()  # as if the fit had been stopped before
    again = fitted(name, TABLE, basis, FULL, **settings)
    np.testing.assert_array_equal(decide(again), decide(first))
    assert again.columns_.encoding_.describe() == first.columns_.encoding_.describe()


def test_rows_in_any_order(whole):
    name, model, points = whole
    order = np.random.default_rng(5).permutation(N)
    if name == "ranker":  # rows of a query stay together
        order = np.arange(N).reshape(-1, 8)[np.random.default_rng(5).permutation(N // 8)].ravel()
    shuffled = FULL.iloc[order].reset_index(drop=True)
    check_same(fitted(name, shuffled[TABLE.columns], points, shuffled), model)


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_a_weight_of_2_is_a_repeated_row(name, engine):
    weight = np.random.default_rng(6).integers(1, 4, N)
    cls, target, _ = FITS[name]
    again = FULL.loc[np.repeat(np.arange(N), weight)].reset_index(drop=True)
    settings = {**SETTINGS, "basis": Landmarks(25)}
    points = cls(**settings).fit(TABLE, FULL[target]).basis_.landmarks_
    settings["basis"] = Landmarks(sampling=points)
    repeated = cls(**settings).fit(again[TABLE.columns], again[target])
    for more in ({}, {"shards": 5, "engine": engine}):
        found = cls(**settings, **more).fit(TABLE, FULL[target], weight)
        mine, theirs = (
            np.outer(part.columns_.encoding_.encoders[2].values, part._targets.scale)
            + getattr(part._targets, "origin", 0.0)  # that of y without weights
            for part in (found, repeated)
        )
        # Copies may be in other folds than one row, and values stay within those of the folds.
        low, high = max(mine.min(), theirs.min()), min(mine.max(), theirs.max())
        assert np.mean((mine > low) & (mine < high)) > 0.9
        clipped = [np.clip(part, low, high) for part in (mine, theirs)]
        np.testing.assert_allclose(*clipped, rtol=1e-10, atol=1e-10)
    if name == "classifier":
        settings |= {"columns": {"place": "one_hot"}, "basis": Landmarks(25)}
        settings["basis"] = Landmarks(
            sampling=cls(**settings).fit(TABLE, FULL[target], weight).basis_.landmarks_
        )
        repeated = cls(**settings).fit(again[TABLE.columns], again[target])
        for more in ({}, {"shards": 5, "engine": engine}):
            found = cls(**settings, **more).fit(TABLE, FULL[target], weight)
            np.testing.assert_allclose(decide(found), decide(repeated), atol=1e-7)


def test_a_partition_without_rows_and_one_of_gaps(engine):
    table = FULL[[*TABLE.columns, "y"]].copy()
    table.loc[:80, ["kind", "size"]] = None
    points = KernelRegressor(basis=Landmarks(25), **SETTINGS).fit(table, "y").basis_.landmarks_
    settings = {**SETTINGS, "basis": Landmarks(sampling=points)}
    whole = KernelRegressor(**settings).fit(table, "y")
    rows = dd.from_pandas(table.assign(i=np.arange(N) - 80), npartitions=3)
    rows = rows[rows["i"] > -81].drop(columns="i")
    check_same(KernelRegressor(**settings, engine=engine).fit(rows, "y"), whole)
    kept = table.iloc[80:]
    rows = dd.from_pandas(table.assign(i=np.arange(N)), npartitions=3)
    rows = rows[rows["i"] >= 80].drop(columns="i")  # no row of the first partition
    found = KernelRegressor(**settings, engine=engine).fit(rows, "y")
    whole = KernelRegressor(**settings).fit(kept, "y")
    with pytest.warns(UserWarning, match="'place' has 1 unknown"):
        check_same(found, whole)


def test_a_column_of_numbers_in_one_file_and_text_in_another(engine, tmp_path):
    table = FULL[["size", "place", "y"]].copy()
    table["size"] = table["size"].fillna(2.0).round(1)
    one, two = table.iloc[:100], table.iloc[100:].astype({"size": str})
    paths = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for part, path in zip((one, two), paths, strict=True):
        part.to_parquet(path, index=False)
    settings = {**SETTINGS, "basis": Landmarks(20)}
    found = KernelRegressor(**settings, engine=engine).fit(paths, "y")
    whole = KernelRegressor(**settings).fit(table.astype({"size": str}), "y")
    for mine, theirs in zip(
        found.columns_.encoding_.encoders, whole.columns_.encoding_.encoders, strict=True
    ):
        assert mine.describe() == theirs.describe()
    assert found.columns_.encoding_.describe()[0] == ("size", "number (decimal points)")


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_rows_that_are_added_and_forgotten_leave_no_trace(name):
    target = FITS[name][1]
    basis = Landmarks(30)
    first, more = slice(0, 160), slice(160, N)
    model = fitted(name, TABLE[first], basis, FULL[first])
    before = decide(model)
    model.partial_fit(TABLE[more], FULL[target][more])
    assert np.abs(decide(model) - before).max() > 1e-3
    model.forget(TABLE[more], FULL[target][more])
    np.testing.assert_allclose(decide(model), before, atol=1e-8)
    # rows of the fit itself: their folds are known again
    some = slice(0, 40)
    model.forget(TABLE[some], FULL[target][some])
    model.partial_fit(TABLE[some], FULL[target][some])
    np.testing.assert_allclose(decide(model), before, atol=1e-8)


@pytest.mark.parametrize("source", ["frame", "parquet", "dask"])
def test_rows_without_a_label(source, engine, tmp_path):
    table = FULL[[*TABLE.columns, "y"]].copy()
    table.loc[::5, "y"] = np.nan
    known = table[table["y"].notna()]
    basis = KernelRegressor(basis=Landmarks(25), **SETTINGS).fit(known, "y").basis_.landmarks_
    settings = {**SETTINGS, "basis": Landmarks(sampling=basis)}
    whole = KernelRegressor(**settings).fit(known, "y")
    used = KernelRegressor(**settings, unlabelled="use").fit(table, "y")
    X = {
        "frame": lambda: table,
        "parquet": lambda: write("parquet", table, tmp_path),
        "dask": lambda: dd.from_pandas(table, npartitions=4),
    }[source]()
    with pytest.warns(UserWarning, match="48 of 240 rows have no label"):
        found = KernelRegressor(**settings, engine=engine).fit(X, "y")
    check_same(found, whole)
    found = KernelRegressor(**settings, unlabelled="use", engine=engine).fit(X, "y")
    check_same(found, used)
    assert found.columns_.encoding_.gaps != whole.columns_.encoding_.gaps


def test_a_warm_start_goes_on_with_the_same_columns():
    settings = {**SETTINGS, "basis": Landmarks(20), "warm_start": True}
    model = KernelRegressor(**settings).fit(TABLE, y)
    before = model.columns_.encoding_.describe()
    model.set_params(alpha=1e-1).fit(TABLE, y)
    assert model.columns_.encoding_.describe() == before
    cold = KernelRegressor(**{**settings, "alpha": 1e-1, "warm_start": False}).fit(TABLE, y)
    np.testing.assert_allclose(decide(model), decide(cold), rtol=1e-8)


@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_rows_without_a_label_apart(of):
    known, rest = TABLE[:180], TABLE[180:]
    missing = np.append(FULL["y"][:180], np.full(60, np.nan))
    basis = Landmarks(25)
    whole = KernelRegressor(basis=basis, unlabelled="use", **SETTINGS).fit(TABLE, missing)
    points = Landmarks(sampling=whole.basis_.landmarks_)
    whole = KernelRegressor(basis=points, unlabelled="use", **SETTINGS).fit(TABLE, missing)
    model = KernelRegressor(basis=points, **SETTINGS)
    found = model.fit(of(known), FULL["y"][:180], X_unlabelled=of(rest))
    assert found.feature_names_in_.tolist() == TABLE.columns.tolist()
    check_same(found, whole)


def test_saved_and_loaded(whole, tmp_path):
    _, model, _ = whole
    new = TABLE.copy()
    new.loc[3, "kind"] = "never seen"
    with pytest.warns(UserWarning, match="'kind' has 1 unknown"):
        wanted = decide(model, new)
    for again in (load(save(model, tmp_path / "model")), pickle.loads(pickle.dumps(model))):
        with pytest.warns(UserWarning, match="'kind' has 1 unknown"):
            np.testing.assert_array_equal(decide(again, new), wanted)
        assert again.columns_.encoding_.describe() == model.columns_.encoding_.describe()
        np.testing.assert_array_equal(
            again.columns_.transform(TABLE), model.columns_.transform(TABLE)
        )


def test_rows_can_be_added_to_a_loaded_model(tmp_path):
    model = fitted("regressor", TABLE[:160], Landmarks(20), FULL[:160])
    again = load(save(model, tmp_path / "model", moments=True))
    for each in (model, again):
        each.partial_fit(TABLE[160:], FULL["y"][160:])
    np.testing.assert_allclose(decide(again), decide(model), rtol=1e-10)
