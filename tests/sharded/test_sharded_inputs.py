"""Where shards come from: arrays, files, folders, Dask collections; and what is refused."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, MercerWarning
from mercer.engines import ThreadEngine
from shard_cases import CLASSES, NEW, POINTS, WEIGHT, X, Y

y = Y[:, 0]
COLUMNS = ["a", "b", "c"]
SETTINGS = {"kernel": Gaussian(1.5), "alpha": 1e-3, "dtype": "float64", "random_state": 0}


def model(cls=KernelRegressor, **settings):
    return cls(**{"basis": Landmarks(sampling=POINTS), **SETTINGS, **settings})


@pytest.fixture(scope="module")
def wanted():
    return model().fit(X, y, WEIGHT).predict(NEW)


@pytest.fixture
def frame():
    return pd.DataFrame(X, columns=COLUMNS).assign(y=y, w=WEIGHT)


@pytest.fixture
def folder(frame, tmp_path):
    for part in range(3):
        table = pa.Table.from_pandas(
            frame.iloc[200 * part : 200 * (part + 1)], preserve_index=False
        )
        pq.write_table(table, tmp_path / f"part{part}.parquet", row_group_size=50)
    return tmp_path


def close(found, wanted, tolerance=1e-8):
    assert np.linalg.norm(found - wanted) < tolerance * np.linalg.norm(wanted)


def test_dask_arrays(engine, wanted):
    rows = da.from_array(X, chunks=(250, 2))
    found = model(engine=engine).fit(rows, da.from_array(y, chunks=100), da.from_array(WEIGHT))
    close(found.predict(NEW), wanted)
    assert found.communication_.shards == 3
    close(model(engine=engine).fit(rows, y, WEIGHT).predict(NEW), wanted)


def test_dask_data_frames_with_an_empty_partition(engine, frame, wanted):
    rows = dd.from_pandas(frame, npartitions=4)
    numbered = dd.from_pandas(frame.assign(i=np.arange(600)), npartitions=4)
    kept = numbered[numbered["i"] >= 170]  # the first partition is empty after this
    found = model(engine=engine).fit(rows, "y", "w")
    close(found.predict(NEW), wanted)
    assert found.feature_names_in_.tolist() == COLUMNS
    found = model(engine=engine).fit(kept[COLUMNS], kept["y"], kept["w"])
    close(found.predict(NEW), model().fit(X[170:], y[170:], WEIGHT[170:]).predict(NEW))
    assert found.communication_.shards == 3


def test_the_active_client_is_used_for_collections(client):
    with client.as_current():
        found = model().fit(client.persist(da.from_array(X, chunks=(200, 3))), y)
    close(found.predict(NEW), model().fit(X, y).predict(NEW))


@pytest.mark.parametrize("shards", [None, 2, 5, 40])
def test_a_folder_of_parquet_files(engine, folder, wanted, shards):
    found = model(engine=engine, shards=shards).fit(folder, "y", "w")
    close(found.predict(NEW), wanted)
    assert found.communication_.shards == (shards or 12)  # one a row group


def test_landmarks_from_files_are_those_of_a_fit_in_one_place(engine, folder):
    settings = {"basis": Landmarks(30), "alpha": 1e-2}
    parts = model(engine=engine, **settings).fit(folder, "y", "w")
    whole = model(**settings).fit(folder, "y", "w")
    assert np.array_equal(parts.basis_.landmarks_, whole.basis_.landmarks_)
    close(parts.predict(NEW), whole.predict(NEW))


def test_a_file_that_is_listed_twice(folder):
    """Its rows count twice, as the user said, who may not have meant it: one warning says so."""
    path = folder / "part0.parquet"
    listed = [path, folder / "part1.parquet", str(folder / ".." / folder.name / path.name)]
    with pytest.warns(MercerWarning, match="more than once") as warned:
        found = model().fit(listed, "y", "w")
    assert len(warned) == 1
    assert found.fit_.n_rows == 600
    assert str(path) in str(warned[0].message)


def test_a_list_of_files(engine, folder, wanted):
    files = sorted(folder.glob("*.parquet"))
    found = model(engine=engine).fit(files, "y", "w")
    close(found.predict(NEW), wanted)
    assert found.communication_.shards == 3


def test_rows_in_order_or_by_seed():
    seeded = [
        model(shards=3, combine="average", random_state=s).fit(X, y).dual_coef_ for s in (1, 1, 2)
    ]
    assert np.array_equal(seeded[0], seeded[1])
    assert not np.array_equal(seeded[0], seeded[2])
    in_order = model(shards=3, combine="average", shuffle=False).fit(X, y)
    by_label = model(combine="average").fit(X, y, shard_labels=np.arange(600) // 200)
    close(in_order.dual_coef_, by_label.dual_coef_)


def test_a_damaged_file_is_named(client, folder):
    file = folder / "part1.parquet"
    content = bytearray(file.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 400] = bytes(400)
    file.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"part1\.parquet"):
        model(engine=client).fit(folder, "y", "w")


def test_what_is_not_finite_is_named(engine):
    bad = X.copy()
    bad[123, 1] = np.nan
    with pytest.raises(ValueError, match="row 123"):
        model(engine=engine, shards=4, missing="error").fit(bad, y)
    rows = da.from_array(np.where(np.arange(600)[:, None] == 203, np.nan, X), chunks=(200, 3))
    with pytest.raises(ValueError, match=r"shard 1 .*row 3"):
        model(engine=engine, missing="error").fit(rows, y)
    rows, bad = da.from_array(X, chunks=(200, 3)), np.where(np.arange(600) == 577, np.inf, y)
    with pytest.raises(ValueError, match=r"shard 2 .*row 177"):
        model(engine=engine).fit(rows, bad)


REFUSED = {
    "shards must be": ({"shards": 0}, {}),
    "unknown combine 'mean'; it must be one of 'sum'": ({"combine": "mean", "shards": 2}, {}),
    "rounds must be": ({"rounds": 0}, {}),
    "needs functions that all shards share": ({"basis": "full", "shards": 2}, {}),
    "rounds solve the ridge problem": (
        {"solver": "kcgm", "combine": "newton", "shards": 2},
        {},
    ),
    "depends on the number of shards": (
        {"combine": "average", "engine": ThreadEngine()},
        {},
    ),
    "shard_labels must": ({}, {"shard_labels": [1, 2]}),
    "shard_labels already define the shards": ({"shards": 3}, {"shard_labels": np.zeros(600)}),
    "needs shards, but there are none": ({"combine": "newton"}, {}),
    "engine must be None": ({"engine": "cluster"}, {}),
    "checkpoint must be the path": ({"checkpoint": 3}, {}),
    "keep a matrix for each": ({"combine": "newton", "shards": 600, "memory_limit": "7MB"}, {}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_is_refused(said):
    settings, further = REFUSED[said]
    with pytest.raises((ValueError, TypeError), match=said):
        model(**settings).fit(X, y, **further)


def test_collections_that_do_not_fit_are_refused():
    rows = da.from_array(X, chunks=(200, 3))
    with pytest.raises(ValueError, match="one entry per row"):
        model().fit(rows, y[:-1])
    with pytest.raises(ValueError, match="are its partitions"):
        model(shards=3).fit(rows, y)
    with pytest.raises(ValueError, match="needs targets"):
        model().fit(rows)
    with pytest.raises(ValueError, match="must be a column"):
        model().fit(dd.from_pandas(pd.DataFrame(X, columns=COLUMNS), npartitions=2), "z")


def test_classes_of_a_data_frame(frame, client):
    rows = dd.from_pandas(frame[COLUMNS].assign(label=CLASSES), npartitions=3)
    found = model(KernelClassifier, engine=client).fit(rows, "label")
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert found.score(frame[COLUMNS], CLASSES) > 0.9


def test_rows_without_weight_take_their_labels_with_them():
    weight = (np.arange(600) >= 200).astype(float)
    found = model(combine="average").fit(X, y, weight, shard_labels=np.arange(600) // 200)
    assert found.communication_.shards == 2
    wanted = model(combine="average").fit(X[200:], y[200:], shard_labels=np.arange(400) // 200)
    close(found.dual_coef_, wanted.dual_coef_)


def test_an_array_is_cut_for_the_width_of_the_engine(client):
    found = model(engine=client).fit(X, y)
    assert found.communication_.shards == 6  # 3 workers with a thread each
