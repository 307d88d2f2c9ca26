"""Workers that import slowly, have no mercer, or another version of it: processes of their own."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from distributed import Client
from tests.sharded.conftest import cluster_of

import mercer
from mercer import EngineError, Gaussian, KernelRegressor, Landmarks
from mercer.engines.dask_engine import DaskEngine
from shard_cases import POINTS, X, Y, environment

SETTINGS = {"kernel": Gaussian(1.5), "basis": Landmarks(sampling=POINTS), "alpha": 1e-2}
SPLIT = np.arange(len(X)) % 4

#: Importing mercer takes this many seconds, in a thread or on the event loop.
SLOW = 4.0
SLOWLY = f"""
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "mercer":
            sys.meta_path.remove(self)
            time.sleep({SLOW})

sys.meta_path.insert(0, Slow())
"""
ABSENT = "raise ModuleNotFoundError(\"No module named 'mercer'\", name='mercer')"


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch):
    for module in ("dask_engine", "dask_cluster"):
        monkeypatch.setattr(f"mercer.engines.{module}.CHECK", 0.5)


@contextmanager
def worker_with(folder, files, wait=True):
    """Yield a client of one worker that imports these files before any other module."""
    for name, text in files.items():
        (folder / name).write_text(text)
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(folder), env["PYTHONPATH"]])
    with cluster_of(0) as cluster, Client(cluster, set_as_default=False) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        worker = subprocess.Popen(
            [*command, "--no-nanny", "--nthreads=1", "--no-dashboard"],
            env=env,
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        try:
            if wait:
                client.wait_for_workers(1, timeout=60)
            yield client, worker
        finally:
            worker.kill()
            worker.wait()


def fit(engine):
    return KernelRegressor(**SETTINGS, engine=engine).fit(X, Y, shard_labels=SPLIT)


def test_a_worker_that_imports_is_not_frozen(tmp_path):
    with worker_with(tmp_path, {"sitecustomize.py": SLOWLY}) as (client, worker):
        began = time.monotonic()
        found = fit(DaskEngine(client, silence=2.0, patience=20.0))
        assert SLOW < time.monotonic() - began < SLOW + 20
        assert client.run(os.getpid).popitem()[1] == worker.pid
    expected = KernelRegressor(**SETTINGS).fit(X, Y, shard_labels=SPLIT)
    assert np.array_equal(found.dual_coef_, expected.dual_coef_)


def submitted(dask_scheduler):
    return [key for key in dask_scheduler.tasks if str(key).startswith("mercer")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ABSENT, r"cannot import it \(No module named 'mercer'\)"),
        ("__version__ = '0.0.1'", "has version 0.0.1"),
        ("import numpy.nothing", r"cannot import it \(No module named 'numpy.nothing'\)"),
    ],
    ids=["absent", "old", "broken"],
)
def test_a_worker_without_this_mercer_is_named_before_a_row_is_sent(tmp_path, text, said):
    with worker_with(tmp_path, {"mercer.py": text}) as (client, _):
        (address,) = client.scheduler_info(n_workers=-1)["workers"]
        began = time.monotonic()
        with pytest.raises(EngineError, match=said) as told:
            fit(client)
        assert time.monotonic() - began < 30
        assert f"the worker at {address}" in str(told.value)
        assert f"here it is {mercer.__version__}" in str(told.value)
        assert client.run_on_scheduler(submitted) == []


def test_a_first_worker_without_mercer_that_joins_while_a_fit_waits(tmp_path):
    with worker_with(tmp_path, {"mercer.py": ABSENT}, wait=False) as (client, _):
        assert not client.scheduler_info(n_workers=-1)["workers"]
        with pytest.raises(EngineError, match="cannot import it"):
            fit(client)
