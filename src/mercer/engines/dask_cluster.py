"""Reach a Dask cluster, welcome its workers, and watch it while a fit waits.

*Reach*: clients that a fit cannot use are refused in words.

*Welcome*: every process is asked for its version of mercer before any row is sent. The question is
made of functions of Python itself, so that a process without mercer understands it. It imports
mercer in a thread: heartbeats go on, which an import with the first task would hold up, as if the
worker were frozen.

*Watch*: a process may be frozen with its connections open, which Dask itself gives up on only after
``distributed.scheduler.worker-ttl``, five minutes by default. And if all workers are lost at once,
it gives tasks that preferred one of them to no worker that comes later, though any may take them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Coroutine
from concurrent import futures
from typing import TYPE_CHECKING, Any

from distributed import Client, Scheduler, get_worker
from distributed.threadpoolexecutor import thread_state

from mercer.validation import EngineError
from mercer.version import VERSION

if TYPE_CHECKING:
    from mercer.engines.dask_engine import DaskEngine


def connected(address: object, seconds: float) -> Client:
    """Return a client of a scheduler; raise EngineError if it cannot be reached.

    It is opened in a thread, so that an alarm of the user is not taken for an error of Dask.
    """
    pool = futures.ThreadPoolExecutor(1)
    opening = pool.submit(Client, address, timeout=seconds, set_as_default=False)
    try:
        futures.wait([opening])
    finally:
        pool.shutdown(wait=False)
        if not opening.done():  # interrupted
            opening.add_done_callback(_close)
    error = opening.exception()
    if isinstance(error, OSError):
        raise EngineError(
            f"could not connect to a Dask scheduler at {address!r} within {seconds:g} s: check the "
            f"address, and that 'dask scheduler' is running"
        ) from error
    client = opening.result()
    try:
        check_client(client)
    except EngineError:
        client.close()
        raise
    return client


def _close(opening: futures.Future[Client]) -> None:
    """Close a client that nobody waits for any more, if it was opened."""
    if opening.exception() is None:
        opening.result().close()


def closed_client() -> EngineError:
    """Return the error for a client that is closed, before a fit or during it."""
    return EngineError(
        "the client is closed: pass an open Client, or the address of the scheduler, as engine="
    )


def check_client(client: Client) -> None:
    """Raise EngineError for a client on which a fit would fail, or wait for itself."""
    if client.status in ("closing", "closed"):
        raise closed_client()
    if client.asynchronous:
        raise EngineError(
            "a fit waits for its tasks, and would block the event loop of an asynchronous client: "
            "use Client(address), or fit in a thread (await asyncio.to_thread(model.fit, X, y))"
        )
    # A thread of a worker that has not seceded: the worker would not run other tasks meanwhile.
    if getattr(thread_state, "proceed", False) and (
        get_worker().address in client.scheduler_info(n_workers=-1)["workers"]
    ):
        raise EngineError(
            "a fit in a task of the same cluster would hold up the worker that its own tasks wait "
            "for: use engine=None there (threads of the worker), or call distributed.secede() first"
        )


def started(client: Client, work: Coroutine[Any, Any, Any]) -> futures.Future[Any]:
    """Return the future of what has been started on the loop of a client."""
    try:
        return asyncio.run_coroutine_threadsafe(work, client.loop.asyncio_loop)
    except RuntimeError as error:  # it has no loop any more
        work.close()
        raise closed_client() from error


def within(client: Client, seconds: float, work: Coroutine[Any, Any, Any]) -> Any:
    """Return what runs on the loop of a client; None if it takes longer or has no connection.

    That time is up is no exception here, so that an alarm of the user may raise TimeoutError.
    """
    future = started(client, work)
    try:
        futures.wait([future], timeout=seconds)
        lost = future.cancelled() or not future.done() or isinstance(future.exception(), OSError)
        return None if lost else future.result()
    finally:
        future.cancel()


#: Seconds to wait for the answers; importing takes long from a slow disk.
ANSWER = 25.0
#: Seconds between looks for a first worker.
LOOK = 0.1
#: What a process evaluates.
QUESTION = "getattr(__import__('mercer'), '__version__', 'unknown')"


def welcome(client: Client, known: set[str], patience: float) -> None:
    """Add workers with this version of mercer to ``known``; raise EngineError for any other.

    Those that do not answer in time are left out: they are busy, frozen or lost. If there is no
    worker, one must come within ``patience`` seconds: a task would reach it before any question.
    """
    began = time.monotonic()
    while not (workers := set(client.scheduler_info(n_workers=-1)["workers"])):
        if time.monotonic() - began > patience:
            raise no_worker(patience)
        time.sleep(LOOK)
    known &= workers  # those lost may come back at the same address as another process
    new = sorted(workers - known)
    if not new:
        return
    scheduler = str(client.scheduler.address)
    answers = client.sync(_ask, client, new, scheduler)
    wrong = [_complaint(address, answers[address], scheduler) for address in [scheduler, *new]]
    wrong = [words for words in wrong if words]
    if wrong:
        more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
        raise EngineError(
            f"all processes of a cluster must have the same version of mercer, and here it is "
            f"{VERSION}: {'; '.join(wrong[:3])}{more}. Install mercer {VERSION} there "
            f"(pip install mercer=={VERSION}), and start them again"
        )
    known.update(address for address in new if answers[address] == VERSION)


async def _ask(client: Client, workers: list[str], scheduler: str) -> dict[str, Any]:
    """Return the version, the error or None of every process, by its address."""

    async def of_worker(address: str) -> Any:
        found = await client._run(
            asyncio.to_thread, eval, QUESTION, workers=[address], on_error="return"
        )
        return found.get(address)

    async def of_scheduler() -> Any:
        return await client._run_on_scheduler(asyncio.to_thread, eval, QUESTION)

    async def answered(question: Awaitable[Any]) -> Any:
        try:
            return await asyncio.wait_for(question, ANSWER)
        except (TimeoutError, OSError):
            return None
        except ImportError as error:
            return error

    questions = [answered(of_scheduler()), *(answered(of_worker(address)) for address in workers)]
    return dict(zip([scheduler, *workers], await asyncio.gather(*questions), strict=True))


def _complaint(address: str, answer: object, scheduler: str) -> str:
    """Return what is wrong with a process; nothing if it did not answer."""
    who = f"the {'scheduler' if address == scheduler else 'worker'} at {address}"
    if isinstance(answer, Exception) and not isinstance(answer, OSError):  # not lost
        return f"{who} cannot import it ({answer})"
    if isinstance(answer, str) and answer != VERSION:
        return f"{who} has version {answer}"
    return ""


#: Seconds between checks of the workers.
CHECK = 5.0
#: Seconds of silence that are granted to a worker that may be importing mercer.
IMPORTING = 120.0
#: The keys of our tasks begin with this.
PREFIX = "mercer-"


def no_worker(patience: float) -> EngineError:
    """Return the error for a cluster without workers."""
    return EngineError(
        f"there has been no worker for {patience:g} s: start workers, and fit again (with "
        f"checkpoint=, finished work is kept)"
    )


class Watch:
    """Monitors a wait: which workers are alive, and whether tasks can run and still finish.

    Parameters
    ----------
    engine : DaskEngine
        The engine, with its ``client`` and time limits (``silence``, ``patience``, ``timeout``).
    """

    def __init__(self, engine: DaskEngine) -> None:
        self._engine = engine
        self._moved = self._checked = self._manned = time.monotonic()

    def look(self, moved: bool) -> None:
        """Mend what can be mended; raise if no worker can run tasks or none finishes in time."""
        now, engine = time.monotonic(), self._engine
        if moved:
            self._moved = now
        if now - self._checked < CHECK:
            return
        self._checked = now
        if now - self._moved > engine.timeout:
            raise EngineError(
                f"no task has finished for {engine.timeout:g} s: see {engine.dashboard}, or raise "
                f"DaskEngine(timeout=)"
            )
        running, paused, stuck = self._cluster()
        if running and not stuck:
            self._manned = now
        elif now - self._manned <= engine.patience:
            return
        elif running:
            raise EngineError(
                f"no worker may run {stuck} tasks of the fit, for {engine.patience:g} s: they "
                f"require resources or workers that the cluster does not have. Start such workers, "
                f"or fit outside dask.annotate()"
            )
        elif paused:
            raise EngineError(
                f"all workers ({paused}) have been paused for {engine.patience:g} s: they are "
                f"short of memory. Use fewer functions, more shards, a lower memory_limit, or "
                f"workers with more memory"
            )
        else:
            raise no_worker(engine.patience)

    def _cluster(self) -> tuple[int, int, int]:
        """Return what :func:`mend` does; zeros if the scheduler is gone or busy."""
        engine, client = self._engine, self._engine.client
        mended = client._run_on_scheduler(
            mend, silence=engine.silence, known=engine.known, client=client.id
        )
        return within(client, CHECK, mended) or (0, 0, 0)


#: On the scheduler: restarts in progress, by the address of the worker.
_restarts: dict[str, asyncio.Future[Any]] = {}


async def mend(
    dask_scheduler: Scheduler, silence: float, known: set[str], client: str
) -> tuple[int, int, int]:
    """Restart workers without a heartbeat, and free tasks from waiting for a worker that is gone.

    Returns the numbers of running workers, of paused ones, and of tasks of the client that no
    worker may run. This runs on the scheduler.
    """
    frozen = restart_frozen(dask_scheduler, silence, known)
    # They may run anywhere: a worker is chosen again, among those there are now.
    free = [
        task.key
        for task in dask_scheduler.unrunnable
        if task.loose_restrictions and str(task.key).startswith(PREFIX)
    ]
    dask_scheduler.transitions(dict.fromkeys(free, "processing"), f"mercer-free-{time.time()}")
    stuck = sum(
        any(one.client_key == client for one in task.who_wants or ())
        for task in dask_scheduler.unrunnable
    )
    alive = [w for w in dask_scheduler.workers.values() if w.address not in frozen]
    paused = sum(w.status.name == "paused" for w in alive)
    return len(alive) - paused, paused, stuck


def restart_frozen(dask_scheduler: Scheduler, silence: float, known: set[str]) -> list[str]:
    """Restart workers without a heartbeat; return their addresses.

    This does what Dask does after its worker-ttl: the nanny kills the process and starts another; a
    worker without a nanny is removed. Workers that are not ``known`` to have imported mercer may be
    silent for longer.
    """
    now = time.time()
    workers = {w.address: now - w.last_seen for w in dask_scheduler.workers.values()}
    frozen = [
        address
        for address, silent in workers.items()
        if silent > (silence if address in known else max(silence, IMPORTING))
    ]
    for address in frozen:
        if address not in _restarts:
            _restarts[address] = asyncio.ensure_future(
                dask_scheduler.restart_workers(
                    [address],
                    wait_for_workers=False,
                    on_error="return",
                    stimulus_id=f"mercer-frozen-{now}",
                )
            )
    return frozen
