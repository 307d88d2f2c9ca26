"""Data sets that may not be at hand."""

from __future__ import annotations

from typing import Any

from mercer.datasets import load_real


class AbsentError(Exception):
    """A data set is neither in the folder of data sets nor on the network."""


def load(name: str) -> Any:
    """Return a data set by its name, or raise :class:`AbsentError` with the reason."""
    try:
        return load_real(name)
    except (OSError, ValueError) as error:
        raise AbsentError(str(error)) from error
