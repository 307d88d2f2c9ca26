"""Data sets that are not part of the package."""

import pytest

from mercer.datasets import load_real


def real(name):
    """Return a data set of the folder MERCER_DATA; a test of it has the mark ``real``."""
    try:
        return load_real(name)
    except OSError as error:
        pytest.skip(f"{name} is not here: {error}")
