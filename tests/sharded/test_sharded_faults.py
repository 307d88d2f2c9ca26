"""What really goes wrong on a cluster: workers that are killed, frozen or absent, files that rot.

Processes are killed by their id. The result must be that of a fit without the fault, to the bit, or
an error that says what is missing, in a stated time.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import dask
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from distributed import Client
from distributed.utils_test import captured_logger
from tests.sharded.conftest import cluster_of

from mercer import (
    ConjugateRounds,
    EngineError,
    Gaussian,
    KernelRegressor,
    Landmarks,
    MetricSearch,
)
from mercer.engines.dask_engine import DaskEngine
from mercer.rows.shards import Shard
from mercer.search.trial import outcome_of
from shard_cases import (
    ADDING,
    POINTS,
    Slow,
    X,
    Y,
    deadly,
    environment,
    kill,
    readers,
    slow_add,
    when_read,
)

SETTINGS = {
    "kernel": Gaussian(1.5),
    "basis": Landmarks(sampling=POINTS),
    "alpha": 1e-2,
    "random_state": 0,
}
SPLIT = np.arange(len(X)) % 6


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch):
    """Look often at who is still there."""
    for module in ("dask_engine", "dask_cluster"):
        monkeypatch.setattr(f"mercer.engines.{module}.CHECK", 0.5)


@pytest.fixture(scope="module")
def adding(tmp_path_factory):
    return tmp_path_factory.mktemp("adding")


@pytest.fixture(scope="module")
def broken(adding):
    """A cluster whose workers do not survive every test; their nannies start others."""
    with (
        captured_logger("distributed"),
        # A local cluster closes for good who is gone 15 s after he was lost, if only once more.
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 2,
                "distributed.deploy.lost-worker-timeout": "1 hour",
            }
        ),
        cluster_of(2, env={ADDING: str(adding)}) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(broken):
    """The cluster, repaired: two workers that answer."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = broken.run(os.getpid, on_error="return")
        if len(found) == 2 and all(isinstance(pid, int) for pid in found.values()):
            return broken
        time.sleep(0.1)
    raise TimeoutError("the workers did not come back")


@pytest.fixture
def slow_shards(monkeypatch, tmp_path):
    """Let the estimator cut its rows into six shards that take their time to read."""
    folder = tmp_path / "reading"
    folder.mkdir()

    def cut(source, labels, shards=None):
        return [
            Shard(j, f"shard {j}", Slow(X[labels == j], Y[labels == j], str(folder), 0.25))
            for j in range(6)
        ]

    monkeypatch.setattr("mercer.opening.opened_rows.cut_by_label", cut)
    return folder


def fit(engine, **settings):
    return KernelRegressor(**{**SETTINGS, **settings}, engine=engine).fit(X, Y, shard_labels=SPLIT)


def undisturbed(**settings):
    return KernelRegressor(**{**SETTINGS, **settings}).fit(X, Y, shard_labels=SPLIT).dual_coef_


class Meanwhile(threading.Thread):
    """Does something while a fit goes on, and fails the test if that fails."""

    def __init__(self, action):
        super().__init__(daemon=True)
        self.action, self.error = action, None
        self.start()

    def run(self):
        try:
            self.action()
        except TimeoutError as error:
            self.error = error

    def done(self):
        self.join(60)
        assert self.error is None
        assert not self.is_alive()


def test_a_worker_killed_among_the_moments(client, slow_shards):
    killer = Meanwhile(lambda: kill(when_read(slow_shards, 2)))
    found = fit(client)
    killer.done()
    assert len(readers(slow_shards)) > 6  # something was read twice
    assert np.array_equal(found.dual_coef_, undisturbed())


