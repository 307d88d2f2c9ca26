"""The commands: ``mercer look``, ``plan``, ``fit``, ``predict``, ``label`` and others."""

from __future__ import annotations

import io
import sys

NEEDED = ("typer", "rich")


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        from mercer.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in NEEDED:
            raise
        print(f"mercer needs {error.name}: pip install mercer[cli]", file=sys.stderr)
        sys.exit(1)
    if sys.platform == "win32":
        write_utf8(sys.stdout, sys.stderr)
    app()


def write_utf8(*streams: object) -> None:
    """Write UTF-8 to pipes and files, as on other systems.

    Windows has an encoding of each country there, which not every label or column name fits into.
    """
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8")
