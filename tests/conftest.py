"""Settings for all tests: the slow-and-obvious code is importable, and no test draws its luck."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("same every time", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("same every time")


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop():
    """Use one thread for linear algebra, also in doctests: on small matrices others only wait."""
    with threadpool_limits(limits=1):
        return (yield)
