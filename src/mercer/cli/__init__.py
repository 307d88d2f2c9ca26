"""The command line: ``mercer fit``, ``predict``, ``label``, ``rank``, ``info`` and ``demo``."""

from __future__ import annotations

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
    app()
