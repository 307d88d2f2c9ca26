"""From objects to a JSON document and arrays.

In the document a number, text, list, ``true``, ``false`` or ``null`` is itself; anything else is an
object with one of these keys:

- ``type``, ``params``: an object of a registered class
- ``array``: the name of a tensor; ``order`` "F" says that it is stored transposed
- ``labels``: an array of text (``dtype`` "U") or of Python objects (``dtype`` "O")
- ``scalar``: a NumPy scalar, as a tensor without dimensions
- ``float``: "inf", "-inf" or "nan"
- ``tuple``, ``dict``, ``status``: what they say
"""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeAlias

import numpy as np

from mercer.contracts import Array, Status
from mercer.models.registry import REGISTRY, parameters
from mercer.validation import MercerWarning

Json: TypeAlias = Any

#: How many objects can be one inside another: sums of many kernels are, nothing else goes deep.
DEPTH = 100


class Encoder:
    """Collects the arrays of what it encodes in ``tensors``.

    >>> encoder = Encoder()
    >>> encoder.value({"a": np.arange(2), "b": (1, None)}, "x")
    {'dict': {'a': {'array': 'x.a'}, 'b': {'tuple': [1, None]}}}
    >>> encoder.tensors
    {'x.a': array([0, 1])}
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}

    def value(self, value: Any, name: str) -> Json:
        """Return ``value`` for the document; ``name`` is its place, for tensors and messages."""
        if isinstance(value, str):  # also NumPy's own kind of text
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
        if isinstance(value, dict):
            return {"dict": self.mapping(value, name)}
        if isinstance(value, Status):
            return {"status": value.name}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            warnings.warn(
                f"{name} is a random generator, which a model file does not hold: it will be None "
                f"after loading. Give an int to keep it",
                MercerWarning,
                stacklevel=2,
            )
            return None
        return self.object(value, name)

    def mapping(self, values: dict[str, Any], name: str) -> dict[str, Json]:
        """Return a document of named values."""
        return {str(key): self.value(item, f"{name}.{key}") for key, item in values.items()}

    def object(self, value: Any, name: str) -> dict[str, Json]:
        """Return an object of a registered class by the name of the class and its parameters."""
        kind = type(value).__name__
        if REGISTRY.get(kind) is not type(value):
            raise TypeError(
                f"{name} cannot be written to a model file: it must be a number, text, an array or "
                f"an object of mercer's own classes, got {kind}. A class of your own would have to "
                f"run code on loading, which model files never do"
            )
        if name.count(".") > DEPTH:
            raise ValueError(
                f"{kind} at {name[:40]}... is inside more than {DEPTH} others, which a model file "
                f"does not hold: build the sum or product as a balanced tree"
            )
        return {"type": kind, "params": self.mapping(parameters(value), name)}

    def _array(self, value: Array, name: str) -> dict[str, Json]:
        if value.dtype.kind == "U" and value.ndim == 1:
            return {"labels": value.tolist(), "dtype": "U"}
        if value.dtype.kind == "O" and value.ndim == 1:
            plain = [item.item() if isinstance(item, np.generic) else item for item in value]
            if all(isinstance(item, (str, bool, int, float)) for item in plain):
                return {"labels": self.value(plain, name), "dtype": "O"}
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            # The order of an array decides how BLAS rounds: the same bits need the same order.
            return {"array": self._tensor(value.T, name), "order": "F"}
        return {"array": self._tensor(value, name)}

    def _tensor(self, value: Array, name: str) -> str:
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(
                f"{name} cannot be written to a model file: arrays must hold integers, floats, "
                f"booleans or text, got {value.dtype}; try .astype(float) or .astype(str)"
            )
        native = value.dtype.newbyteorder("=")
        self.tensors[name] = np.ascontiguousarray(value, dtype=native).reshape(value.shape)
        return name
