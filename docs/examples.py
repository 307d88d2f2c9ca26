"""Where the examples of the pages run: an empty folder, with the commands of this environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_places: list[tuple[str, tempfile.TemporaryDirectory[str]]] = []


def enter() -> None:
    """Go to a new folder."""
    # Windows keeps files that are still mapped into memory.
    folder = tempfile.TemporaryDirectory(prefix="mercer-docs-", ignore_cleanup_errors=True)
    _places.append((os.getcwd(), folder))
    os.chdir(folder.name)


def leave() -> None:
    """Go back, remove the folder, and close figures."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    before, folder = _places.pop()
    os.chdir(before)
    folder.cleanup()


def sh(command: str) -> None:
    """Run a command of a POSIX shell and print all that it writes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [shutil.which("bash") or "sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        timeout=300,
        check=False,
    )
    print("\n".join(line.rstrip() for line in done.stdout.splitlines()))
