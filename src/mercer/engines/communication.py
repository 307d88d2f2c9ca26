"""A record of the communication with shards, to compare combinations."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass

import numpy as np


@dataclass
class Exchange:
    """One kind of exchange: how many numbers to and from each shard, and how often."""

    what: str
    to_shard: int
    from_shard: int
    times: int = 1


@dataclass
class Communication:
    """All exchanges of a fit.

    Examples
    --------
    >>> sent = Communication(shards=4)
    >>> sent.record("solve", to_shard=100, from_shard=100)
    >>> sent.record("solve", to_shard=100, from_shard=100)
    >>> sent.numbers, sent.bytes
    (400, 12800)
    """

    shards: int
    exchanges: list[Exchange] = field(default_factory=list)

    def record(self, what: str, to_shard: int, from_shard: int) -> None:
        """Record an exchange with every shard; the numbers are those of the largest shard."""
        for known in self.exchanges:
            if (known.what, known.to_shard, known.from_shard) == (what, to_shard, from_shard):
                known.times += 1
                return
        self.exchanges.append(Exchange(what, to_shard, from_shard))

    @property
    def numbers(self) -> int:
        """Numbers to and from one shard."""
        return sum(e.times * (e.to_shard + e.from_shard) for e in self.exchanges)

    @property
    def bytes(self) -> int:
        """Bytes to and from all shards, eight per number."""
        return 8 * self.shards * self.numbers

    def __str__(self) -> str:
        lines = [f"{'exchange':<24}{'times':>7}{'to a shard':>14}{'from a shard':>14}"]
        lines += [
            f"{e.what:<24}{e.times:>7,}{e.to_shard:>14,}{e.from_shard:>14,}" for e in self.exchanges
        ]
        total = f"{self.numbers:,} numbers per shard, {self.bytes:,} bytes for {self.shards} shards"
        return "\n".join([*lines, total])


def count_numbers(value: object) -> int:
    """Count the numbers in nested arrays.

    >>> count_numbers({"a": np.zeros((2, 3)), "b": [1.0, None, "text"]})
    7
    """
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, dict):
        return sum(count_numbers(part) for part in value.values())
    if isinstance(value, (list, tuple)):
        return sum(count_numbers(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(count_numbers(getattr(value, f.name)) for f in fields(value))
    return int(isinstance(value, (int, float)) and not isinstance(value, bool))
