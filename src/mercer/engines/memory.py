"""Memory of this machine and of this process, on Linux, macOS and Windows; sizes as text."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.validation import check_number

#: Arrays from this many bytes on have memory of their own.
LARGE = 2**22
_UNITS = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20}
_UNITS |= {"gib": 2**30, "tib": 2**40}


def available_memory() -> int:
    """Return the bytes of memory that are available now.

    On Linux this is ``MemAvailable``, or what the control groups of the process (those of a
    container, for example) still allow, if that is less. Where the free memory cannot be read,
    half of the physical memory is assumed to be free.

    >>> available_memory() > 0
    True
    """
    if sys.platform == "win32":
        return windows_available(ctypes.windll.kernel32)
    if sys.platform == "darwin":
        free = vm_stat_available(_output_of("vm_stat"))
    else:
        free = in_bytes(_text_of(Path("/proc/meminfo")), "MemAvailable")
    if free is None:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    allowed = control_group_available(_text_of(Path("/proc/self/cgroup")), Path("/sys/fs/cgroup"))
    return free if allowed is None else min(free, allowed)


def peak_memory() -> int | None:
    """Return the largest resident size of this process so far in bytes, or None if unknown.

    >>> peak_memory() > 0
    True
    """
    if sys.platform == "win32":
        return windows_peak(ctypes.windll.kernel32)
    # On Linux a process starts with the peak of its parent in getrusage, but not in this file.
    peak = in_bytes(_text_of(Path("/proc/self/status")), "VmHWM")
    if peak is not None:
        return peak
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


# -- Linux ----------------------------------------------------------------------------------------


def in_bytes(text: str, name: str) -> int | None:
    """Return a number of kilobytes in ``/proc`` as bytes, or None if it is not there.

    >>> in_bytes("MemTotal:  8000 kB\\nMemAvailable:  3000 kB\\n", "MemAvailable")
    3072000
    """
    found = re.search(rf"^{name}:\s*(\d+) kB", text, re.M)
    return None if found is None else int(found[1]) * 1024


def control_group_available(groups: str, root: Path) -> int | None:
    """Return the bytes that the control groups of a process still allow, or None without a limit.

    ``groups`` is the text of ``/proc/self/cgroup`` and ``root`` the folder where control groups
    are mounted. A group is bound by its own limit and by those of its parents. Cached files that
    are not in use count as free, since the kernel drops them before it refuses memory.
    """
    allowed: list[int] = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2: one hierarchy for all controllers
            top, limit, usage, cached = root, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            top, limit, usage = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cached = "total_inactive_file"
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            most, used = _text_of(folder / limit).strip(), _text_of(folder / usage).strip()
            if most.isdecimal() and used.isdecimal():  # "max" means no limit
                found = re.search(rf"^{cached} (\d+)$", _text_of(folder / "memory.stat"), re.M)
                free = int(most) - int(used) + (int(found[1]) if found else 0)
                allowed.append(max(0, free))
            if folder == top:
                break
    return min(allowed, default=None)


# -- macOS ----------------------------------------------------------------------------------------


def vm_stat_available(text: str) -> int | None:
    """Return the free bytes according to ``vm_stat``: free, inactive and speculative pages.

    >>> vm_stat_available(
    ...     "Mach Virtual Memory Statistics: (page size of 16384 bytes)\\n"
    ...     "Pages free:            100.\\nPages inactive:         50.\\n"
    ... )
    2457600
    """
    size = re.search(r"page size of (\d+) bytes", text)
    pages = re.findall(r"^Pages (?:free|inactive|speculative):\s+(\d+)\.", text, re.M)
    return int(size[1]) * sum(map(int, pages)) if size and pages else None


# -- Windows --------------------------------------------------------------------------------------


class _MemoryStatus(ctypes.Structure):
    """``MEMORYSTATUSEX`` of the Windows API."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 5),
    ]


class _MemoryCounters(ctypes.Structure):
    """``PROCESS_MEMORY_COUNTERS`` of the Windows API."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("page_faults", ctypes.c_uint32),
        ("peak_working_set", ctypes.c_size_t),
        ("others", ctypes.c_size_t * 7),
    ]


def windows_available(kernel32: Any) -> int:
    """Return the free bytes according to ``GlobalMemoryStatusEx``."""
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    if not kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        raise OSError("Windows does not report the free memory: set memory_limit, such as '2GB'")
    return int(status.available)


def windows_peak(kernel32: Any) -> int | None:
    """Return the peak working set according to ``GetProcessMemoryInfo``."""
    counters = _MemoryCounters(length=ctypes.sizeof(_MemoryCounters))
    this_process = ctypes.c_void_p(-1)
    size = ctypes.c_uint32(counters.length)
    if not kernel32.K32GetProcessMemoryInfo(this_process, ctypes.byref(counters), size):
        return None
    return int(counters.peak_working_set)


# -- reading --------------------------------------------------------------------------------------


def _text_of(path: Path) -> str:
    """Return the text of a system file; empty if it is missing or not readable."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _output_of(command: str) -> str:
    """Return the output of a system command, or an empty string if it fails."""
    try:
        done = subprocess.run([command], capture_output=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout


def large_array(shape: tuple[int, int], dtype: str) -> Array:
    """Return an uninitialized array, in small pages of private memory.

    NumPy asks for huge pages. Virtual machines return those to their host as soon as they are free,
    and to get gigabytes of them back takes longer than the arithmetic.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if size < LARGE or sys.platform != "linux":
        return np.empty(shape, dtype=dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)


# -- sizes as text ------------------------------------------------------------------------------


def parse_memory(limit: object) -> int:
    """Return a memory limit in bytes; "auto" is half of the available memory.

    >>> parse_memory("1.5GB"), parse_memory(2000)
    (1500000000, 2000)
    """
    if isinstance(limit, str) and limit == "auto":
        return available_memory() // 2
    return bytes_of(limit, "memory_limit", ", or 'auto'")


def bytes_of(size: object, name: str, other: str = "") -> int:
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
