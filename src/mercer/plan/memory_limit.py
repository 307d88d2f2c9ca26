"""Parse and format memory sizes."""

from __future__ import annotations

import re
from typing import Any

from mercer.engines.memory import available_memory
from mercer.validation import check_number

_UNITS = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20}
_UNITS |= {"gib": 2**30, "tib": 2**40}


def parse_memory(limit: Any) -> int:
    """Return a memory limit in bytes; "auto" is half of the available memory.

    >>> parse_memory("1.5GB"), parse_memory(2000)
    (1500000000, 2000)
    """
    if isinstance(limit, str) and limit == "auto":
        return available_memory() // 2
    return bytes_of(limit, "memory_limit", ", or 'auto'")


def bytes_of(size: Any, name: str, other: str = "") -> int:
    """Return a number of bytes, given as such or with a unit; ``other`` is what else there is.

    >>> bytes_of("125MB", "network")
    125000000
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]*)\s*", size)
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(
                f"{name} must be a number of bytes, a size such as '2GB' or '500MB'{other}, got "
                f"{size!r}"
            )
        size = float(match[1]) * _UNITS[match[2].lower()]
    return int(check_number(size, name, above=0.0, hint="; for example '2GB'"))


def human_bytes(number: float) -> str:
    """Format a number of bytes.

    >>> human_bytes(1.5e9)
    '1.5 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
