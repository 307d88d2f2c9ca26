"""From a JSON document and tensors back to objects, without ever running what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.contracts import Array, Status
from mercer.models.container import Container
from mercer.models.encode import DEPTH, Json
from mercer.models.errors import ModelFileError
from mercer.models.registry import REGISTRY, parameter_names
from mercer.validation import closest

#: An array of text takes as much for every label as for the longest.
LABEL_CHARACTERS = 2**26

_NUMBER = (Real, "a number")
_WHOLE = (Integral, "a whole number")
#: What the fields of data classes must be, by their annotation; others are checked later.
_FIELDS: dict[str, tuple[Any, str]] = {
    "int": _WHOLE,
    "float": _NUMBER,
    "float | None": ((Real, type(None)), "a number or null"),
    "str": (str, "text"),
    "bool": (bool, "true or false"),
    "Precision": (str, "text"),
    "Array": (np.ndarray, "an array"),
    "Array | None": ((np.ndarray, type(None)), "an array or null"),
    "Status": (Status, "a status"),
    "dict[str, float]": (dict, "a table"),
    "tuple[FeatureMap, ...]": (tuple, "a tuple"),
}


def _is(value: Any, kind: Any) -> bool:
    # Python counts true and false among the whole numbers; a file must not.
    return isinstance(value, kind) and (not isinstance(value, bool) or kind in (bool, object))


class Decoder:
    """Builds what an :class:`~mercer.models.encode.Encoder` has written."""

    def __init__(self, container: Container) -> None:
        self.container = container

    def error(self, what: str) -> ModelFileError:
        """Return the error that names the file."""
        return self.container.error(what)

    def value(self, document: Json, name: str, depth: int = 0) -> Any:
        """Return the value at ``name``."""
        if depth > 2 * DEPTH:
            raise self.error(f"{name[:40]}... is nested too deeply")
        if isinstance(document, list):
            return [self.value(item, f"{name}.{i}", depth + 1) for i, item in enumerate(document)]
        if not isinstance(document, dict):
            return document
        keys = set(document)
        if keys == {"type", "params"}:
            return self._object(document, name, depth)
        if keys == {"array"} or keys == {"array", "order"}:
            array = self._tensor(document["array"], name)
            return array.T if document.get("order") == "F" else array
        if keys == {"scalar"}:
            array = self._tensor(document["scalar"], name)
            if array.ndim:
                raise self.error(f"{name} must be a scalar, got shape {array.shape}")
            return array[()]
        if keys == {"labels", "dtype"}:
            return self._labels(document, name, depth)
        if keys == {"float"} and document["float"] in ("inf", "-inf", "nan"):
            return float(document["float"])
        if keys == {"tuple"} and isinstance(document["tuple"], list):
            return tuple(self.value(document["tuple"], name, depth + 1))
        if keys == {"dict"}:
            return self.mapping(document["dict"], name, depth)
        if keys == {"status"} and document["status"] in Status.__members__:
            return Status[document["status"]]
        raise self.error(f"{name} has the unknown form {sorted(keys)}")

    def mapping(self, document: Json, name: str, depth: int = 0) -> dict[str, Any]:
        """Return the values of a document by name."""
        if not isinstance(document, dict):
            raise self.error(f"{name} must be an object, got {type(document).__name__}")
        return {key: self.value(item, f"{name}.{key}", depth + 1) for key, item in document.items()}

    def build(self, cls: type, values: Mapping[str, Any], name: str) -> Any:
        """Return an object of ``cls``, its parameters checked by name and by kind."""
        known = parameter_names(cls)
        for key in values:
            if key not in known:
                raise self.error(
                    f"{name} has a parameter {key!r}, which {cls.__name__} does not"
                    f"{closest(key, known)}"
                )
        if is_dataclass(cls):
            for field in fields(cls):
                kind, words = _FIELDS.get(str(field.type), (object, ""))
                value = values.get(field.name)
                if field.name in values and not _is(value, kind):
                    raise self.error(
                        f"{field.name} of {name} must be {words}, got {type(value).__name__}"
                    )
        try:
            return cls(**values)
        except TypeError as error:  # a parameter without a default is missing
            raise self.error(f"{name}: {error}") from error

    def _object(self, document: dict[str, Json], name: str, depth: int) -> Any:
        kind = document["type"]
        if not isinstance(kind, str) or kind not in REGISTRY:
            raise self.error(
                f"{name} is of the unknown type {kind!r}{closest(str(kind), sorted(REGISTRY))}"
            )
        return self.build(REGISTRY[kind], self.mapping(document["params"], name, depth), name)

    def _tensor(self, tensor: Json, name: str) -> Array:
        if not isinstance(tensor, str):
            raise self.error(f"{name} must name a tensor, got {tensor!r}")
        return self.container.tensor(tensor)

    def _labels(self, document: dict[str, Json], name: str, depth: int) -> Array:
        labels = self.value(document["labels"], name, depth + 1)
        kinds: tuple[type, ...] = (str,) if document["dtype"] == "U" else (str, bool, int, float)
        if (
            not isinstance(labels, list)
            or document["dtype"] not in ("U", "O")
            or not all(isinstance(label, kinds) for label in labels)
        ):
            raise self.error(f"{name} must be a list of labels")
        if len(labels) * max(map(len, map(str, labels)), default=0) > LABEL_CHARACTERS:
            raise self.error(f"the labels of {name} are too long")
        return np.array(labels, dtype=str if document["dtype"] == "U" else object)
