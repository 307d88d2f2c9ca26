"""Settings for all tests: the slow-and-obvious code is importable, and no test draws its luck."""

import os
import sys
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from unittest import mock

import joblib
import pytest
from hypothesis import settings
from threadpoolctl import ThreadpoolController, threadpool_limits

from mercer.datasets.real import VARIABLE

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("same every time", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("same every time")


class OneThread(ThreadpoolController):
    """Gives BLAS one thread, however many are asked for."""

    def limit(self, *, limits=None, user_api=None):
        return super().limit(limits=1, user_api=user_api)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Use a process more than there are cores: tests of clusters and servers often wait."""
    return joblib.cpu_count() + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hide real data from all tests but those of real data: they run as on a fresh clone."""
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("real") is None:
            patch.delenv(VARIABLE, raising=False)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip tests of real data where there are none: a test downloads nothing."""
    if item.get_closest_marker("real") is not None and VARIABLE not in os.environ:
        pytest.skip(f"needs real data: set {VARIABLE} to their folder")


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop():
    """Use one thread for linear algebra, also in doctests: on small matrices others only wait.

    Large decompositions ask for all cores. In a process of xdist they have one: the threads of one
    test would wait for those of another.
    """
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(limits=1))
        if "PYTEST_XDIST_WORKER" in os.environ:
            found = lru_cache(OneThread)
            stack.enter_context(mock.patch("mercer.engines.local._controller", found))
        return (yield)
