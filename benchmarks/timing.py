"""Interleaved timing: every contender once, then again, so that a noisy machine is fair to all."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Timed:
    """Seconds of every repeat, and what the last one returned."""

    seconds: list[float] = field(default_factory=list)
    value: Any = None

    @property
    def median(self) -> float:
        """The median of the repeats."""
        return statistics.median(self.seconds)


def interleaved(contenders: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Timed]:
    """Run each contender once a round, for ``repeats`` rounds."""
    results = {name: Timed() for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            results[name].value = None
            gc.collect()
            start = time.perf_counter()
            results[name].value = run()
            results[name].seconds.append(time.perf_counter() - start)
            print(f"  {name}: {results[name].seconds[-1]:.2f} s", flush=True)
    return results
