"""The classes that a file may name, their parameters, and how to rebuild them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.contracts import Status
from mercer.storage.tensor_file import DamagedFileError
from mercer.validation import closest

_NUMBER = (Real, "a number")
_WHOLE = (Integral, "an integer")
#: Required types of data class fields, by annotation; other fields are checked later.
FIELD_TYPES: dict[str, tuple[Any, str]] = {
    "int": _WHOLE,
    "float": _NUMBER,
    "float | None": ((Real, type(None)), "a number or null"),
    "Penalty": ((Real, np.ndarray), "a number or an array"),
    "Penalty | None": ((Real, np.ndarray, type(None)), "a number, an array or null"),
    "str": (str, "text"),
    "bool": (bool, "true or false"),
    "Precision": (str, "text"),
    "Array": (np.ndarray, "an array"),
    "Array | None": ((np.ndarray, type(None)), "an array or null"),
    "Status": (Status, "a status"),
    "dict[str, float]": (dict, "a table"),
    "tuple[FeatureMap, ...]": (tuple, "a tuple"),
    "tuple[ColumnEncoder, ...]": (tuple, "a tuple"),
    "tuple[str, ...]": (tuple, "a tuple"),
    "tuple[int, ...]": (tuple, "a tuple"),
}


def parameter_names(cls: type[Any]) -> list[str]:
    """Return the constructor parameters of a data class or a scikit-learn estimator."""
    if is_dataclass(cls):
        return [field.name for field in fields(cls)]
    names: list[str] = cls._get_param_names()
    return names


def parameters(value: object) -> dict[str, Any]:
    """Return the constructor arguments of ``value`` by name, one level deep."""
    return {name: getattr(value, name) for name in parameter_names(type(value))}


class Registry:
    """A fixed list of classes by name; nothing else is ever looked up.

    >>> registry = Registry([Status])
    >>> registry.name_of(Status), registry.find("Status"), registry.find("os.system")
    ('Status', <enum 'Status'>, None)
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self._classes = {cls.__name__: cls for cls in classes}

    @property
    def names(self) -> list[str]:
        """All names, for messages."""
        return sorted(self._classes)

    def name_of(self, cls: type) -> str | None:
        """Return the name of a class; None if it is not in the list."""
        return cls.__name__ if self._classes.get(cls.__name__) is cls else None

    def find(self, name: str) -> type | None:
        """Return the class of a name, or None."""
        return self._classes.get(name)

    def build(self, cls: type, values: Mapping[str, Any], name: str) -> Any:
        """Return an object of ``cls``, after checking its parameters by name and type."""
        if issubclass(cls, Enum):
            raise DamagedFileError(f"{name} must be an object, got a {cls.__name__}")
        known = parameter_names(cls)
        for key in values:
            if key not in known:
                raise DamagedFileError(
                    f"{name} has a parameter {key!r}, which {cls.__name__} does not"
                    f"{closest(key, known)}"
                )
        if is_dataclass(cls):
            for field in fields(cls):
                kind, words = FIELD_TYPES.get(str(field.type), (object, ""))
                value = values.get(field.name)
                if field.name in values and not _is(value, kind):
                    raise DamagedFileError(
                        f"{field.name} of {name} must be {words}, got {type(value).__name__}"
                    )
        try:
            return cls(**values)
        except TypeError as error:  # a parameter without a default is missing
            raise DamagedFileError(f"{name}: {error}") from error


def _is(value: object, kind: Any) -> bool:
    # In Python, True and False are integers; in a file they must not be.
    return isinstance(value, kind) and (not isinstance(value, bool) or kind in (bool, object))


class LibraryRecords(Registry):
    """Data classes and enumerations of this library, by module.

    Results of tasks come from many modules. A checkpoint is read by the version that wrote it, so
    the types of fields are not checked again.

    >>> records = LibraryRecords()
    >>> records.name_of(Status), records.find("mercer.contracts:Status") is Status
    ('mercer.contracts:Status', True)
    >>> records.find("subprocess:Popen"), records.find("mercer.contracts:np")
    (None, None)
    """

    def __init__(self) -> None:
        super().__init__([])

    def name_of(self, cls: type) -> str | None:
        """Return ``module:class``."""
        name = f"{cls.__module__}:{cls.__qualname__}"
        return name if self.find(name) is cls else None

    def find(self, name: str) -> type | None:
        """Return the class at ``module:class``."""
        module, _, attribute = name.partition(":")
        # Only the modules of the command line have side effects on import.
        if not module.startswith("mercer.") or module.startswith("mercer.cli"):
            return None
        try:
            found = getattr(import_module(module), attribute, None)
        except ImportError:
            return None
        if not isinstance(found, type) or found.__module__ != module:
            return None
        return found if is_dataclass(found) or issubclass(found, Enum) else None

    def build(self, cls: type, values: Mapping[str, Any], name: str) -> Any:
        """Return an object of ``cls``."""
        return cls(**values)
