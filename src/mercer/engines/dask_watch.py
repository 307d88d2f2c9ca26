"""Notice when nothing will come of waiting for a Dask cluster, and restart workers that are frozen.

A process may be frozen with its connections open: Dask itself gives up on it only after
``distributed.scheduler.worker-ttl``, five minutes by default.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mercer.validation import EngineError

#: Seconds between two looks at who is still there.
CHECK = 5.0


class Watch:
    """Looks after a wait: who is there, and whether anything still ends.

    Parameters
    ----------
    engine : DaskEngine
        Its ``client``, and how long it waits (``silence``, ``patience``, ``timeout``).
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._moved = self._checked = self._manned = time.monotonic()

    def look(self, moved: bool) -> None:
        """Restart frozen workers; raise where there are none, or nothing ends for too long."""
        now, engine = time.monotonic(), self._engine
        if moved:
            self._moved = now
        if now - self._checked < CHECK:
            return
        self._checked = now
        if now - self._moved > engine.timeout:
            raise EngineError(
                f"no task has ended for {engine.timeout:g} s: see {engine.dashboard}, or raise "
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
            raise EngineError(
                f"there has been no worker for {engine.patience:g} s, so nothing can go on: start "
                f"workers, and fit again (checkpoint= keeps what is finished)"
            )

    def _workers(self) -> tuple[int, int]:
        """Return how many workers run tasks, and are paused; those frozen are restarted."""
        engine = self._engine
        try:
            alive: tuple[int, int] = engine.client.sync(
                engine.client._run_on_scheduler,
                restart_frozen,
                silence=engine.silence,
                callback_timeout=CHECK,
            )
        except (TimeoutError, OSError):  # the scheduler is not there, or busy: patience decides
            return 0, 0
        return alive


#: On the scheduler: restarts that are under way, by the address of the worker.
_restarts: dict[str, asyncio.Future[Any]] = {}


async def restart_frozen(dask_scheduler: Any, silence: float) -> tuple[int, int]:
    """Restart workers without a sign of life, on the scheduler; return who runs and is paused.

    It is what Dask does after its worker-ttl: the nanny ends the process and starts another; a
    worker without one is removed.
    """
    now = time.time()
    workers = {w.address: now - w.last_seen for w in dask_scheduler.workers.values()}
    frozen = [address for address, silent in workers.items() if silent > silence]
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
