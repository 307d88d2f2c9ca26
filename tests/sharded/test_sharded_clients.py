"""Clients that a fit cannot use are refused at once, in words: a fit would wait for itself."""

import asyncio
import gc
import time

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, get_client, worker_client
from sklearn.model_selection import GridSearchCV

from mercer import EngineError, Gaussian, KernelRegressor, Landmarks
from mercer.engines.dask_engine import DaskEngine
from shard_cases import POINTS, X, Y

SETTINGS = {"kernel": Gaussian(1.5), "basis": Landmarks(sampling=POINTS), "random_state": 0}
LOCAL = KernelRegressor(**SETTINGS, alpha=1e-2, shards=2)


def fit_in_a_task(engine):
    return LOCAL.set_params(engine=engine).fit(X, Y).dual_coef_


def fit_with_the_client_of_the_task():
    return fit_in_a_task(get_client())


def fit_after_seceding():
    with worker_client() as client:
        return fit_in_a_task(client)


def test_a_fit_in_a_task_of_the_same_cluster(client):
    address = client.scheduler.address
    began = time.monotonic()
    futures = [
        client.submit(fit_in_a_task, address),
        client.submit(fit_with_the_client_of_the_task),
    ]
    for future in futures:
        with pytest.raises(EngineError, match="a task of the same cluster"):
            future.result(timeout=60)
    client.cancel(futures)  # Dask keeps the error, whose frames keep the futures
    assert time.monotonic() - began < 20
    expected = fit_in_a_task(None)
    assert np.array_equal(client.submit(fit_in_a_task, None).result(timeout=60), expected)
    assert np.array_equal(client.submit(fit_after_seceding).result(timeout=60), expected)


@pytest.mark.filterwarnings("ignore:.*fits failed")
def test_a_grid_search_on_the_cluster(client):
    """Its fits are tasks already: they cannot ask the same cluster, and say what can be done."""
    search = GridSearchCV(
        KernelRegressor(**SETTINGS, engine=client.scheduler.address), {"alpha": [1e-3, 1e-2]}, cv=2
    )
    with client.as_current(), joblib.parallel_config("dask"):
        with pytest.raises(ValueError, match="engine=None"):
            search.fit(X, Y)
        assert search.set_params(estimator__engine=None).fit(X, Y).best_score_ > 0.5
    assert search.set_params(estimator__engine=client).fit(X, Y).best_score_ > 0.5  # one by one


def test_an_asynchronous_client(client):
    address = client.scheduler.address

    async def fit_in_its_loop():
        async with Client(address, asynchronous=True) as waiting:
            with pytest.raises(EngineError, match="asynchronous"):
                LOCAL.set_params(engine=waiting).fit(X, Y)
            return await asyncio.to_thread(fit_in_a_task, waiting)  # as the error says

    began = time.monotonic()
    found = asyncio.run(fit_in_its_loop())
    assert time.monotonic() - began < 20
    assert np.array_equal(found, fit_in_a_task(None))


def test_a_closed_client(client):
    closed = Client(client.scheduler.address, set_as_default=False)
    engine = DaskEngine(closed)
    closed.close()
    for given in (closed, engine):
        with pytest.raises(EngineError, match="client is closed"):
            LOCAL.set_params(engine=given).fit(X, Y)


@pytest.mark.parametrize("wait", ["_wait", "_taken"])
def test_a_client_that_is_closed_during_a_wait(client, monkeypatch, wait):
    engine, waiting = DaskEngine(client.scheduler.address), getattr(DaskEngine, wait)

    def closed(engine, *arguments):
        engine.client.close()
        return waiting(engine, *arguments)

    monkeypatch.setattr(DaskEngine, wait, closed)
    with pytest.raises(EngineError, match=r"client is closed|connection .* was lost"):
        engine.map(abs, [-1, -2], label="numbers")


def tasks_left(dask_scheduler):
    return [str(key) for key in dask_scheduler.tasks]


def assert_nothing_is_left(client):
    end = time.monotonic() + 10  # the scheduler hears a moment later what is no longer needed
    while (left := client.run_on_scheduler(tasks_left)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


@pytest.mark.parametrize("form", ["array", "files", "dask array"])
def test_a_default_fit_leaves_nothing_on_the_cluster(client, form, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.search.kernel_search.SENT", 0)  # candidates, too
    monkeypatch.setattr("mercer.search.kernel_search.MORE_CORES", 0)
    given, settings = (X, Y[:, 0]), {"shards": 3}
    if form == "files":
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=Y[:, 0])
        paths = [tmp_path / f"{number}.parquet" for number in range(3)]
        for number, path in enumerate(paths):
            frame[number::3].to_parquet(path)
        given, settings = (paths, "y"), {}
    elif form == "dask array":
        given = da.from_array(X, chunks=(200, -1)), da.from_array(Y[:, 0], chunks=200)
        settings = {}
    model = KernelRegressor(random_state=0, engine=client, **settings).fit(*given)
    assert_nothing_is_left(client)
    assert model.search_results_ is not None


def failing(number):
    if number == 2:
        raise ValueError("a damaged shard")
    return number


@pytest.mark.parametrize(
    "run",
    [
        lambda engine, items: engine.map(failing, items),
        lambda engine, items: engine.reduce(failing, max, items),
        lambda engine, items: engine.map(abs, engine.hold(failing, items)),
    ],
    ids=["map", "reduce", "hold"],
)
def test_a_task_that_fails_leaves_nothing_on_the_cluster(client, run):
    """The error has the frames of the fit, whose rows are futures, and Dask keeps the error."""

    def fail():
        engine = DaskEngine(client)
        items = engine.place(list(range(6)))
        with pytest.raises(ValueError, match="a damaged shard"):
            run(engine, items)

    fail()
    gc.collect()
    assert_nothing_is_left(client)
