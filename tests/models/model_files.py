"""Helpers: write a model file anew with a changed description or changed tensors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from mercer.storage.tensor_file import DTYPES, array_checksum, seal


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with safe_open(path, framework="numpy") as handle:
        document = json.loads(handle.metadata()["mercer"])
    return document, load_file(path)


def put(*keys_and_value: Any) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    """Return a change that sets an entry of the description."""
    *keys, last, value = keys_and_value

    def change(document: Any, tensors: Any) -> None:
        for key in keys:
            document = document[key]
        document[last] = value

    return change


def tensor(
    name: str, change: Callable[[np.ndarray], np.ndarray]
) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    """Return a change of a tensor."""

    def apply(document: Any, tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = np.ascontiguousarray(change(tensors[name]))

    return apply


def rewrite(
    path: Path,
    change: Callable[[dict[str, Any], dict[str, np.ndarray]], Any],
    name: str = "changed",
) -> Path:
    """Apply ``change`` to the description and the tensors, in place, and write them elsewhere.

    The checksums are made anew: what is refused is refused for what it says.
    """
    document, tensors = read(path)
    change(document, tensors)
    out = path.with_name(f"{name}.mercer")
    text = json.dumps(document)
    kinds = {dtype: kind for kind, dtype in DTYPES.items()}
    checksums = {
        name: array_checksum(name, kinds[array.dtype], array.shape, array.tobytes())
        for name, array in tensors.items()
    }
    save_file(tensors, out, metadata={"mercer": text, "mercer_checksums": seal(text, checksums)})
    return out
