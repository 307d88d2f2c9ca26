"""Files of one JSON document and named arrays, in the safetensors format.

A file has eight bytes with the length of the header, a JSON header, and the bytes of the arrays; it
contains no code. The document is an entry of the header's metadata, and so are checksums of it and
of every array, without which nothing is read. The format is simple enough to be implemented here,
so that checkpoints and models need no further package; the ``safetensors`` package can read the
files, and copy them with their metadata.

Checksums are BLAKE2b with 256 bits (Aumasson, Neves, Wilcox-O'Hearn and Winnerlein 2013, RFC 7693).
``c(array) = H([name, dtype, shape] || bytes)`` binds the contents of an array to what it is, so
that arrays of equal shape cannot be exchanged; ``c(whole) = H(document || c(array) by name)``
covers everything that a reader of the file uses. Checksums find damage. They are no signature:
whoever writes a file can write its checksums as well.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mercer.contracts import Array
from mercer.storage.files import atomic_path, open_regular

Json: TypeAlias = Any

#: The key of the document in the metadata.
KEY = "mercer"
#: The key of the checksums in the metadata.
CHECKSUMS = "mercer_checksums"
#: The name of the algorithm in files.
ALGORITHM = "blake2b-256"
#: The longest header in bytes, as in the safetensors package: what claims more is not read.
LONGEST_HEADER = 100_000_000
METADATA = "__metadata__"
#: The names of the dtypes in the format.
DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


#: Half a character, as in text that was read with the wrong encoding.
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
#: What a file whose contents do not fit together can raise while it is read.
UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError)


class DamagedFileError(ValueError):
    """A file is invalid; the message says why, and the caller adds the file name."""


def write_tensors(
    path: Path,
    document: Json,
    tensors: Mapping[str, Array],
    read: Callable[[Path], object],
) -> None:
    """Write a document and its arrays atomically, once they have been read back.

    Parameters
    ----------
    path : Path
        The file; an existing file is replaced.
    document : JSON
        Without NaN or infinity.
    tensors : dict of arrays
        Contiguous arrays of numbers or booleans.
    read : function
        What reads the file; if it fails, the file does not get its name.
    """
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    # UTF-8 has no lone surrogates; their escapes are read as the same text.
    text = LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    metadata = {KEY: text}
    header: dict[str, Json] = {METADATA: metadata}
    # Wide dtypes first: with a padded header, every array is aligned.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    start, checksums = 0, {}
    for name in order:
        array = tensors[name]
        kind = _NAMES[array.dtype.newbyteorder("<")]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [start, start + array.nbytes],
        }
        checksums[name] = array_checksum(name, kind, array.shape, _content(array))
        start += array.nbytes
    metadata[CHECKSUMS] = seal(text, checksums)
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    if len(encoded) > LONGEST_HEADER:
        raise ValueError(
            f"{path} cannot be written: its description takes {len(encoded):,} bytes of the "
            f"{LONGEST_HEADER:,} that a file may have: store fewer texts, such as names of classes"
        )
    with atomic_path(path) as partial:
        with partial.open("wb") as file:
            file.write(struct.pack("<Q", len(encoded)))
            file.write(encoded)
            for name in order:
                file.write(_content(tensors[name]))
        try:
            read(partial)
        except UNREADABLE as error:
            raise ValueError(
                f"{path} was not written, since it could not be read again: {error}. This is a "
                f"fault of mercer: please report it, and pickle a model meanwhile"
            ) from error


def _content(array: Array) -> memoryview:
    """Return the bytes of an array as they are in a file."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return little.reshape(-1).view(np.uint8).data