def test_a_worker_killed_while_rows_are_sampled_for_the_metric(client, slow_shards):
    search = MetricSearch("diagonal", rounds=1, n_components=40, sample=300)
    settings = {"kernel": "matern", "metric": search, "scale": "standard"}
    killer = Meanwhile(lambda: kill(when_read(slow_shards, 8)))  # 6 to look at, then the columns
    found = fit(client, **settings)
    killer.done()
    expected = KernelRegressor(**{**SETTINGS, **settings}).fit(X, Y, shard_labels=SPLIT)
    assert np.array_equal(found.metric_, expected.metric_)
    assert np.array_equal(found.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("lost", [1, 2])
def test_workers_killed_among_the_candidates_of_a_search(client, lost, monkeypatch):
    monkeypatch.setattr("mercer.search.kernel_search.SENT", 0)  # they are small
    monkeypatch.setattr("mercer.search.kernel_search.MORE_CORES", 0)

    class Deadly(DaskEngine):
        """Kills workers as the second round of candidates begins, with the sample they share."""

        rounds = 0

        def map(self, task, items, *common, **more):
            self.rounds += task is outcome_of
            if task is outcome_of and self.rounds == 2:
                for pid in [*client.run(os.getpid).values()][:lost]:
                    kill(pid)
            return super().map(task, items, *common, **more)

    settings = {"metric": MetricSearch("diagonal", rounds=2, n_components=40), "kernel": "matern"}
    engine = Deadly(client)
    found = fit(engine, **settings)
    assert engine.rounds >= 2
    expected = KernelRegressor(**{**SETTINGS, **settings}).fit(X, Y, shard_labels=SPLIT)
    np.testing.assert_array_equal(found.search_results_["error"], expected.search_results_["error"])
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)


def test_a_worker_killed_in_a_round(client):
    class Deadly(ConjugateRounds):
        """Kills a worker before its third product, with all that it holds."""

        def run(self, system, rounds, progress=None):
            ask, asked = system._ask, []

            def killing(question, V):
                asked.append(question)
                if asked.count("product") == 3 and question == "product":
                    kill(next(iter(client.run(os.getpid).values())))
                return ask(question, V)

            system._ask = killing
            return super().run(system, rounds, progress)

    found = fit(client, combine=Deadly(5))
    assert found.n_iter_ == 5
    assert np.array_equal(found.dual_coef_, undisturbed(combine=ConjugateRounds(5)))


def test_a_worker_killed_in_the_last_addition(client, monkeypatch, adding):
    monkeypatch.setattr("mercer.moments.by_fold.add_folds", slow_add)
    killer = Meanwhile(lambda: kill(when_read(adding, 5)))  # 6 shards, 5 additions
    found = fit(client)
    killer.done()
    assert len(readers(adding)) > 5
    monkeypatch.undo()
    assert np.array_equal(found.dual_coef_, undisturbed())


@pytest.mark.slow  # it waits until the scheduler gives the worker up
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows cannot stop a process")
def test_a_frozen_worker(client, slow_shards):
    frozen = []

    def freeze():
        frozen.append(when_read(slow_shards, 1))
        os.kill(frozen[0], signal.SIGSTOP)

    freezer = Meanwhile(freeze)
    try:
        found = fit(DaskEngine(client, silence=3.0))
    finally:
        freezer.done()
    with pytest.raises(ProcessLookupError):  # its nanny has ended it
        os.kill(frozen[0], signal.SIGCONT)
    assert np.array_equal(found.dual_coef_, undisturbed())


def lost_in_a_fit(client, monkeypatch, lose, call):
    """Lose workers as a fit waits for the cluster for the ``call``-th time; return the calls."""
    calls, wait_for = [], DaskEngine._wait

    def waiting(engine, *arguments):
        calls.append(arguments[1])
        if len(calls) == call:
            lose()
        return wait_for(engine, *arguments)

    monkeypatch.setattr(DaskEngine, "_wait", waiting)
    return calls


def kill_all(client):
    for pid in client.run(os.getpid).values():
        kill(pid)


def files_of(folder):
    for number in range(6):
        rows = {f"x{j}": column for j, column in enumerate(X[number::6].T)}
        table = pyarrow.table({**rows, "y": Y[number::6, 0]})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize("form", ["array", "files"])
def test_all_workers_killed_at_once(client, monkeypatch, tmp_path, form, call):
    """Tasks prefer a worker that is gone: they must not wait for it when others have come."""
    given = (X, Y[:, 0]) if form == "array" else (files_of(tmp_path), "y")
    settings = {**SETTINGS, "shards": 6 if form == "array" else None}
    calls = lost_in_a_fit(client, monkeypatch, lambda: kill_all(client), call)
    found = KernelRegressor(**settings, engine=DaskEngine(client, timeout=20.0)).fit(*given)
    assert len(calls) > call
    expected = KernelRegressor(**settings).fit(*given)
    assert np.array_equal(found.dual_coef_, expected.dual_coef_)


