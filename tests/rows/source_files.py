"""Small files for the tests, and the way to look at what goes wrong with them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest


def table(X: np.ndarray, **others: np.ndarray) -> pa.Table:
    """Put columns a, b, c and others into a table, the others first."""
    return pa.table({**others, **{name: X[:, i] for i, name in enumerate("abc")}})


def write(path: Path, *lines: str) -> Path:
    """Write lines of text."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return path


def put(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write text as it is, packed if the name says so."""
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def refuses(
    make: Callable[[], object], *parts: str, error: type[Exception] = ValueError
) -> Exception:
    """Assert that ``make`` raises an error whose message has all the parts."""
    with pytest.raises(error) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)
    return caught.value
