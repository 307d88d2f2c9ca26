"""Fingerprints: hashes that identify rows, files and parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from mercer.contracts import Array, Rows

#: What bits are multiplied by before others are added.
ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def fingerprint(value: object) -> str:
    """Return the fingerprint of parameters, arrays, or nested structures of them.

    >>> fingerprint({"alpha": 0.1}) == fingerprint({"alpha": 0.1})
    True
    >>> fingerprint(np.zeros(2)) == fingerprint(np.zeros(3))
    False
    """
    found: str = joblib.hash(value)
    return found


def input_identity(rows: object) -> Any:
    """Return what identifies the input of a fit, for :func:`fingerprint`.

    Files are identified by name, size and modification time, Dask collections by their token, and
    everything else by its values. Text that is not a file is the name of a column.
    """
    if isinstance(rows, (str, Path)):
        path = Path(rows)
        if not path.exists():
            return str(rows)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    if isinstance(rows, (list, tuple)) and all(isinstance(part, (str, Path)) for part in rows):
        return [input_identity(part) for part in rows]
    return rows.__dask_tokenize__() if hasattr(rows, "__dask_tokenize__") else rows


def fingerprint_rows(blocks: Iterable[Rows]) -> str:
    """Return the fingerprint of rows in order, independent of their split into blocks.

    Numbers are compared by value, regardless of dtype, and sparse rows by their nonzeros.

    >>> X = np.arange(6.0).reshape(3, 2)
    >>> fingerprint_rows([X[:1], X[1:]]) == fingerprint_rows([X.astype(int)])
    True
    >>> fingerprint_rows([X[::-1]]) == fingerprint_rows([X])
    False
    """
    hashes = [hashlib.sha256() for _ in range(3)]
    for block in blocks:
        for one, part in zip(hashes, _row_parts(block), strict=False):
            one.update(part.data)
    return hashlib.sha256(b"".join(one.digest() for one in hashes)).hexdigest()


def _row_parts(X: Rows) -> list[Array]:
    """Return the arrays to hash: the values, and for sparse rows also their positions."""
    if not hasattr(X, "tocsr"):
        return [np.ascontiguousarray(X, dtype=np.float64) + 0.0]  # -0.0 is the same number
    X = X.tocsr().astype(np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return [X.data, X.indices.astype(np.int64), np.diff(X.indptr).astype(np.int64)]


def fingerprint_texts(parts: Iterable[Iterable[str]]) -> str:
    """Return the fingerprint of texts in order, independent of their split into parts.

    >>> fingerprint_texts([["a", "b"], ["c"]]) == fingerprint_texts([["a", "b", "c"]])
    True
    >>> fingerprint_texts([["ab", ""]]) == fingerprint_texts([["a", "b"]])
    False
    """
    found = hashlib.sha256()
    for part in parts:
        found.update("".join(f"{len(text)}:{text}" for text in part).encode())
    return found.hexdigest()


def fingerprint_unordered(rows: Array) -> tuple[int, int]:
    """Return the number of dense rows and the sum of their hashes, independent of their order.

    >>> rows = np.random.default_rng(0).random((5, 2))
    >>> fingerprint_unordered(rows) == fingerprint_unordered(rows[::-1])
    True
    >>> fingerprint_unordered(rows) == fingerprint_unordered(rows[:, ::-1])
    False
    """
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # -0.0 and 0.0 are the same number
    odd = np.random.default_rng(0).integers(2**62, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    with np.errstate(over="ignore"):
        hashes = (bits * odd).sum(axis=1, dtype=np.uint64)
        hashes ^= hashes >> np.uint64(31)
        hashes *= ODD
        hashes ^= hashes >> np.uint64(29)
        return len(rows), int(hashes.sum(dtype=np.uint64))


def mixed(bits: Array) -> Array:
    """Return bits mixed by a bijection (the finalizer of SplitMix64; Steele et al., 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX[0]
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX[1]
    return np.asarray(bits ^ (bits >> np.uint64(31)))
