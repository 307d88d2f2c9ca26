"""How much memory this process has taken."""

from __future__ import annotations

import sys

from mercer.plan import human_bytes


def peak_bytes() -> int | None:
    """Return the largest resident size of this process so far, or None where it is not known."""
    try:
        # On Linux a process begins with its parent's peak in getrusage, but not in this file.
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except FileNotFoundError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_text(peak: int | None) -> str:
    """Write a peak for people."""
    return "not known on this system" if peak is None else human_bytes(peak)
