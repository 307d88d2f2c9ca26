"""Encode objects as a JSON document and arrays, and decode them without executing code.

In the document, numbers, text, lists, ``true``, ``false`` and ``null`` represent themselves;
anything else is an object with one of these keys:

- ``type``, ``params``: an object of a class in the registry
- ``enum``, ``member``: a member of an enumeration in the registry
- ``array``: the name of a tensor; ``order`` "F" means that it is stored transposed, ``dtype`` that
  its numbers represent dates, or its last axis bytes
- ``labels``: an array of text (``dtype`` "U") or of Python objects (``dtype`` "O")
- ``scalar``: a NumPy scalar, as a tensor without dimensions
- ``float``: "inf", "-inf" or "nan"
- ``tuple``, ``set``, ``dict``: a tuple, a frozenset or a dict; ``pairs`` is a dict whose keys are
  not all text
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.storage.registry import Registry, parameters
from mercer.storage.tensor_file import (
    DamagedFileError,
    Json,
    TensorFile,
    open_tensors,
    write_tensors,
)
from mercer.validation import closest

#: The deepest nesting of objects: only sums of many kernels are nested deeply.
DEPTH = 100
#: In a text array, every label takes as much memory as the longest. Labels with this many
#: characters are rejected if that is much more than their size in the file.
LABEL_CHARACTERS, STRETCH = 2**26, 16
#: Allowed types of labels that are Python objects.
LABELS = (str, bool, int, float, type(None))


class Encoder:
    """Encodes values as JSON; collects their arrays in ``tensors``.

    Parameters
    ----------
    registry : Registry
        The classes that the file may name.
    file : str
        What is being written, for messages.

    Examples
    --------
    >>> encoder = Encoder(Registry([]), "a file")
    >>> encoder.value({"a": np.arange(2), "b": (1, None)}, "x")
    {'dict': {'a': {'array': 'x.a'}, 'b': {'tuple': [1, None]}}}
    >>> encoder.tensors
    {'x.a': array([0, 1])}
    """

    def __init__(self, registry: Registry, file: str) -> None:
        self.registry = registry
        self.file = file
        self.tensors: dict[str, Array] = {}

    def value(self, value: Any, name: str) -> Json:
        """Return ``value`` as JSON; ``name`` is its path, for tensors and messages."""
        if isinstance(value, Enum):
            return {"enum": self._known(value, name), "member": value.name}
        if isinstance(value, str):  # including NumPy strings
            return str(value)
        if isinstance(value, np.generic):
            return {"scalar": self._tensor(np.asarray(value), name)}
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, list):
            return [self.value(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": self.value(list(value), name)}
        if isinstance(value, frozenset):
            return {"set": self.value(sorted(value, key=repr), name)}
        if isinstance(value, dict):
            if all(isinstance(key, str) for key in value):
                return {"dict": self.mapping(value, name)}
            return {"pairs": self.value([list(pair) for pair in value.items()], name)}
        return self.object(value, name)

    def mapping(self, values: Mapping[str, Any], name: str) -> dict[str, Json]:
        """Return a document of named values."""
        return {str(key): self.value(item, f"{name}.{key}") for key, item in values.items()}

    def object(self, value: Any, name: str) -> dict[str, Json]:
        """Return an object as the name of its class and its parameters."""
        kind = self._known(value, name)
        if name.count(".") > DEPTH:
            raise ValueError(
                f"{kind} at {name[:40]}... is nested more than {DEPTH} deep, which {self.file} "
                f"does not support: build the sum or product as a balanced tree"
            )
        return {"type": kind, "params": self.mapping(parameters(value), name)}

    def _known(self, value: Any, name: str) -> str:
        kind = self.registry.name_of(type(value))
        if kind is None:
            raise TypeError(
                f"{name} cannot be written to {self.file}: it must be a number, text, an array or "
                f"an object of mercer's own classes, got {type(value).__name__}. A class of your "
                f"own would have to run code on loading, which mercer never does"
            )
        return kind

    def _array(self, value: Array, name: str) -> dict[str, Json]:
        if value.dtype.kind == "U" and value.ndim == 1:
            return {"labels": value.tolist(), "dtype": "U"}
        if value.dtype.kind == "O" and value.ndim == 1:
            plain = [item.item() if isinstance(item, np.generic) else item for item in value]
            if all(isinstance(item, LABELS) for item in plain):
                return {"labels": self.value(plain, name), "dtype": "O"}
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            # The memory order affects rounding in BLAS: identical bits need the same order.
            return {**self._array(value.T, name), "order": "F"}
        if value.dtype.kind in "mM":
            native = value.dtype.newbyteorder("=")
            return {"array": self._tensor(value.view("=i8"), name), "dtype": native.str[1:]}
        if value.dtype.kind == "S":
            width = value.dtype.itemsize
            parts = np.ascontiguousarray(value).view(np.uint8).reshape(*value.shape, width)
            return {"array": self._tensor(parts, name), "dtype": f"S{width}"}
        return {"array": self._tensor(value, name)}

    def _tensor(self, value: Array, name: str) -> str:
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(
                f"{name} cannot be written to {self.file}: arrays must contain integers, floats, "
                f"booleans, dates or text, got {value.dtype}; try .astype(float) or .astype(str)"
            )
        while name in self.tensors:  # keys of a dict may contain dots
            name += "'"
        native = value.dtype.newbyteorder("=")
        self.tensors[name] = np.ascontiguousarray(value, dtype=native).reshape(value.shape)
        return name


class Decoder:
    """Decodes what an :class:`Encoder` wrote; raises :class:`DamagedFileError` if it is invalid.

    Parameters
    ----------
    registry : Registry
        The classes that the file may name.
    file : TensorFile
        The file with the arrays.
    """

    def __init__(self, registry: Registry, file: TensorFile) -> None:
        self.registry = registry
        self.file = file

    def value(self, document: Json, name: str, depth: int = 0) -> Any:
        """Return the value at ``name``."""
        if depth > 2 * DEPTH:
            raise DamagedFileError(f"{name[:40]}... is nested too deeply")
        if isinstance(document, list):
            return [self.value(item, f"{name}.{i}", depth + 1) for i, item in enumerate(document)]
        if not isinstance(document, dict):
            return document
        keys = set(document)
        if keys == {"type", "params"}:
            cls = self._class(document["type"], name)
            return self.registry.build(cls, self.mapping(document["params"], name, depth), name)
        if keys == {"enum", "member"}:
            return self._member(document, name)
        if "array" in keys and keys <= {"array", "order", "dtype"}:
            array = self._tensor(document["array"], name)
            if "dtype" in keys:
                array = _as_dtype(array, document["dtype"], name)
            return array.T if document.get("order") == "F" else array
        if keys == {"scalar"}:
            array = self._tensor(document["scalar"], name)
            if array.ndim:
                raise DamagedFileError(f"{name} must be a scalar, got shape {array.shape}")
            return array[()]
        if keys == {"labels", "dtype"}:
            return self._labels(document, name, depth)
        if keys == {"float"} and document["float"] in ("inf", "-inf", "nan"):
            return float(document["float"])
        if keys == {"tuple"} and isinstance(document["tuple"], list):
            return tuple(self.value(document["tuple"], name, depth + 1))
        if keys == {"set"} and isinstance(document["set"], list):
            return self._set(document["set"], name, depth)
        if keys == {"dict"}:
            return self.mapping(document["dict"], name, depth)
        if keys == {"pairs"}:
            return dict(self.value(document["pairs"], name, depth + 1))
        raise DamagedFileError(f"{name} has the unknown form {sorted(keys)}")

    def mapping(self, document: Json, name: str, depth: int = 0) -> dict[str, Any]:
        """Return the values of a document by name."""
        if not isinstance(document, dict):
            raise DamagedFileError(f"{name} must be an object, got {type(document).__name__}")
        return {key: self.value(item, f"{name}.{key}", depth + 1) for key, item in document.items()}

    def _set(self, document: list[Json], name: str, depth: int) -> frozenset[Any]:
        try:
            return frozenset(self.value(document, name, depth + 1))
        except TypeError as error:  # a list in a set
            raise DamagedFileError(f"{name} must be a set of distinct values") from error

    def _class(self, kind: Json, name: str) -> type:
        cls = self.registry.find(kind) if isinstance(kind, str) else None
        if cls is None:
            known = self.registry.names
            hint = closest(str(kind), known) if known else ""
            raise DamagedFileError(f"{name} has the unknown type {kind!r}{hint}")
        return cls

    def _member(self, document: dict[str, Json], name: str) -> Any:
        cls = self._class(document["enum"], name)
        member = document["member"]
        if not issubclass(cls, Enum) or member not in cls.__members__:
            raise DamagedFileError(f"{name} is not a member of {cls.__name__}: {member!r}")
        return cls[member]

    def _tensor(self, tensor: Json, name: str) -> Array:
        if not isinstance(tensor, str):
            raise DamagedFileError(f"{name} must name a tensor, got {tensor!r}")
        return self.file.tensor(tensor)

    def _labels(self, document: dict[str, Json], name: str, depth: int) -> Array:
        labels = self.value(document["labels"], name, depth + 1)
        kinds: tuple[type, ...] = (str,) if document["dtype"] == "U" else LABELS
        if (
            not isinstance(labels, list)
            or document["dtype"] not in ("U", "O")
            or not all(isinstance(label, kinds) for label in labels)
        ):
            raise DamagedFileError(f"{name} must be a list of labels")
        if document["dtype"] == "O":
            return np.array(labels, dtype=object)
        lengths = [len(label) for label in labels]
        wide = len(labels) * max(lengths, default=0)
        if wide > max(LABEL_CHARACTERS, STRETCH * sum(lengths)):
            raise DamagedFileError(f"the labels of {name} are too long")
        return np.array(labels, dtype=str)


def _as_dtype(array: Array, dtype: Json, name: str) -> Array:
    """Return numbers as dates, or bytes along the last axis as one value."""
    kind = dtype if isinstance(dtype, str) else ""
    dates = re.fullmatch(r"[mM]8(\[\d{0,9}[a-zA-Z]{1,2}\])?", kind)
    width = re.fullmatch(r"S([1-9]\d{0,9})", kind)
    if dates and array.dtype == np.int64:
        return array.view(kind)
    if width and array.dtype == np.uint8 and array.shape[-1:] == (int(width[1]),):
        return np.asarray(array.view(kind)[..., 0])
    raise DamagedFileError(f"{name} is not an array of {dtype!r}")


def save_value(value: object, path: Path, registry: Registry, file: str, owner: str = "") -> None:
    """Write one value and its arrays to a file; ``owner`` says what the value belongs to."""
    encoder = Encoder(registry, file)
    document = {"value": encoder.value(value, "value")}
    document |= {"owner": owner} if owner else {}
    write_tensors(
        path, document, encoder.tensors, lambda partial: load_value(partial, registry, owner)
    )


def load_value(path: Path, registry: Registry, owner: str = "") -> Any:
    """Read a value written by :func:`save_value`, bit-identical, if its owner is the same."""
    with open_tensors(path) as file:
        document = file.document()
        if document.get("owner", "") != owner or "value" not in document:
            raise DamagedFileError("it belongs to something else")
        return Decoder(registry, file).value(document["value"], "value")