def test_the_only_worker_killed_and_a_cluster_scaled_to_nothing_and_back(monkeypatch):
    settings = {**SETTINGS, "shards": 6}
    expected = KernelRegressor(**settings).fit(X, Y).dual_coef_
    with (
        captured_logger("distributed"),
        cluster_of(1) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):

        def scale():
            cluster.scale(0)
            back = threading.Timer(2.0, cluster.scale, [2])
            back.daemon = True
            back.start()

        for lose in (lambda: kill_all(client), scale):
            with monkeypatch.context() as patch:
                lost_in_a_fit(client, patch, lose, 2)
                model = KernelRegressor(**settings, engine=DaskEngine(client, timeout=20.0))
                assert np.array_equal(model.fit(X, Y).dual_coef_, expected)


def test_tasks_that_no_worker_may_run(client):
    """Workers are there, and none has what the tasks of the user's annotation require."""
    with (
        dask.annotate(resources={"GPU": 1}),
        pytest.raises(EngineError, match="no worker may run 2 tasks"),
    ):
        DaskEngine(client, patience=1.0).map(abs, [1, 2], label="numbers")


def test_a_result_that_takes_long_to_come(client, monkeypatch):
    """It is not asked for again and again, each time from its beginning."""
    monkeypatch.setattr("mercer.engines.dask_engine.CHECK", 0.01)
    (found,) = DaskEngine(client, timeout=20.0).map(np.ones, [8_000_000], label="ones")
    assert found.sum() == 8_000_000


def test_a_request_for_results_that_has_to_wait(client, monkeypatch):
    """It is not cancelled: Dask would cancel every later one of the same client with it."""
    monkeypatch.setattr("mercer.engines.dask_engine.CHECK", 0.05)
    places = client._gather_semaphore

    async def occupied():
        for _ in range(5):
            await places.acquire()
        await asyncio.sleep(1.0)
        for _ in range(5):
            places.release()

    waiting = asyncio.run_coroutine_threadsafe(occupied(), client.loop.asyncio_loop)
    assert DaskEngine(client, timeout=5.0).map(abs, [-3, -4], label="numbers") == [3, 4]
    waiting.result()
    assert DaskEngine(client, timeout=5.0).map(abs, [-5], label="numbers") == [5]


@contextmanager
def alarm_of_the_user(seconds):
    """Raise what Dask raises when its own time is up."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("Windows has no alarms")

    def ring(number, frame):
        raise TimeoutError("of the user")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(TimeoutError, match="of the user"):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_an_alarm_of_the_user_ends_a_wait(client):
    with alarm_of_the_user(1.0):
        DaskEngine(client, timeout=10.0).map(time.sleep, [6.0], label="sleep")


def test_an_alarm_of_the_user_ends_a_connection():
    with socket.create_server(("127.0.0.1", 0)) as silent, alarm_of_the_user(0.5):
        DaskEngine(f"tcp://127.0.0.1:{silent.getsockname()[1]}", connect=3.0)


def test_no_workers_at_all():
    with cluster_of(0) as cluster, Client(cluster, set_as_default=False) as client:
        began = time.monotonic()
        with pytest.raises(EngineError, match="no worker for 1 s"):
            fit(DaskEngine(client, patience=1.0))
        assert time.monotonic() - began < 30


def statuses(dask_scheduler):
    return [worker.status.name for worker in dask_scheduler.workers.values()]


def test_workers_that_are_paused_for_memory():
    limits = {"target": False, "spill": False, "pause": 0.05, "terminate": False}
    settings = {f"distributed.worker.memory.{name}": value for name, value in limits.items()}
    with (
        captured_logger("distributed"),
        dask.config.set(settings),
        cluster_of(1, memory_limit="500MB") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        began = time.monotonic()
        while client.run_on_scheduler(statuses) != ["paused"] and time.monotonic() < began + 60:
            time.sleep(0.05)  # it starts before it looks at its memory
        began = time.monotonic()
        with pytest.raises(EngineError, match="have been paused for 1 s"):
            DaskEngine(client, patience=1.0).map(abs, [1] * 20, label="numbers")
        assert time.monotonic() - began < 30


def test_a_task_that_always_kills_its_worker(client):
    began = time.monotonic()
    with pytest.raises(EngineError, match="every worker that ran it was lost"):
        DaskEngine(client).map(deadly, [1], label="trouble")
    assert time.monotonic() - began < 60


def test_a_task_that_never_ends(client):
    began = time.monotonic()
    with pytest.raises(EngineError, match="no task has finished for 1 s"):
        DaskEngine(client, timeout=1.0).map(time.sleep, [600.0], label="sleep")
    assert time.monotonic() - began < 30
    for pid in client.run(os.getpid).values():  # one of them sleeps on
        kill(pid)


def test_no_scheduler():
    with pytest.raises(EngineError, match="could not connect to a Dask scheduler"):
        DaskEngine("tcp://127.0.0.1:9", connect=0.5)


def test_a_model_is_left_as_it_was_where_a_fit_fails(client):
    model = KernelRegressor(**SETTINGS).fit(X, Y)
    before = model.dual_coef_
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(engine=client, missing="error").fit(np.where(X > 1.99, np.nan, X), Y)
    assert model.dual_coef_ is before


DRIVER = """
import sys
import numpy as np
from mercer import KernelRegressor, Gaussian, Landmarks
import mercer.opening.opened_rows as sharding
from mercer.rows.shards import Shard
from mercer.search.trial import outcome_of
from shard_cases import POINTS, Slow, X, Y

