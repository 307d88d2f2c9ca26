"""Settings for all tests: the slow-and-obvious code is importable, and no test draws its luck."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("same every time", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("same every time")


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Use one thread for linear algebra: on small matrices a second one only waits."""
    with threadpool_limits(limits=1):
        yield
