"""A real cluster of worker processes, one for all tests that leave it whole."""

import pytest
from distributed import Client, LocalCluster

from mercer.engines import ThreadEngine


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
