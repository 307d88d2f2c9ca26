"""Rankers and their rows: files, partitions, pipelines, and what is wrong with queries."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import MEDIAN
from mercer import Gaussian, KernelRanker, Landmarks, open_rows, write_svmlight
from mercer.metrics import ndcg, pairwise_error
from pairs import over_each

RNG = np.random.default_rng(0)
N = 240
X = RNG.random((N, 3))
QID = np.sort(RNG.integers(0, 20, N))
Y = np.round(3 * X[:, 0] + X[:, 1]).astype(int)
WEIGHT = RNG.integers(1, 4, N)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(grade=Y, query=QID, weight=WEIGHT)


def ranker(**settings):
    settings = {"basis": Landmarks(sampling=X[::8]), "alpha": 1e-3, **settings}
    return KernelRanker(Gaussian(0.5), dtype="float64", random_state=0, **settings)


def close(found, wanted):
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-8, atol=1e-10)
    assert found.n_queries_ == wanted.n_queries_


@pytest.fixture
def files(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    FRAME.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=50)
    np.savez(tmp_path / "rows.npz", X=X, y=Y, qid=QID, weight=WEIGHT)
    write_svmlight(tmp_path / "rows.svm", X, Y, QID)
    return tmp_path


@pytest.mark.parametrize("shards", [None, 3])
@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_columns_of_files(kind, shards, files):
    """A query may end up in two shards: its parts are added."""
    wanted = ranker().fit(X, Y, QID, WEIGHT)
    model = ranker(shards=shards)
    if kind == "npz":
        close(model.fit(files / "rows.npz", "y", "qid", "weight"), wanted)
    else:
        close(model.fit(files / f"rows.{kind}", "grade", "query", "weight"), wanted)
        source = open_rows(files / f"rows.{kind}", "grade", "weight", query="query")
        close(ranker(shards=shards).fit(source), wanted)


def test_svmlight_files_know_their_queries(files):
    wanted = ranker().fit(X, Y, QID)
    close(ranker().fit(files / "rows.svm"), wanted)
    write_svmlight(files / "one.svm", X[:100], Y[:100], QID[:100])
    write_svmlight(files / "two.svm", X[100:], Y[100:], QID[100:])
    parts = ranker().fit([files / "one.svm", files / "two.svm"])
    close(parts, wanted)
    assert parts.communication_.shards == 2
    np.testing.assert_allclose(parts.predict(files / "rows.svm"), wanted.predict(X), rtol=1e-7)


def test_files_that_are_in_no_order_are_read_all_the_same(files):
    FRAME.sample(frac=1, random_state=0).to_csv(files / "mixed.csv", index=False)
    wanted = ranker().fit(X, Y, QID)
    columns = ["a", "b", "c"]
    source = open_rows(files / "mixed.csv", "grade", None, columns, "query")
    close(ranker().fit(source), wanted)


def test_partitions_of_a_frame():
    frame = dd.from_pandas(FRAME.drop(columns="weight"), npartitions=3)
    wanted = ranker().fit(FRAME[["a", "b", "c"]], Y, QID)
    model = ranker().fit(frame, "grade", "query")
    assert model.n_queries_ == wanted.n_queries_
    np.testing.assert_allclose(
        model.predict(FRAME[["a", "b", "c"]]), wanted.predict(FRAME[["a", "b", "c"]]), rtol=1e-7
    )


def test_pipelines_route_queries_and_weights():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        settings = {"alpha": 1e-3, "random_state": 0, **MEDIAN}
        last = KernelRanker(**settings)
        last.set_fit_request(qid=True, sample_weight=True)
        last.set_score_request(qid=True, sample_weight=True)
        pipe = make_pipeline(scaler, last)
        pipe.fit(X, Y, qid=QID, sample_weight=WEIGHT)
        scaled = StandardScaler().fit(X, sample_weight=WEIGHT).transform(X)
        wanted = KernelRanker(**settings).fit(scaled, Y, QID, WEIGHT)
        np.testing.assert_allclose(pipe.predict(X), wanted.predict(scaled))
        assert pipe.score(X, Y, qid=QID) == ndcg(Y, wanted.predict(scaled), QID)
        scores = cross_val_score(
            pipe,
            X,
            Y,
            cv=GroupKFold(4),
            params={"qid": QID, "groups": QID, "sample_weight": WEIGHT},
        )
        assert scores.min() > 0.9


def test_queries_that_teach_nothing():
    """One row, or all rows of the same relevance: the first have no pairs, the second do."""
    alone = np.arange(1000, 1010)
    single = ranker().fit(np.vstack([X, X[:10]]), np.r_[Y, Y[:10]], np.r_[QID, alone])
    plain = ranker().fit(X, Y, QID)
    np.testing.assert_allclose(single.predict(X), plain.predict(X), rtol=1e-9, atol=1e-12)
    assert (single.n_queries_, single.n_skipped_queries_) == (plain.n_queries_ + 10, 10)
    flat = np.where(QID == 3, 1, Y)
    assert np.all(np.isfinite(ranker().fit(X, flat, QID).predict(X)))
    constant = ranker().fit(X, np.ones(N), QID)
    assert np.allclose(constant.predict(X), 0.0)
    assert np.isnan(pairwise_error(np.ones(N), constant.predict(X), QID))


def test_a_query_of_a_million_rows():
    rng = np.random.default_rng(1)
    rows = rng.random((1_000_000, 2))
    qid = np.r_[np.zeros(999_990, int), np.ones(10, int)]
    y = rows[:, 0] + 100 * qid
    model = KernelRanker(Gaussian(0.7), Landmarks(sampling=rows[:20]), 1e-6).fit(rows, y, qid)
    assert pairwise_error(y[-2000:-10], model.predict(rows[-2000:-10])) < 0.02


def query_of(values, dtype=object):
    found = np.empty(N, dtype=dtype)
    found[:] = values
    return found


REFUSED = {
    "another length": (QID[:-1], "qid"),
    "a table": (np.c_[QID, QID], "qid"),
    "NaN": (np.where(QID == 3, np.nan, QID.astype(float)), "a query in every row"),
    "None": (query_of([None if q == 3 else f"{q}" for q in QID]), "a query in every row"),
    "mixed types": (query_of([f"{q}" if q == 3 else int(q) for q in QID]), "one type"),
    "all alone": (np.arange(N), "single row"),
    "a name": ("query", "qid"),
}


@over_each(shards=[None, 3], case=REFUSED)
def test_queries_that_cannot_be_are_refused(case, shards):
    qid, said = REFUSED[case]
    model = ranker(shards=shards)
    with pytest.raises((ValueError, TypeError), match=said):
        model.fit(X, Y, qid)
    assert not hasattr(model, "fit_")


@pytest.mark.parametrize("shards", [None, 3])
def test_relevance_that_cannot_be_is_refused(shards):
    for wrong, said in ((np.nan, "NaN"), (np.inf, "inf")):
        y = Y.astype(float)
        y[7] = wrong
        with pytest.raises(ValueError, match=said):
            ranker(shards=shards, unlabelled="use").fit(X, y, QID)
    with pytest.raises(ValueError, match="unknown pair_weighting"):
        ranker(pair_weighting="rows", shards=shards).fit(X, Y, QID)
