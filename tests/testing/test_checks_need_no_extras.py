"""The checks run where nothing but the library's own dependencies is installed."""

import subprocess
import sys

import pytest

from shard_cases import environment

CODE = """
import sys
for name in ("pytest", "hypothesis", "dask", "distributed", "pandas", "polars"):
    sys.modules[name] = None
from mercer import Landmarks, Linear
from mercer.engines import ThreadEngine
from mercer.testing import check_basis, check_engine, check_kernel
check_kernel(Linear())
check_basis(Landmarks(10))
check_engine(ThreadEngine(workers=2))
"""


def test_the_checks_need_no_extras():
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=120, env=environment())


@pytest.mark.slow
def test_a_check_also_raises_without_assertions():
    """``python -O`` takes assert statements away: the checks do not use them."""
    code = (
        "from mercer.testing.assertions import require\n"
        "try:\n    require(False, 'no')\nexcept AssertionError:\n    raise SystemExit(7)"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], timeout=120, env=environment())
    assert done.returncode == 7
