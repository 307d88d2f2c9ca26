"""Columns of new rows are taken by name: in any order, with others, and missing ones are named."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dask.dataframe import from_pandas

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    TableEncoder,
    load,
    open_rows,
    save,
)
from mercer.rows import ArraySource

SETTINGS = {"kernel": Gaussian(2.0), "alpha": 1e-3, "metric": None}
rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
TABLE = NUMBERS.assign(town=np.tile(["Bath", "Ely", "York"], 20), one=1.0)
Y = pd.Series(NUMBERS["a"] + 2 * NUMBERS["b"], name="price")
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}
KINDS = {
    "table": (TABLE, {}),
    "numbers": (NUMBERS, {}),
    "as given": (NUMBERS, {"columns": None}),
}


def fitted(kind, **more):
    frame, settings = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return KernelRegressor(**SETTINGS, **settings, **more).fit(frame, Y), frame


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.filterwarnings("error")
def test_in_any_order_and_with_the_target(kind, library, tmp_path):
    model, frame = fitted(kind)
    expected = model.predict(frame)
    new = LIBRARIES[library](frame[frame.columns[::-1]].assign(price=Y))
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(load(save(model, tmp_path / "m")).predict(new), expected)
    low, high = model.predict_interval(new).T
    assert (low < high).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_other_columns_are_ignored_with_one_warning(kind, library):
    model, frame = fitted(kind)
    new = LIBRARIES[library](frame.assign(id="x", note=[[1]] * 60))
    with pytest.warns(UserWarning, match="did not have are ignored: 'id', 'note'") as caught:
        found = model.predict(new)
    assert len(caught) == 1
    np.testing.assert_array_equal(found, model.predict(frame))


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_are_taken_by_name_with_one_warning(kind):
    model, frame = fitted(kind)
    new = from_pandas(frame[frame.columns[::-1]].assign(price=Y, id="x"), npartitions=3)
    with pytest.warns(UserWarning, match="did not have are ignored: 'id'$") as caught:
        found = model.predict(new).compute(scheduler="synchronous")
    assert len(caught) == 1
    np.testing.assert_array_equal(found, model.predict(frame))
    with pytest.raises(ValueError, match="X has no columns of the fit 'a', 'c'"):
        model.predict(new[["b"]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_columns_are_named_together(kind, library):
    model, frame = fitted(kind)
    new = LIBRARIES[library](frame.drop(columns=["a", "c"]).assign(C=1.0))
    words = "X has no columns of the fit 'a', 'c'; it must be one of 'b'"
    with pytest.raises(ValueError, match=words):
        model.predict(new)


@pytest.mark.filterwarnings("error")
def test_a_column_that_the_fit_left_out_may_be_missing():
    model, frame = fitted("table")
    assert "one" in model.columns_.encoding_.dropped
    np.testing.assert_array_equal(model.predict(frame.drop(columns="one")), model.predict(frame))


@pytest.mark.filterwarnings("error")
def test_targets_weights_and_queries_of_the_fit_are_no_surprise(tmp_path):
    frame = TABLE.assign(y=Y, w=1.0 + (Y > 0), q=np.arange(60) // 10)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    models = [
        KernelRegressor(**SETTINGS).fit(frame.drop(columns="q"), "y", "w"),
        KernelRegressor(**SETTINGS).fit(TABLE, frame[["y"]], frame["w"]),
        KernelRegressor(**SETTINGS).fit(
            open_rows(tmp_path / "rows.csv", "y", "w", ["a", "town"], raw=True)
        ),
        KernelRanker(**SETTINGS).fit(TABLE, frame["y"], frame["q"], frame["w"]),
        KernelClassifier(**SETTINGS).fit(TABLE, (Y > 0).rename("y"), frame["w"]),
    ]
    for model in models:
        assert {"y", "w"} <= set(model._roles)
        new = frame if "q" in model._roles else frame.drop(columns="q")
        if len(model.feature_names_in_) < TABLE.shape[1]:
            new = new[["w", "y", "town", "a"]]
        assert len(load(save(model, tmp_path / "m")).predict(new)) == 60


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_taken_by_name(kind):
    frame, settings = KINDS[kind]
    settings = {**SETTINGS, **settings, "basis": Landmarks(20), "random_state": 0, "scale": None}
    batches = frame.iloc[:40], frame.iloc[40:]
    expected = KernelRegressor(**settings).partial_fit(batches[0], Y[:40])
    expected.partial_fit(batches[1], Y[40:])
    found = KernelRegressor(**settings).partial_fit(batches[0], Y[:40])
    found.partial_fit(batches[1][frame.columns[::-1]], Y[40:])
    np.testing.assert_array_equal(found.predict(frame), expected.predict(frame))
    with pytest.raises(ValueError, match="no column of the fit 'b'"):
        found.partial_fit(batches[1].drop(columns="b"), Y[40:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["csv", "parquet", "source", "array source"])
@pytest.mark.filterwarnings("error")
def test_files_and_sources_are_taken_by_name(kind, form, tmp_path):
    model, frame = fitted(kind)
    other = frame[frame.columns[::-1]]
    new = ArraySource(other, feature_names=list(other)) if kind != "table" else other
    if form != "array source":
        path = tmp_path / f"new.{'csv' if form == 'source' else form}"
        getattr(other, f"to_{path.suffix[1:]}")(path, index=False)
        new = open_rows(path, raw=kind == "table") if form == "source" else path
    np.testing.assert_allclose(model.predict(new), model.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("method", ["predict", "predict_interval", "explain", "leverage"])
def test_a_list_of_files_is_for_fits(method, tmp_path):
    model, _ = fitted("table")
    with pytest.raises(TypeError, match="a list of 2 paths, which only fit takes: pass them one"):
        getattr(model, method)([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_file_that_lacks_columns_names_all_of_them(tmp_path):
    model, frame = fitted("table")
    frame[["a", "town"]].to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match=r"new\.csv has no columns 'b', 'c'"):
        model.predict(tmp_path / "new.csv")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_without_names_are_taken_by_place(kind):
    model, frame = fitted(kind)
    expected = model.predict(frame)
    unnamed = frame.to_numpy()
    for new in (unnamed, pd.DataFrame(unnamed).infer_objects()):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            np.testing.assert_array_equal(model.predict(new), expected)
    plain = KernelRegressor(**SETTINGS, **KINDS[kind][1]).fit(unnamed, Y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(plain.predict(frame), plain.predict(unnamed))
    with pytest.raises(ValueError, match=f"X has {frame.shape[1] - 1} features, but Kernel"):
        plain.predict(unnamed[:, 1:])


def test_the_encoder_takes_columns_by_name():
    encoder = TableEncoder().fit(TABLE)
    expected = encoder.transform(TABLE)
    with pytest.warns(UserWarning, match="are ignored: 'id'") as caught:
        found = encoder.transform(TABLE[TABLE.columns[::-1]].assign(id=1).drop(columns="one"))
    assert len(caught) == 1
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="no columns of the fit 'a', 'b', 'c', 'town'"):
        encoder.transform(TABLE[["one"]])


@pytest.mark.parametrize("name", ["predict", "predict_interval", "explain", "leverage", "score"])
def test_every_method_warns_once(name):
    model, frame = fitted("table")
    settings = {"predict": {"return_std": True}, "score": {"y": Y}}.get(name, {})
    with pytest.warns(UserWarning, match="are ignored: 'id'") as caught:
        getattr(model, name)(frame.assign(id=1), **settings)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error")
def test_explanations_and_deviations_are_by_name():
    model, frame = fitted("numbers")
    new = frame[frame.columns[::-1]].assign(price=Y)
    found, expected = model.explain(new), model.explain(frame)
    assert found.names == expected.names
    np.testing.assert_array_equal(found.effect, expected.effect)
    for one, other in zip(
        model.predict(new, return_std=True), model.predict(frame, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)


# -- the files of a fit --------------------------------------------------------------------------

LISTS = {"csv": "list", "parquet": "list", "folder": "folder"}


def written(frames, form, path):
    """Files of a list, or a folder of Parquet files."""
    ending = "parquet" if form == "folder" else form
    files = [path / f"part{number}.{ending}" for number in range(len(frames))]
    for file, frame in zip(files, frames, strict=True):
        getattr(frame, f"to_{ending}")(file, index=False)
    return path if form == "folder" else files


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("odd", [0, 1, 2])
def test_a_column_that_one_file_lacks_or_adds_is_named_with_the_file(form, odd, tmp_path):
    frame = TABLE.assign(y=Y)
    for change, words in (
        (
            lambda part: part.drop(columns=["b", "c"]),
            ["{0} has no column 'b'", "{0} has no column"],
        ),
        (lambda part: part.assign(more=2.0), ["only {0} has a column 'more'"]),
        (lambda part: part.rename(columns={"town": "Town"}), ["no column 'town'", "column 'Town'"]),
    ):
        parts = [frame[:20], frame[20:40], frame[40:]]
        parts[odd] = change(parts[odd])
        rows = written(parts, form, tmp_path)
        with pytest.raises(ValueError, match="all files must have the same columns") as error:
            KernelRegressor(**SETTINGS).fit(rows, "y")
        name = next(tmp_path.glob(f"part{odd}.*"))
        for part in words:
            assert part.format(name) in str(error.value)


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_columns_may_differ_and_files_without_rows_are_left_out(form, kind, tmp_path):
    frame, settings = KINDS[kind]
    frame = frame.assign(y=Y)
    parts = [frame[:0][["a", "y"]], frame[:20], frame[20:40][frame.columns[::-1]], frame[40:]]
    settings = {**SETTINGS, **settings, "basis": Landmarks(60), "random_state": 0}
    found = KernelRegressor(**settings).fit(written(parts, form, tmp_path), "y")
    expected = KernelRegressor(**settings).fit(frame.drop(columns="y"), Y)
    np.testing.assert_allclose(found.predict(frame), expected.predict(frame), atol=1e-6)


@pytest.mark.parametrize("form", LISTS)
def test_a_file_without_rows_may_lack_the_target(form, tmp_path):
    frame = TABLE.assign(y=Y)
    rows = written([frame[:20], frame[:0][["a"]], frame[20:]], form, tmp_path)
    assert KernelRegressor(**SETTINGS).fit(rows, "y").predict(frame).shape == (60,)


def test_a_list_of_files_without_rows_is_refused(tmp_path):
    for form in ("csv", "parquet"):
        rows = written([TABLE[:0].assign(y=[])] * 2, form, tmp_path)
        with pytest.raises(ValueError, match="at least one file of a list must contain rows"):
            KernelRegressor().fit(rows, "y")


def test_chosen_columns_may_be_beside_others_in_some_files(tmp_path):
    frame = TABLE.assign(y=Y)
    folder = written([frame[:30], frame[30:].drop(columns="town")], "folder", tmp_path)
    assert open_rows(folder, "y", columns=["c", "a"]).n_rows == 60
    with pytest.raises(ValueError, match=re.escape("part1.parquet has no column 'town'")):
        open_rows(folder, "y", columns=["c", "town"], raw=True)
