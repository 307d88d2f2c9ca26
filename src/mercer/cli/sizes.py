"""Sizes in memory and on disk, as text for tables."""

from __future__ import annotations

from pathlib import Path

from mercer.engines.memory import peak_memory
from mercer.plan import human_bytes


def peak_text(peak: int | None) -> str:
    """Return a peak of memory as text."""
    return "not known on this system" if peak is None else human_bytes(peak)


def peak_row() -> tuple[str, str]:
    """Return the peak of memory of this process so far as a row of a table."""
    return "peak memory", f"{peak_text(peak_memory())} resident, the whole process"


def file_text(path: Path, note: str = "") -> str:
    """Return the name of a file with its size, and with what else there is to say."""
    return f"{path} ({human_bytes(path.stat().st_size)}{note})"
