"""What is wrong with arrays of the user that NumPy and SciPy do not see.

A sparse matrix with an index beyond its columns, or a memory map of a file that shrank, ends the
process as soon as it is used; the mask of a masked array is lost in ``np.asarray``.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from scipy import sparse

from mercer.contracts import Array


def sound_rows(X: object) -> Any:
    """Return X with masked values as NaN; raise ValueError if reading it would be unsafe.

    >>> sound_rows(np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [1, 0]]))
    array([[ 1.,  2.],
           [nan,  4.]])
    """
    if is_sparse(X):
        check_sparse(X)
        return X
    check_mapped(X)
    return unmasked(X)


def unmasked(values: object, *, labels: bool = False) -> Any:
    """Return a masked array as a plain one with NaN (None for text) for masked values.

    Anything else is returned as it is, and so are the values if none is masked. Integers become
    floats for NaN, but ``labels`` stay integers, since they may be classes, with None.

    >>> unmasked(np.ma.array(["a", "b"], mask=[True, False])).tolist()
    [None, 'b']
    >>> unmasked(np.ma.array([3, 4], mask=[True, False]), labels=True).tolist()
    [None, 4]
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return values.data
    kind = values.dtype.kind
    if kind in "biu" and not labels:
        found = values.data.astype(np.float64)
    else:
        found = values.data.astype(values.dtype if kind in "fcmM" else object)
    found[mask] = np.nan if found.dtype.kind in "fc" else None
    return found


def refuse_masked(values: object, label: str) -> None:
    """Raise ValueError if a value is masked where none may be missing."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(0)
    if mask.any():
        at = int(np.argwhere(mask)[0][0])
        raise ValueError(
            f"{label} must have a value in every row, got a masked one at row {at}: fill it in "
            f"with .filled(...), or drop the row"
        )


def is_sparse(X: object) -> bool:
    """Return whether X is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(X))


def check_sparse(X: Any) -> None:
    """Raise ValueError if indices of a sparse matrix are outside of its shape.

    SciPy does not check them when its arrays are set or changed, and reads and writes beyond memory
    when they are used.
    """
    if X.ndim == 2 and X.format == "coo":
        for axis, indices in enumerate((X.row, X.col)):
            _check_range(indices, X.shape[axis], f"{'row' if axis == 0 else 'col'} of X")
            if len(indices) != len(X.data):
                raise ValueError(
                    f"X must have as many indices as values, got {len(indices)} and {len(X.data)}"
                    f"{REBUILD}"
                )
    if X.ndim != 2 or X.format not in ("csr", "csc", "bsr"):
        return
    high, wide = X.blocksize if X.format == "bsr" else (1, 1)
    lines, across = (X.shape[1], X.shape[0]) if X.format == "csc" else X.shape
    starts, held = X.indptr, min(len(X.indices), len(X.data))
    if len(starts) != lines // high + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise ValueError(
            f"indptr of X must start at 0, never decrease, and have {lines // high + 1} entries "
            f"for the shape {X.shape}, got {len(starts)} entries from {starts[:1].tolist()}, or "
            f"one below the one before{REBUILD}"
        )
    if starts[-1] > held:
        raise ValueError(
            f"indptr of X must end within its values, got {int(starts[-1])} with "
            f"{len(X.indices)} indices and {len(X.data)} values{REBUILD}"
        )
    _check_range(X.indices[: starts[-1]], across // wide, "indices of X")


REBUILD = ": the sparse matrix is damaged, so build it again, and see its check_format()"


def _check_range(indices: Array, size: int, label: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        wrong = int(indices[(indices < 0) | (indices >= size)][0])
        raise ValueError(f"{label} must be from 0 to {size - 1}, got {wrong}{REBUILD}")


def mapping(array: object) -> mmap.mmap | None:
    """Return the memory map that an array is a view of, None for arrays in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def check_mapped(array: object) -> None:
    """Raise ValueError if the file of a memory-mapped array is shorter than what is mapped."""
    found = mapping(array)
    if found is None:
        return
    try:
        size = found.size()
    except (OSError, ValueError):  # anonymous memory, or closed by the user
        return
    name, offset = _file(array)
    end = offset - offset % mmap.ALLOCATIONGRANULARITY + len(found)  # maps start at a page
    if size < end:
        raise ValueError(
            f"{name} must not shrink while it is used as a memory map, but has {size} bytes, and "
            f"{end} are mapped: write it again and map it again, with np.load(..., mmap_mode='r')"
        )


def _file(array: object) -> tuple[str, int]:
    """Return the name of the file of a memory-mapped array, and where in it the array starts."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return str(array.filename or "the file of the memory map"), int(array.offset)
        array = array.base
    return "the file of the memory map", 0
