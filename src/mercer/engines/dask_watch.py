"""Detect when waiting for a Dask cluster is pointless, and restart frozen workers.

A process may be frozen with its connections open: Dask itself gives up on it only after
``distributed.scheduler.worker-ttl``, five minutes by default.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mercer.validation import EngineError

#: Seconds between checks of the workers.
CHECK = 5.0
#: Seconds of silence that are granted to a worker that may be importing mercer.
IMPORTING = 120.0


def no_worker(patience: float) -> EngineError:
    """Return the error for a cluster without workers."""
    return EngineError(
        f"there has been no worker for {patience:g} s: start workers, and fit again (with "
        f"checkpoint=, finished work is kept)"
    )


class Watch:
    """Monitors a wait: which workers are alive, and whether tasks still finish.

    Parameters
    ----------
    engine : DaskEngine
        The engine, with its ``client`` and time limits (``silence``, ``patience``, ``timeout``).
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._moved = self._checked = self._manned = time.monotonic()

    def look(self, moved: bool) -> None:
        """Restart frozen workers; raise if no workers are left or no task finishes in time."""
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
        running, paused = self._workers()
        if running:
            self._manned = now
        elif now - self._manned > engine.patience and paused:
            raise EngineError(
                f"all workers ({paused}) have been paused for {engine.patience:g} s: they are "
                f"short of memory. Use fewer functions, more shards, a lower memory_limit, or "
                f"workers with more memory"
            )
        elif now - self._manned > engine.patience:
            raise no_worker(engine.patience)

    def _workers(self) -> tuple[int, int]:
        """Return how many workers are running and how many are paused; restart frozen ones."""
        engine = self._engine
        try:
            alive: tuple[int, int] = engine.client.sync(
                engine.client._run_on_scheduler,
                restart_frozen,
                silence=engine.silence,
                known=engine.known,
                callback_timeout=CHECK,
            )
        except (TimeoutError, OSError):  # the scheduler is gone or busy: wait up to ``patience``
            return 0, 0
        return alive


#: On the scheduler: restarts in progress, by the address of the worker.
_restarts: dict[str, asyncio.Future[Any]] = {}


async def restart_frozen(dask_scheduler: Any, silence: float, known: set[str]) -> tuple[int, int]:
    """Restart workers without a heartbeat; return the numbers of running and paused workers.

    This runs on the scheduler and does what Dask does after its worker-ttl: the nanny kills the
    process and starts another; a worker without a nanny is removed. Workers that are not ``known``
    to have imported mercer may be silent for longer.
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
    alive = [w for w in dask_scheduler.workers.values() if w.address not in frozen]
    paused = sum(w.status.name == "paused" for w in alive)
    return len(alive) - paused, paused
