"""Keep what is finished in a folder, so that a fit can go on after its driver was lost.

An engine whose results are written down in order. A fit that is started again with the same folder
gives the same orders, and those that are in the journal are answered from it; what shards hold is
made again only where a later order needs it. Sums are written down in parts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from mercer.contracts import Array, Engine, ShardProgress
from mercer.engines.tree import tree_sum

FORMAT = 1
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
            try:
                found = json.loads(head.read_text())
            except ValueError as error:
                raise ValueError(f"{head} is damaged: delete the folder") from error
            if found.get("format") != FORMAT or found.get("identity") != identity:
                raise ValueError(
                    f"the checkpoint in {self._folder} is of another fit (its parameters or rows "
                    f"differ): give another folder, or delete this one"
                )
            mine = found
        else:
            _write(head, json.dumps(mine).encode())
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
        path = self._folder / f"{name}.npz"
        if path.exists():
            return _read(path)
        value = make()
        arrays: dict[str, Array] = {}
        document = _plain(value, arrays)
        arrays["document"] = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
        temporary = path.with_suffix(".tmp")
        with open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, path)
        return value


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


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def _plain(value: Any, arrays: dict[str, Array]) -> Any:
    """Return a value as JSON, with its arrays apart; nothing is ever pickled."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"objects": [_plain(item, arrays) for item in value.tolist()]}
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Enum):
        return {"enum": _place_of(type(value)), "name": value.name}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_plain(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(k, arrays), _plain(v, arrays)] for k, v in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _plain(getattr(value, f.name), arrays) for f in fields(value)}
        return {"type": _place_of(type(value)), "fields": parts}
    raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}")


def _read(path: Path) -> Any:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        document = json.loads(arrays.pop("document").tobytes())
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ValueError(f"{path} of the checkpoint is damaged: delete the folder") from error
    return _value(document, arrays)


def _value(document: Any, arrays: dict[str, Array]) -> Any:
    if not isinstance(document, dict):
        return document
    if "array" in document:
        return arrays[document["array"]]
    if "objects" in document:
        return np.array([_value(item, arrays) for item in document["objects"]], dtype=object)
    if "list" in document:
        return [_value(item, arrays) for item in document["list"]]
    if "tuple" in document:
        return tuple(_value(item, arrays) for item in document["tuple"])
    if "dict" in document:
        return {_value(k, arrays): _value(v, arrays) for k, v in document["dict"]}
    if "enum" in document:
        return _class_at(document["enum"])[document["name"]]
    parts = {name: _value(item, arrays) for name, item in document["fields"].items()}
    return _class_at(document["type"])(**parts)


def _place_of(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _class_at(place: str) -> Any:
    """Return a dataclass or enum of this library; nothing else is ever looked up."""
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name, None) if module.startswith("mercer.") else None
    if not isinstance(found, type) or not (is_dataclass(found) or issubclass(found, Enum)):
        raise ValueError(f"the checkpoint names {place!r}, which is no class of its own")
    return found
