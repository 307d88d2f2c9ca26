"""Ask every process of a Dask cluster for its version of mercer, before any row is sent.

The question is made of functions of Python itself, so that a process without mercer understands it.
It imports mercer in a thread: heartbeats go on, which an import with the first task would hold up,
as if the worker were frozen.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mercer.engines.dask_watch import no_worker
from mercer.validation import EngineError
from mercer.version import VERSION

#: Seconds to wait for the answers; importing takes long from a slow disk.
ANSWER = 25.0
#: Seconds between looks for a first worker.
LOOK = 0.1
#: What a process evaluates.
QUESTION = "getattr(__import__('mercer'), '__version__', 'unknown')"


def welcome(client: Any, known: set[str], patience: float) -> None:
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


async def _ask(client: Any, workers: list[str], scheduler: str) -> dict[str, Any]:
    """Return the version, the error or None of every process, by its address."""

    async def of_worker(address: str) -> Any:
        found = await client._run(
            asyncio.to_thread, eval, QUESTION, workers=[address], on_error="return"
        )
        return found.get(address)

    async def of_scheduler() -> Any:
        return await client._run_on_scheduler(asyncio.to_thread, eval, QUESTION)

    async def within(question: Any) -> Any:
        try:
            return await asyncio.wait_for(question, ANSWER)
        except (TimeoutError, OSError):
            return None
        except ImportError as error:
            return error

    questions = [within(of_scheduler()), *(within(of_worker(address)) for address in workers)]
    return dict(zip([scheduler, *workers], await asyncio.gather(*questions), strict=True))


def _complaint(address: str, answer: Any, scheduler: str) -> str:
    """Return what is wrong with a process; nothing if it did not answer."""
    who = f"the {'scheduler' if address == scheduler else 'worker'} at {address}"
    if isinstance(answer, Exception) and not isinstance(answer, OSError):  # not lost
        return f"{who} cannot import it ({answer})"
    if isinstance(answer, str) and answer != VERSION:
        return f"{who} has version {answer}"
    return ""
