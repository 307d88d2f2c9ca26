"""Partitions of Dask collections with the queries of their rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer.rows.dask_partitions import partitions

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def queries(shards):
    return [next(iter(shard.source.queries(100)))[0].tolist() for shard in shards]


@pytest.fixture
def frame(X, y):
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, q=np.arange(len(X)) // 5)


def test_queries_of_arrays_are_cut_like_the_rows(X, y):
    rows = da.from_array(X, chunks=(20, 2))
    wanted = [list(y[:20]), list(y[20:40]), list(y[40:])]
    for query in (y, da.from_array(y, chunks=11)):
        assert queries(partitions(rows, y, query=query)) == wanted
    assert not partitions(rows, y)[0].source.has_query
    with pytest.raises(ValueError, match="qid must have one entry per row of X, which has 53"):
        partitions(rows, y, query=y[:5])


def test_queries_of_data_frames(frame):
    rows = dd.from_pandas(frame, npartitions=3)
    shards = partitions(rows, "y", query="q")
    assert np.concatenate(queries(shards)).tolist() == frame["q"].tolist()
    assert shards[0].source.feature_names == ["a", "b", "c"]
    features = rows[["a", "b", "c"]]
    assert queries(partitions(features, rows["y"], query=rows["q"])) == queries(shards)
    with pytest.raises(ValueError, match="qid='query' must be a column"):
        partitions(rows, "y", query="query")


def test_an_empty_partition_has_queries_too(frame):
    rows = dd.from_pandas(frame.assign(q="query " + frame["q"].astype(str)), npartitions=3)
    source = partitions(rows[rows["b"] > 1e9], "y", query="q")[0].source
    assert source.n_rows == 0
    assert source.has_query


def test_a_missing_query_of_a_partition_is_refused(frame):
    frame["q"] = frame["q"].astype(float)
    frame.loc[3, "q"] = np.nan
    shards = partitions(dd.from_pandas(frame, npartitions=2), "y", query="q")
    with pytest.raises(ValueError, match="qid must have a query in every row, got nan at row 3"):
        _ = shards[0].source


@pytest.mark.parametrize("raw", [False, True])
def test_a_partition_must_be_the_same_in_every_pass(tmp_path, raw):
    frame = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6.0) ** 2, "t": 1.0})
    read = dask.delayed(lambda path: pd.read_csv(path), pure=True)
    frame.to_csv(tmp_path / "a.csv", index=False)
    X = dd.from_delayed([read(str(tmp_path / "a.csv"))], meta=frame)
    (part,) = partitions(X, "t", raw=raw)
    for _ in range(2):
        assert part.source.n_rows == 6
    frame.rename(columns={"a": "b", "b": "a"})[["a", "b", "t"]].to_csv(
        tmp_path / "a.csv", index=False
    )
    with pytest.raises(ValueError, match=r"shard 0 .* must have the same rows .*persist"):
        _ = part.source
