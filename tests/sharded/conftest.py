"""A real cluster of worker processes, one for all tests that leave it whole."""

import multiprocessing

import dask
import pytest
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

from mercer.engines import ThreadEngine


@pytest.fixture(scope="session", autouse=True)
def _quick_workers():
    """Fork workers from a process that has imported what they need, where processes can fork."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        # Dask sets its own modules first, and only once.
        get_mp_context().set_forkserver_preload(
            ["distributed", "mercer", "mercer.engines.dask_engine"]
        )
        yield


def cluster_of(workers, **settings):
    return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, **settings)


@pytest.fixture(scope="session")
def client():
    with cluster_of(3) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(params=["threads", "dask"])
def engine(request):
    if request.param == "threads":
        return ThreadEngine(workers=2)
    return request.getfixturevalue("client")
