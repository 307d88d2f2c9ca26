"""Keep what is finished in a folder, so that a fit can go on after its driver was lost.

An engine whose results are written down in order. A fit that is started again with the same folder
gives the same orders, and those that are in the journal are answered from it; what shards hold is
made again only where a later order needs it. Sums are written down in parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mercer.contracts import Engine, ShardProgress
from mercer.engines.tree import tree_sum
from mercer.storage import LibraryRecords, atomic_path, load_value, save_value, write_json

FORMAT = 2
#: Shards whose sum is written down together; a power of two, so that the tree keeps its shape.
PART = 16


class Journal:
    """An engine that writes down what another one finishes.

    Parameters
    ----------
    engine : Engine
        Does the work.
    folder : path
        Where to write; it is made where it is missing.
    seed : int
        The seed of a new fit; one that goes on has the seed of its beginning.
    identity : str
        What must be the same for a fit to go on.
    """

    def __init__(self, engine: Engine, folder: Any, seed: int, identity: str) -> None:
        self._engine, self._folder, self._order = engine, Path(folder).expanduser(), 0
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"checkpoint must be a folder, got the file {self._folder}")
        self._folder.mkdir(parents=True, exist_ok=True)
        head = self._folder / "fit.json"
        mine: dict[str, Any] = {"format": FORMAT, "identity": identity, "seed": seed}
        if head.exists():
            mine = _read_head(head)
            if mine.get("format") != FORMAT or mine.get("identity") != identity:
                raise ValueError(
                    f"the checkpoint in {self._folder} is of another fit (its parameters or rows "
                    f"differ): give another folder, or delete this one"
                )
        else:
            with atomic_path(head) as partial:
                write_json(mine, partial)
        self.seed = int(mine["seed"])

    @property
    def progress(self) -> ShardProgress | None:
        """What the engine tells progress to."""
        return self._engine.progress

    @progress.setter
    def progress(self, told: ShardProgress | None) -> None:
        self._engine.progress = told

    @property
    def width(self) -> int:
        """How many tasks run at a time."""
        return self._engine.width

    @property
    def task_memory(self) -> int | None:
        """Bytes that a task may take, where the engine knows."""
        return getattr(self._engine, "task_memory", None)

    def place(self, items: Sequence[Any]) -> list[Any]:
        """Return references to items."""
        return self._engine.place(items)

    def share(self, value: Any) -> Any:
        """Return a value that is sent once."""
        return self._engine.share(value)

    def hold(self, task: Callable[..., Any], items: Sequence[Any], *common: Any) -> _Later:
        """Promise to run a task over items: it runs when a result of it is needed."""
        return _Later(lambda: self._engine.hold(task, _now(items), *common), len(items))

    def map(
        self,
        task: Callable[..., Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
        light: bool = False,
    ) -> list[Any]:
        """Run a task over items, or read its results."""
        found: list[Any] = self._kept(
            task, lambda: self._engine.map(task, _now(items), *common, label=label, light=light)
        )
        return found

    def reduce(
        self,
        task: Callable[..., Any],
        add: Callable[[Any, Any], Any],
        items: Sequence[Any],
        *common: Any,
        label: str = "",
    ) -> Any:
        """Run a task over items and add the results, or read parts of the sum."""

        def part(start: int) -> Any:
            some = _now(items)[start : start + PART]
            return self._kept(
                task, lambda: self._engine.reduce(task, add, some, *common, label=label)
            )

        return tree_sum((part(start) for start in range(0, len(items), PART)), add)

    def _kept(self, task: Callable[..., Any], make: Callable[[], Any]) -> Any:
        """Return the next result of the journal, or make and write it."""
        name = f"{self._order:05d}-{getattr(task, '__name__', 'task')}"
        self._order += 1
        path = self._folder / f"{name}.safetensors"
        if path.exists():
            try:
                return load_value(path, LibraryRecords())
            except (OSError, ValueError, TypeError) as error:
                raise ValueError(
                    f"{path} of the checkpoint is damaged: delete the folder"
                ) from error
        value = make()
        save_value(value, path, LibraryRecords(), "a checkpoint")
        return value


def _read_head(path: Path) -> dict[str, Any]:
    """Return what a checkpoint says of its fit."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: delete the folder") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} is damaged: delete the folder")
    return found


class _Later(list[Any]):
    """Items that are made when they are first needed."""

    def __init__(self, make: Callable[[], list[Any]], count: int) -> None:
        super().__init__([None] * count)
        self._make: Callable[[], list[Any]] | None = make

    def now(self) -> list[Any]:
        """Return the items."""
        if self._make is not None:
            self[:] = self._make()
            self._make = None
        return self


def _now(items: Sequence[Any]) -> Sequence[Any]:
    return items.now() if isinstance(items, _Later) else items
