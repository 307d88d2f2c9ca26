"""Where the examples of the pages run: an empty folder, with the commands of this environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_places: list[tuple[str, tempfile.TemporaryDirectory[str]]] = []


def enter() -> None:
    """Go to a new folder."""
    folder = tempfile.TemporaryDirectory(prefix="mercer-docs-")
    _places.append((os.getcwd(), folder))
    os.chdir(folder.name)


def leave() -> None:
    """Go back, and remove the folder."""
    before, folder = _places.pop()
    os.chdir(before)
    folder.cleanup()


def sh(command: str) -> None:
    """Run a command and print all that it writes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        timeout=300,
        check=False,
    )
    print("\n".join(line.rstrip() for line in done.stdout.splitlines()))
