"""Data sets that may not be at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.scaffold import Array
from mercer.datasets import load_real


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


class AbsentError(Exception):
    """A data set is neither in the folder of data sets nor on the network."""


def load(name: str) -> Any:
    """Return a data set by its name, or raise :class:`AbsentError` with the reason."""
    try:
        return load_real(name)
    except (OSError, ValueError) as error:
        raise AbsentError(str(error)) from error
