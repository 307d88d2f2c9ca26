"""Run attacks, each with a seed of its own, and count what came of them.

An attack makes hostile input and uses the library on it. It is *right* if the result is as it must
be, *refused* if an error says in words what is wrong, *wrong* in every other case, and *hung* if it
takes too long. Every wrong and every hung is a bug.
"""

from __future__ import annotations

import itertools
import json
import signal
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import numpy as np

from mercer import EngineError, MemoryLimitError, MercerWarning

#: Seconds after which an attack counts as hung.
LIMIT = 30.0
#: Errors by which the library refuses.
REFUSALS = (ValueError, TypeError, OSError, MemoryLimitError, EngineError)
#: Words of errors that come from deep inside, and help nobody.
RAW = ("has no attribute", "unhashable", "object is not", "cannot unpack", "broadcast", "singular")

Attack = Callable[[np.random.Generator, Path], str]


class WrongError(Exception):
    """A result that is not as it must be."""


class HungError(Exception):
    """An attack that takes too long."""


@dataclass
class Counts:
    """What came of the attacks of one kind."""

    tried: int = 0
    right: int = 0
    refused: int = 0
    wrong: int = 0
    hung: int = 0
    found: list[str] = field(default_factory=list)  # seeds and errors of what went wrong

    def line(self, name: str) -> str:
        """Return the counts as a row of a table."""
        values = (self.tried, self.right, self.refused, self.wrong, self.hung)
        return f"| {name} | " + " | ".join(f"{value:,}" for value in values) + " |"


def refused_or(result: Callable[[], str]) -> str:
    """Return "refused" if a call raises an error in words, otherwise what it returns."""
    try:
        return result()
    except REFUSALS as error:
        words = str(error)
        if len(words) < 10 or any(raw in words for raw in RAW):
            raise WrongError(f"raw {type(error).__name__}: {words!r}") from error
        return "refused"


def attempt(attack: Attack, seed: list[int], counts: Counts, limit: float = LIMIT) -> str:
    """Run an attack once, count, and return what came of it."""
    counts.tried += 1
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            warnings.catch_warnings(),
            time_limit(limit),
        ):
            warnings.simplefilter("ignore", MercerWarning)
            warnings.simplefilter("error", RuntimeWarning)
            outcome = attack(np.random.default_rng(seed), Path(folder))
    except HungError:
        outcome = "hung"
        counts.found.append(f"{seed}: took more than {limit:g} s")
    except Exception as error:  # noqa: BLE001  an attack may raise anything: that is what is counted
        outcome = "wrong"
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        counts.found.append(f"{seed}: {type(error).__name__} at {where}: {error}"[:300])
    setattr(counts, outcome, getattr(counts, outcome) + 1)
    return outcome


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise HungError in the main thread after so many seconds; nothing where there is no alarm."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seed_of(seed: int, name: str, number: int) -> list[int]:
    """Return the seed of an attack, whatever other attacks are run."""
    return [seed, zlib.crc32(name.encode()), number]


def run_for(
    attacks: Mapping[str, Attack],
    seconds: float,
    seed: int = 0,
    numbers: range | None = None,
    limit: float = LIMIT,
    log: Path | None = None,
    rounds: int = 0,
) -> dict[str, Counts]:
    """Run attacks of all kinds in turn until the time is over, or those with these numbers.

    ``log`` gets a line of JSON for every attack. Each is tried at least ``rounds`` times.
    """
    counts = {name: Counts() for name in attacks}
    end = time.monotonic() + seconds
    for done, number in enumerate(itertools.count() if numbers is None else numbers):
        if time.monotonic() >= end and done >= rounds:
            break
        for name, attack in attacks.items():
            start, before = time.monotonic(), len(counts[name].found)
            outcome = attempt(attack, seed_of(seed, name, number), counts[name], limit)
            if log is not None:
                line = {"attack": name, "seed": seed, "number": number, "outcome": outcome}
                line["seconds"] = round(time.monotonic() - start, 2)
                line["found"] = counts[name].found[before:]
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    return counts


def table(counts: Mapping[str, Counts]) -> str:
    """Return a table of counts, and what went wrong below it."""
    total = Counts()
    for one in counts.values():
        for name in ("tried", "right", "refused", "wrong", "hung"):
            setattr(total, name, getattr(total, name) + getattr(one, name))
    lines = ["| attack | tried | right | refused | wrong | hung |", "|---|---|---|---|---|---|"]
    lines += [one.line(name) for name, one in counts.items()]
    lines.append(total.line("all"))
    for name, one in counts.items():
        lines += [f"{name} {what}" for what in one.found]
    return "\n".join(lines)
