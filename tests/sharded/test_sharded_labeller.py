"""Rows to label, of a pool in shards: the same for any number of them, wherever they are."""

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, ImportanceLabeller, Landmarks, RandomFeatures, open_rows
from mercer.rows import NpySource
from pairs import over_each, over_pairs
from shard_cases import NEW, X, Y

BASES = {
    "landmarks": Landmarks(40, random_state=1),
    "leverage": Landmarks(40, "leverage", random_state=1),
    "features": RandomFeatures(40, random_state=1),
    "features of the seed": RandomFeatures(40),
}


def labeller(basis="features", **settings):
    settings = {"alpha": 1e-3, "budget": 60, "dtype": "float64", "random_state": 0, **settings}
    return ImportanceLabeller(Gaussian(1.5), BASES.get(basis, basis), **settings)


def same(found, wanted):
    np.testing.assert_allclose(found.probability_, wanted.probability_, rtol=1e-8)
    np.testing.assert_array_equal(found.indices_, wanted.indices_)
    np.testing.assert_array_equal(found.count_, wanted.count_)
    np.testing.assert_allclose(found.sample_weight_, wanted.sample_weight_, rtol=1e-8)
    assert found.alpha_ == pytest.approx(wanted.alpha_)
    assert found.effective_dimension_ == pytest.approx(wanted.effective_dimension_)


@over_pairs(basis=BASES, shards=[1, 2, 7], engine=["threads", "dask"], indirect=["engine"])
def test_scores_are_those_of_one_place(basis, shards, engine):
    found = labeller(basis, shards=shards, engine=engine).fit(X)
    whole = labeller(basis).fit(X)
    np.testing.assert_allclose(found.probability_, whole.probability_, rtol=1e-8)
    assert found.effective_dimension_ == pytest.approx(whole.effective_dimension_)


@over_pairs(basis=BASES, alpha=[1e-3, "auto"], engine=["threads", "dask"], indirect=["engine"])
def test_draws_are_the_same_for_any_number_of_shards(basis, alpha, engine):
    one = labeller(basis, alpha=alpha, shards=1).fit(X)
    for shards in (2, 7):
        found = labeller(basis, alpha=alpha, shards=shards, engine=engine).fit(X)
        same(found, one)
    np.testing.assert_array_equal(found.select(25), one.select(25))
    same(found, one)


@over_each(basis=BASES, shards=[1, 2, 7])
def test_draws_are_those_of_one_place(basis, shards):
    same(labeller(basis, shards=shards).fit(X), labeller(basis).fit(X))


@over_pairs(
    shards=[2, 7],
    kind=["parquet", "labelled", "npy", "frame"],
    engine=["threads", "dask"],
    indirect=["engine"],
)
def test_files_are_cut_where_reading_can_begin(kind, shards, engine, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=70)
    frame.assign(y=Y[:, 0]).to_parquet(tmp_path / "labelled.parquet", row_group_size=70)
    np.save(tmp_path / "X.npy", X)
    pool = {
        "parquet": lambda: tmp_path / "rows.parquet",
        "labelled": lambda: open_rows(tmp_path / "labelled.parquet", "y"),
        "npy": lambda: NpySource(tmp_path / "X.npy"),
        "frame": lambda: frame,
    }[kind]()
    same(labeller(shards=shards, engine=engine).fit(pool), labeller(shards=1).fit(X))


def test_an_engine_alone_cuts_the_pool(engine):
    same(labeller(engine=engine).fit(X), labeller(shards=1).fit(X))


def test_more_shards_than_rows():
    same(labeller(shards=70, budget=5).fit(NEW), labeller(shards=1, budget=5).fit(NEW))


@pytest.mark.parametrize("basis", ["features", "landmarks"])
def test_a_row_that_is_not_finite_is_named_with_its_shard(basis, engine):
    wrong = X.copy()
    wrong[321, 1] = np.nan
    found = labeller(basis, shards=3, engine=engine, columns=None)
    with pytest.raises(ValueError, match=r"shard 1 \(rows 200 to 400 .*NaN at row 121, column 1"):
        found.fit(wrong)
    assert not hasattr(found, "probability_")


def test_budgets_are_of_all_shards(engine):
    with pytest.raises(ValueError, match="at most the 600 rows"):
        labeller(shards=3, engine=engine, budget=601).fit(X)


@over_pairs(
    sampling=["variance", "random_variance"],
    candidates=[2, None],
    basis=["landmarks", "features"],
    engine=["threads", "dask"],
    indirect=["engine"],
)
def test_draws_by_variance_are_those_of_one_place(sampling, candidates, basis, engine):
    settings = {"sampling": sampling, "candidates": candidates}
    whole = labeller(basis, **settings).fit(X, labelled=[5, 300])
    for shards in (2, 7):
        found = labeller(basis, **settings, shards=shards, engine=engine)
        found.fit(X, labelled=[5, 300])
        np.testing.assert_array_equal(found.indices_, whole.indices_)
        np.testing.assert_allclose(found.variance_, whole.variance_, rtol=1e-6)
    np.testing.assert_array_equal(found.select(25), whole.select(25))
