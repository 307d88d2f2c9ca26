"""Rows of weight 0 are as if they were not there, wherever rows are."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, open_rows
from mercer.rows import ArraySource
from mercer.rows.frames import table_of

N = 400
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "town": RNG.choice(["a", "b", "c"], N)})
FRAME["w"] = RNG.integers(0, 3, N).astype(float)
FRAME["y"] = np.sin(FRAME["x"]) + (FRAME["town"] == "a") + 0.1 * RNG.normal(size=N)
FRAME.loc[FRAME["w"] == 0, ["x", "y"]] = [1e6, -1e6]  # which would be noticed
FRAME.loc[FRAME["w"] == 0, "town"] = "elsewhere"
KEPT = FRAME[FRAME["w"] > 0]


def csv(folder):
    FRAME.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def files(folder):
    parts = np.array_split(np.arange(N), 3)
    for number, part in enumerate(parts):
        FRAME.iloc[part].to_parquet(folder / f"{number}.parquet", index=False)
    return [folder / f"{number}.parquet" for number in range(3)]


def array_source():
    rows = table_of(FRAME[["x", "town"]])
    return ArraySource(rows, FRAME["y"].to_numpy(), FRAME["w"].to_numpy(), rows.names)


ROWS = {
    "frame": lambda folder: (FRAME, "y", "w"),
    "csv": lambda folder: (csv(folder), "y", "w"),
    "source": lambda folder: (open_rows(csv(folder), target="y", weight="w", raw=True),),
    "array source": lambda folder: (array_source(),),
    "files": lambda folder: (files(folder), "y", "w"),
    "folder": lambda folder: (files(folder)[0].parent, "y", "w"),
    "dask frame": lambda folder: (dd.from_pandas(FRAME, npartitions=4), "y", "w"),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shards", [None, 3])
def test_a_weight_of_0_is_no_row(name, shards, tmp_path):
    if shards and name in ("files", "dask frame"):
        pytest.skip("their shards are their files and partitions")
    settings = {"metric": None, "scale": "standard", "random_state": 0, "dtype": "float64"}
    whole = KernelRegressor(Gaussian(1.5), Landmarks(30), 1e-3, **settings)
    whole.fit(KEPT.drop(columns="w"), "y", KEPT["w"].to_numpy())
    points = Landmarks(sampling=whole.basis_.landmarks_)
    found = KernelRegressor(Gaussian(1.5), points, 1e-3, shards=shards, **settings)
    found.fit(*ROWS[name](tmp_path))
    assert found.fit_.n_rows == len(KEPT)
    names = found.columns_.encoding_.feature_names
    assert "town=elsewhere" not in names
    rows = KEPT[["x", "town"]]
    np.testing.assert_allclose(found.predict(rows), whole.predict(rows), atol=1e-5)


def test_labels_of_shards_of_a_source_with_rows_of_weight_0():
    model = KernelRegressor(Gaussian(1.5), Landmarks(30), 1e-3, metric=None, random_state=0)
    expected = model.fit(array_source()).predict(KEPT[["x", "town"]])
    model.fit(array_source(), shard_labels=np.arange(N) % 3)
    assert model.fit_.n_rows == len(KEPT)
    np.testing.assert_allclose(model.predict(KEPT[["x", "town"]]), expected, atol=1e-5)


def test_classes_of_rows_without_weight_are_none():
    X, label = FRAME[["x"]].to_numpy(), np.where(FRAME["w"] == 0, "none", "some")
    label[FRAME["x"] > 0] = "more"
    label[FRAME["w"] == 0] = "none"
    parts = [da.from_array(np.asarray(part), chunks=100) for part in (label, FRAME["w"])]
    model = KernelClassifier(Gaussian(1.0), Landmarks(20), 1e-3, metric=None)
    model.fit(da.from_array(X, chunks=(100, 1)), *parts)
    assert model.classes_.tolist() == ["more", "some"]


def test_negative_weights_are_refused_by_name(tmp_path):
    FRAME.assign(w=FRAME["w"] - 1).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"sample_weight must be finite and at least 0, got .*-1"):
        KernelRegressor(Gaussian(1.0)).fit(tmp_path / "rows.csv", "y", "w")