folder, out, combine, seconds = sys.argv[1:]
sharding.cut_by_label = lambda source, labels, shards=None: [
    Shard(j, f"shard {j}", Slow(X[labels == j], Y[labels == j], folder, float(seconds)))
    for j in range(40)
]
model = KernelRegressor(
    Gaussian(1.5), Landmarks(sampling=POINTS), 1e-2, combine=combine, rounds=6,
    checkpoint=out + "-checkpoint", intervals=None,
)
model.fit(X, Y, shard_labels=np.arange(len(X)) % 40)
np.save(out, model.dual_coef_)
"""


@pytest.mark.parametrize(
    "combine",
    ["sum", *(pytest.param(name, marks=pytest.mark.slow) for name in ("conjugate", "average"))],
)
def test_a_driver_killed_and_started_again(combine, tmp_path):
    reading = tmp_path / "reading"
    reading.mkdir()
    checkpoint = tmp_path / "model-checkpoint"

    def start(seconds):
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, reading, tmp_path / "model", combine, str(seconds)],
            env=environment(),
        )

    # Moments are written down in parts of 16 shards; facts about y come first.
    wanted = {"sum": 2, "conjugate": 4, "average": 1}[combine]
    first = start(0.05)
    end = time.monotonic() + 120
    while len(list(checkpoint.glob("*.safetensors"))) < wanted and time.monotonic() < end:
        assert first.poll() is None or first.returncode == 0
        time.sleep(0.02)
    kill(first.pid)
    first.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in checkpoint.glob("*.safetensors")}
    assert len(kept) >= wanted
    before = len(readers(reading))
    assert start(0.0).wait(120) == 0
    for name, written in kept.items():  # what was finished is not done again
        assert (checkpoint / name).stat().st_mtime_ns == written
    if combine == "sum":
        assert len(readers(reading)) - before <= 24
    again = KernelRegressor(
        Gaussian(1.5), Landmarks(sampling=POINTS), 1e-2, combine=combine, rounds=6
    ).fit(X, Y, shard_labels=np.arange(len(X)) % 40)
    assert np.array_equal(np.load(tmp_path / "model.npy"), again.dual_coef_)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    settings = {**SETTINGS, "checkpoint": tmp_path}
    KernelRegressor(**settings).fit(X, Y)
    KernelRegressor(**settings).fit(X, Y)  # the same one again
    with pytest.raises(ValueError, match="another fit"):
        KernelRegressor(**{**settings, "alpha": 0.5}).fit(X, Y)
    with pytest.raises(ValueError, match="another fit"):
        KernelRegressor(**settings).fit(X + 1e-9, Y)
    with pytest.raises(ValueError, match="another fit"):
        KernelRegressor(**{**settings, "random_state": 1}).fit(X, Y)
    with pytest.raises(ValueError, match="another fit"):
        KernelRegressor(**settings).fit(X, Y, shard_labels=SPLIT)
    (tmp_path / "fit.json").write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        KernelRegressor(**settings).fit(X, Y)
    with pytest.raises(ValueError, match="must be a folder"):
        KernelRegressor(**{**settings, "checkpoint": tmp_path / "fit.json"}).fit(X, Y)
