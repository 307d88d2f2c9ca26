"""Checksums of a document and its arrays: BLAKE2b with 256 bits.

``c(array) = H([name, dtype, shape] || bytes)`` binds the contents of an array to what it is, so
that arrays of equal shape cannot be exchanged; ``c(whole) = H(document || c(array) by name)``
covers everything that a reader of the file uses. Checksums find damage. They are no signature:
whoever writes a file can write its checksums as well.

BLAKE2: Aumasson, Neves, Wilcox-O'Hearn and Winnerlein (2013), RFC 7693.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

#: The name of the algorithm in files.
ALGORITHM = "blake2b-256"


def array_checksum(name: str, dtype: str, shape: Sequence[int], content: Any) -> str:
    """Return the checksum of an array: its name, dtype, shape and little-endian bytes.

    >>> one = array_checksum("a", "U8", (2,), b"xy")
    >>> one == array_checksum("a", "U8", (2,), b"xy"), one == array_checksum("b", "U8", (2,), b"xy")
    (True, False)
    """
    found = _hash(_canonical([name, dtype, [int(size) for size in shape]]))
    found.update(content)
    return str(found.hexdigest())


def seal(document: str, arrays: Mapping[str, str]) -> str:
    """Return the checksums of a file as text, from its document and the checksums of its arrays."""
    whole = {"algorithm": ALGORITHM, "whole": _whole(document, arrays), "arrays": dict(arrays)}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def holds(document: str, found: Mapping[str, Any]) -> bool:
    """Return whether parsed checksums are those of the document.

    >>> holds("{}", json.loads(seal("{}", {}))), holds("[]", json.loads(seal("{}", {})))
    (True, False)
    """
    arrays = found.get("arrays")
    if found.get("algorithm") != ALGORITHM or not isinstance(arrays, dict):
        return False
    if not all(isinstance(checksum, str) for checksum in arrays.values()):
        return False
    return bool(found.get("whole") == _whole(document, arrays))


def record_checksum(record: Mapping[str, Any]) -> str:
    """Return the checksum of a JSON record, in whatever order it is written.

    >>> record_checksum({"a": 1, "b": 2}) == record_checksum({"b": 2, "a": 1})
    True
    """
    return str(_hash(_canonical(record)).hexdigest())


def _whole(document: str, arrays: Mapping[str, str]) -> str:
    return str(_hash(_canonical([document, sorted(arrays.items())])).hexdigest())


def _canonical(value: Any) -> bytes:
    # Escapes in place of other characters: half a surrogate pair has bytes too.
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _hash(start: bytes) -> Any:
    # The length first: the bytes that follow cannot be taken for a part of the description.
    return hashlib.blake2b(len(start).to_bytes(8, "little") + start, digest_size=32)
