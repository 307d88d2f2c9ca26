"""Checkpoint finished work in a folder, so that a fit can resume after its driver was lost.

This is an engine that writes its results in order. A restarted fit with the same folder requests
the same tasks, and results in the journal are read instead of computed; what shards hold is
recomputed only if a later task needs it. Sums are written in parts. Every part has checksums and
the name of its fit and of its place; one that is damaged, or of another place, is computed again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mercer.contracts import Engine, ShardProgress, T
from mercer.engines.in_process import task_name, tree_sum
from mercer.storage import (
    UNREADABLE,
    LibraryRecords,
    atomic_path,
    check_regular,
    load_value,
    record_checksum,
    save_value,
    write_json,
)
from mercer.validation import warn

FORMAT = 6
#: The longest header in bytes: it has three short entries.
LONGEST_HEADER = 10_000
#: Number of shards whose sum is written together; a power of two, to keep the shape of the tree.
PART = 16


class Journal:
    """An engine that stores the results of another engine.

    Parameters
    ----------
    engine : Engine
        The engine that runs the tasks.
    folder : path
        Where to write; it is created if it does not exist.
    seed : int
        The seed of a new fit; a resumed fit uses its original seed.
    identity : str
        A fingerprint that must be equal for a fit to resume.
    """

    def __init__(self, engine: Engine, folder: str | Path, seed: int, identity: str) -> None:
        self._engine, self._folder, self._order = engine, Path(folder).expanduser(), 0
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"checkpoint must be a folder, got the file {self._folder}")
        self._folder.mkdir(parents=True, exist_ok=True)
        head = self._folder / "fit.json"
        mine: dict[str, Any] = {"format": FORMAT, "identity": identity, "seed": seed}
        if head.exists():
            mine = _read_head(head)
            if mine["identity"] != identity:
                raise ValueError(
                    f"the checkpoint in {self._folder} is from another fit (its parameters or rows "
                    f"differ): use another folder, or delete this one"
                )
        else:
            with atomic_path(head) as partial:
                write_json({**mine, "checksum": record_checksum(mine)}, partial)
        # A driver that was killed could not remove what it was writing.
        for left in self._folder.glob(".*.safetensors.*.partial"):
            left.unlink(missing_ok=True)
        self.seed, self._identity = int(mine["seed"]), identity

    @property
    def progress(self) -> ShardProgress | None:
        """The progress callback of the engine."""
        return self._engine.progress

    @progress.setter
    def progress(self, callback: ShardProgress | None) -> None:
        self._engine.progress = callback

    @property
    def width(self) -> int:
        """The number of tasks that run at a time."""
        return self._engine.width

    @property
    def task_memory(self) -> int | None:
        """Bytes available to a task, if known."""
        return getattr(self._engine, "task_memory", None)

    def place(self, items: Sequence[object]) -> list[Any]:
        """Return references to items."""
        return self._engine.place(items)

    def share(self, value: object) -> Any:
        """Return a value that is sent once."""
        return self._engine.share(value)

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: object) -> list[Any]:
        """Defer a task over items until a result of it is needed."""
        results = cache(lambda: self._engine.hold(task, _now(items), *common))
        return [_Item(results, number) for number in range(len(items))]

    def map(
        self,
        task: Callable[..., T],
        items: Sequence[object],
        *common: object,
        label: str = "",
        light: bool = False,
    ) -> list[T]:
        """Run a task over items, or read its results from the journal."""
        return self._kept(
            task, lambda: self._engine.map(task, _now(items), *common, label=label, light=light)
        )

    def reduce(
        self,
        task: Callable[..., T],
        add: Callable[[T, T], T],
        items: Sequence[object],
        *common: object,
        label: str = "",
    ) -> T:
        """Run a task over items and add the results, or read parts of the sum from the journal."""

        def part(start: int) -> T:
            some = _now(items)[start : start + PART]
            return self._kept(
                task, lambda: self._engine.reduce(task, add, some, *common, label=label)
            )

        return tree_sum((part(start) for start in range(0, len(items), PART)), add)

    def _kept(self, task: Callable[..., object], make: Callable[[], T]) -> T:
        """Return the next result from the journal, or compute and write it."""
        name = f"{self._order:05d}-{task_name(task)}"
        self._order += 1
        path = self._folder / f"{name}.safetensors"
        owner = f"{self._identity} {name}"
        if path.exists():
            try:
                found: T = load_value(path, LibraryRecords(), owner)
                return found
            except (OSError, *UNREADABLE) as error:
                warn(f"{path} of the checkpoint is damaged, so it is computed again ({error})")
        value = make()
        save_value(value, path, LibraryRecords(), "a checkpoint", owner)
        return value


def _read_head(path: Path) -> dict[str, Any]:
    """Return the header of a checkpoint; raise ValueError if it is not whole."""
    check_regular(path)
    damaged = f"{path} is damaged: delete the folder"
    if path.stat().st_size > LONGEST_HEADER:
        raise ValueError(damaged)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(damaged) from error
    if not isinstance(found, dict):
        raise ValueError(damaged)
    if found.get("format") != FORMAT:
        raise ValueError(
            f"{path} must be of a checkpoint of format {FORMAT}, got {found.get('format')!r}, of "
            f"another version of mercer: use another folder, or delete this one"
        )
    checksum = found.pop("checksum", None)
    if set(found) != {"format", "identity", "seed"} or checksum != record_checksum(found):
        raise ValueError(damaged)
    return found


@dataclass(frozen=True)
class _Item:
    """One of several results, which are computed when one of them is first needed."""

    results: Callable[[], Sequence[Any]]
    number: int


def _now(items: Sequence[Any]) -> list[Any]:
    return [item.results()[item.number] if isinstance(item, _Item) else item for item in items]