class TensorFile:
    """An open file: its document, and its arrays by name, each of which can be read once."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        size = os.fstat(file.fileno()).st_size
        length = struct.unpack("<Q", file.read(8))[0] if size >= 8 else size
        if length > size - 8:
            raise _not_safetensors("its header is truncated")
        if length > LONGEST_HEADER:
            raise _not_safetensors(f"its header must have at most {LONGEST_HEADER:,} bytes")
        self._start = 8 + length
        header = _parsed(file.read(length), "its header")
        self._metadata = header.pop(METADATA, None)
        self._places = {name: _place(name, entry) for name, entry in header.items()}
        # Arrays fill the file without gaps or overlaps, so a small file cannot exhaust memory.
        end = 0
        for start, stop in sorted((place[2], place[3]) for place in self._places.values()):
            if start != end:
                raise _not_safetensors("its arrays overlap or leave gaps")
            end = stop
        if self._start + end != size:
            raise _not_safetensors(f"its arrays take {end} bytes of {size - self._start}")
        self._left = set(self._places)

    def document(self) -> dict[str, Json]:
        """Return the JSON document."""
        assert self._checksums is not None  # they are checked before anything is believed
        return _parsed(self._text, "its description")

    @property
    def _text(self) -> str:
        text = self._metadata.get(KEY) if isinstance(self._metadata, dict) else None
        if not isinstance(text, str):
            raise DamagedFileError(
                f"it is a safetensors file without the {KEY!r} entry that describes its contents"
            )
        return text

    @cached_property
    def _checksums(self) -> dict[str, str]:
        """The checksums of the arrays, which are those of the document."""
        document, text = self._text, self._metadata.get(CHECKSUMS)
        if not isinstance(text, str):
            raise DamagedFileError(
                "it has no checksums: it was written by another program, or by a mercer before its "
                "first release, whose files are not read; fit and save again"
            )
        checksums = _parsed(text, "the entry of its checksums")
        if not holds(document, checksums) or set(checksums["arrays"]) != set(self._places):
            raise DamagedFileError(
                "its description does not have its checksum: it is damaged, or was changed after "
                "it was written, so use another copy, or write it again"
            )
        return dict(checksums["arrays"])

    def tensor(self, name: str) -> Array:
        """Return a copy of an array, whose checksum must be right."""
        if name not in self._places:
            raise DamagedFileError(f"the tensor {name!r} is missing")
        if name not in self._left:
            raise DamagedFileError(f"the tensor {name!r} is used twice")
        self._left.remove(name)
        dtype, shape, start, stop = self._places[name]
        checksum = self._checksums[name]
        try:
            array = np.empty(shape, dtype=dtype)
        except MemoryError as error:
            raise DamagedFileError(
                f"the tensor {name!r} needs {stop - start:,} bytes, more than there is memory"
            ) from error
        self._file.seek(self._start + start)
        content = array.reshape(-1).view(np.uint8)
        if self._file.readinto(content.data) != stop - start:
            raise DamagedFileError(f"the tensor {name!r} is truncated")
        if array_checksum(name, _NAMES[dtype], shape, content.data) != checksum:
            raise DamagedFileError(
                f"the tensor {name!r} does not have its checksum: it is damaged, or was changed or "
                f"exchanged after it was written, so use another copy, or write it again"
            )
        if dtype.kind == "b" and np.any(content > 1):
            raise DamagedFileError(f"the tensor {name!r} must contain booleans")
        return array.astype(dtype.newbyteorder("="), copy=False)


@contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """Open a file of :func:`write_tensors`; raise :class:`DamagedFileError` if it is invalid."""
    with open_regular(path) as file:
        yield TensorFile(file)


def _place(name: str, entry: Json) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Return dtype, shape, start and stop of an array; raise an error if they do not agree."""
    if not isinstance(entry, dict):
        raise _not_safetensors(f"the tensor {name!r} is not described")
    kind: Json = entry.get("dtype")
    shape: Json = entry.get("shape")
    offsets: Json = entry.get("data_offsets")
    dtype = DTYPES.get(kind) if isinstance(kind, str) else None
    if dtype is None:
        raise _not_safetensors(f"the tensor {name!r} has the unknown dtype {kind!r}")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise _not_safetensors(f"the tensor {name!r} must have a shape and offsets")
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise _not_safetensors(f"the tensor {name!r} has {offsets} bytes for the shape {shape}")
    return dtype, tuple(shape), offsets[0], offsets[1]


def _parsed(text: str | bytes, what: str) -> dict[str, Json]:
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{what} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise DamagedFileError(f"{what} must be an object, got {type(value).__name__}")
    return value


def _refuse(constant: str) -> None:
    # Python accepts NaN and Infinity, which are not JSON and never written here.
    raise ValueError(f"{constant} is not valid JSON")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a name occurs twice")
    return entries


def _not_safetensors(what: str) -> DamagedFileError:
    return DamagedFileError(
        f"it is not a safetensors file ({what}): it may be damaged or truncated, so write it again"
    )


# Checksums.


def array_checksum(name: str, dtype: str, shape: Sequence[int], content: object) -> str:
    """Return the checksum of an array: its name, dtype, shape and little-endian bytes.

    >>> one = array_checksum("a", "U8", (2,), b"xy")
    >>> one == array_checksum("a", "U8", (2,), b"xy"), one == array_checksum("b", "U8", (2,), b"xy")
    (True, False)
    """
    digest = _hash(_canonical([name, dtype, [int(size) for size in shape]]))
    digest.update(content)
    return str(digest.hexdigest())


def seal(document: str, arrays: Mapping[str, str]) -> str:
    """Return the checksums of a file as text, from its document and the checksums of its arrays."""
    whole = {"algorithm": ALGORITHM, "whole": _whole(document, arrays), "arrays": dict(arrays)}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def holds(document: str, checksums: Mapping[str, Any]) -> bool:
    """Return whether parsed checksums are those of the document.

    >>> holds("{}", json.loads(seal("{}", {}))), holds("[]", json.loads(seal("{}", {})))
    (True, False)
    """
    arrays = checksums.get("arrays")
    if checksums.get("algorithm") != ALGORITHM or not isinstance(arrays, dict):
        return False
    if not all(isinstance(checksum, str) for checksum in arrays.values()):
        return False
    return bool(checksums.get("whole") == _whole(document, arrays))


def record_checksum(record: Mapping[str, Any]) -> str:
    """Return the checksum of a JSON record, in whatever order it is written.

    >>> record_checksum({"a": 1, "b": 2}) == record_checksum({"b": 2, "a": 1})
    True
    """
    return str(_hash(_canonical(record)).hexdigest())


def _whole(document: str, arrays: Mapping[str, str]) -> str:
    return str(_hash(_canonical([document, sorted(arrays.items())])).hexdigest())


def _canonical(value: object) -> bytes:
    # Escapes in place of other characters: half a surrogate pair has bytes too.
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _hash(start: bytes) -> Any:
    # The length first: the bytes that follow cannot be taken for a part of the description.
    return hashlib.blake2b(len(start).to_bytes(8, "little") + start, digest_size=32)
