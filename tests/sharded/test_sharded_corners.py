"""Corners of fits over shards: what a model goes on from, what shards lack, what is read."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer import (
    KCGM,
    Average,
    Gaussian,
    KernelRegressor,
    Landmarks,
    LeaveOneOut,
    PreconditionedCG,
    Sketch,
    StopAfter,
)
from mercer.engines import ThreadEngine
from mercer.rows.dask_partitions import Partition
from pairs import over_each
from shard_cases import NEW, POINTS, X, Y


@pytest.mark.filterwarnings("ignore:n_components=300 is more")
def test_shards_with_functions_of_their_own_share_one_bandwidth():
    """Also where every row is a landmark: without a sample of all rows, shards pool theirs."""
    settings = {"alpha": 1e-2, "dtype": "float64", "random_state": 0}
    own = KernelRegressor(basis=Landmarks(300), combine=Average(local_basis=True), **settings)
    own.fit(X[:300], Y[:300], shard_labels=np.arange(300) // 100)
    kernel = own.kernel_
    exact = KernelRegressor(kernel, "full", combine="average", **settings)
    exact.fit(X[:300], Y[:300], shard_labels=np.arange(300) // 100)
    np.testing.assert_allclose(own.predict(NEW), exact.predict(NEW), rtol=1e-6)


@over_each(
    solver=[KCGM(StopAfter(3)), PreconditionedCG(1e-9)],
    combine=[Average(), Average(local_basis=True)],
)
def test_an_average_begins_anew(solver, combine):
    """It keeps no steps to go on with: a second fit is the first one again."""
    settings = {"alpha": 1e-3, "random_state": 0, "shards": 3, "warm_start": True}
    warm = KernelRegressor("gaussian", Landmarks(30), solver=solver, combine=combine, **settings)
    first = warm.fit(X, Y).predict(NEW)
    assert np.array_equal(warm.fit(X, Y).predict(NEW), first)


def test_steps_go_on_without_a_seed():
    """Shards are cut at random: a fit that goes on cuts them as the first one did."""
    warm = KernelRegressor(basis=Landmarks(30), solver=KCGM(StopAfter(3)), shards=4)
    warm.set_params(warm_start=True).fit(X, Y)
    run = warm.fit_.run
    assert warm.set_params(solver=KCGM(StopAfter(5))).fit(X, Y).fit_.run is run


@over_each(combine=["average", "newton", "conjugate"])
def test_rows_are_added_whatever_the_combination(combine):
    """Sums add: rows that come in batches are those of one fit, also where a fit would average."""
    settings = {"alpha": 1e-3, "random_state": 0, "basis": Landmarks(sampling=POINTS)}
    parts = KernelRegressor(Gaussian(1.5), combine=combine, shards=3, **settings)
    parts.partial_fit(X[:300], Y[:300])
    whole = KernelRegressor(Gaussian(1.5), **settings).fit(X, Y)
    found = parts.partial_fit(X[300:], Y[300:]).predict(NEW)
    np.testing.assert_allclose(found, whole.predict(NEW), rtol=1e-8)


def test_rows_are_added_to_a_sketch_that_shards_do_not_share():
    settings = {"alpha": 1e-3, "random_state": 0, "basis": Sketch(20)}
    parts = KernelRegressor(Gaussian(1.5), combine="average", shards=3, **settings)
    whole = KernelRegressor(Gaussian(1.5), **settings)
    for model in (parts, whole):
        model.partial_fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=1e-8)


def weighted_files(folder, weight):
    """Write rows as three files and as one; return the paths."""
    paths = []
    for name, rows in {
        "all": slice(None),
        **{n: slice(40 * n, 40 * n + 40) for n in range(3)},
    }.items():
        table = np.c_[X[:120], Y[:120, 0], weight][rows]
        paths.append(folder / f"{name}.csv")
        np.savetxt(paths[-1], table, delimiter=",", header="a,b,c,y,w", comments="")
    return paths[0], paths[1:]


EXACT = PreconditionedCG(1e-11)
ASKED = {
    "moments": {},
    "leave-one-out": {"alpha": "auto", "selection": "loo"},
    "products": {"solver": EXACT},
    "kernel products": {"solver": EXACT, "basis": "full"},
    "conjugate rounds": {"combine": "conjugate", "rounds": 60},
    "Newton rounds": {"combine": "newton", "rounds": 60, "alpha": 1e-1},
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("asked", ASKED)
def test_a_file_whose_rows_all_have_weight_0(asked, tmp_path):
    whole, files = weighted_files(tmp_path, np.repeat([0.0, 1.0, 2.0], 40))
    settings = {"alpha": 1e-3, "basis": Landmarks(sampling=POINTS), "random_state": 0}
    settings.update(ASKED[asked])
    parts = KernelRegressor(Gaussian(1.5), dtype="float64", **settings).fit(files, "y", "w")
    settings.update(combine="sum")
    once = KernelRegressor(Gaussian(1.5), dtype="float64", **settings).fit(whole, "y", "w")
    np.testing.assert_allclose(parts.predict(NEW), once.predict(NEW), rtol=1e-6)


@pytest.mark.parametrize("asked", ASKED)
def test_files_whose_rows_all_have_weight_0(asked, tmp_path):
    whole, files = weighted_files(tmp_path, np.zeros(120))
    settings = {"alpha": 1e-3, "basis": Landmarks(sampling=POINTS), **ASKED[asked]}
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        KernelRegressor(Gaussian(1.5), **settings).fit(files, "y", "w")
    settings.update(combine="sum")
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        KernelRegressor(Gaussian(1.5), **settings).fit(whole, "y", "w")


def test_a_sample_of_rows_that_do_not_count(tmp_path):
    whole, _ = weighted_files(tmp_path, np.r_[np.zeros(118), 1.0, 2.0])
    settings = {"basis": Landmarks(sampling=POINTS), "random_state": 0}
    model = KernelRegressor(Gaussian(1.5), selection=LeaveOneOut(2), **settings)
    assert np.isfinite(model.fit(whole, "y", "w").cv_results_["mean_squared_error"]).all()


READ = {
    "moments": ({}, 2),  # landmarks are given: a look, and the moments
    "leave-one-out": ({"alpha": "auto", "selection": "loo"}, 3),
    "products": ({"solver": EXACT}, 2),
    "kernel products": ({"solver": EXACT, "basis": "full"}, 3),
    "average": ({"combine": "average"}, 2),
    "Newton rounds": ({"combine": "newton", "basis": "full", "fit_intercept": False}, 3),
    "intervals": ({"intervals": "cv+"}, 4),  # left-out rows are multiplied by, and predicted
    "intervals of products": ({"solver": EXACT, "intervals": "cv+"}, 4),
    "intervals of averages": ({"combine": "average", "intervals": "cv+"}, 3),
}


@pytest.mark.parametrize("asked", READ)
def test_a_task_computes_a_partition_once(asked, monkeypatch):
    settings, times = READ[asked]
    read, source = [], Partition.source.fget
    monkeypatch.setattr(
        Partition, "source", property(lambda part: (read.append(part.number), source(part))[1])
    )
    given = {"alpha": 1e-2, "basis": Landmarks(sampling=POINTS), "intervals": None}
    settings = {**given, **settings}
    model = KernelRegressor(Gaussian(1.5), random_state=0, engine=ThreadEngine(2), **settings)
    model.fit(da.from_array(X, chunks=(200, 3)), Y[:, 0])
    assert sorted(read) == sorted([0, 1, 2] * times)


def test_rounds_in_function_space_with_sparse_rows():
    rows = np.where(np.abs(X[:90]) > 0.7, X[:90], 0.0)
    settings = {"alpha": 1.0, "fit_intercept": False, "combine": "newton", "random_state": 0}
    found = [
        KernelRegressor(Gaussian(1.5), "full", shards=3, **settings).fit(given, Y[:90])
        for given in (rows, csr_array(rows))
    ]
    np.testing.assert_allclose(found[1].predict(NEW), found[0].predict(NEW), rtol=1e-10)
