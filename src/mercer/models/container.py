"""The file itself: safetensors, with one JSON document in its header."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.models.atomic import atomic_path
from mercer.models.encode import Json
from mercer.models.errors import ModelFileError

#: The key of the document in the header.
KEY = "mercer"
#: What safetensors calls the dtypes that models use.
DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64"}


def safetensors() -> Any:
    """Return the safetensors package, or say how to get it."""
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            "model files are written and read with safetensors, which is not installed: try "
            "pip install mercer[serve]"
        ) from error
    return safetensors


def write_container(path: Path, document: Json, tensors: dict[str, Array]) -> None:
    """Write a document and its tensors, whole or not at all."""
    library = safetensors()
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    with atomic_path(path) as partial:
        library.numpy.save_file(tensors, partial, metadata={KEY: text})


class Container:
    """An open model file: its document, and tensors by name, each given out once."""

    def __init__(self, path: Path, handle: Any) -> None:
        self.path = path
        self._handle = handle
        self._left = set(handle.keys())
        self._names = set(self._left)

    def error(self, what: str) -> ModelFileError:
        """Return the error that names the file."""
        return ModelFileError(f"{self.path} is not a model file that can be read: {what}")

    def document(self) -> dict[str, Json]:
        """Return the JSON document."""
        text = (self._handle.metadata() or {}).get(KEY)
        if text is None:
            raise self.error(
                f"it is a safetensors file without the {KEY!r} entry that describes a model; "
                f"write it with mercer.save"
            )
        try:
            document = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise self.error(f"its description is not JSON ({error})") from error
        if not isinstance(document, dict):
            raise self.error(f"its description must be an object, got {type(document).__name__}")
        return document

    def tensor(self, name: str) -> Array:
        """Return a tensor as an array of its own memory."""
        if name not in self._names:
            raise self.error(f"the tensor {name!r} is missing")
        if name not in self._left:
            # Each tensor has one owner, so that a small file can never fill the memory.
            raise self.error(f"the tensor {name!r} is used twice")
        self._left.remove(name)
        dtype = self._handle.get_slice(name).get_dtype()
        if dtype not in DTYPES:
            raise self.error(f"the tensor {name!r} has the unknown dtype {dtype}")
        return np.array(self._handle.get_tensor(name))


def _refuse(constant: str) -> None:
    # Python reads NaN and Infinity, which JSON does not have and models do not write.
    raise ValueError(f"{constant} is no number")


@contextmanager
def open_container(path: Path) -> Iterator[Container]:
    """Open a model file; safetensors checks that its header and its length agree."""
    library = safetensors()
    advice = "it may be damaged, cut short, or something else; write it anew with mercer.save"
    try:
        with library.safe_open(path, framework="numpy") as handle:
            yield Container(path, handle)
    except library.SafetensorError as error:
        raise ModelFileError(f"{path} cannot be read as safetensors: {error}; {advice}") from error
