"""Every engine that needs no cluster passes the public checks."""

import pytest

from mercer.engines import InPlaceEngine, ThreadEngine
from mercer.engines.journal import Journal
from mercer.testing import ENGINE_CHECKS

ENGINES = {
    "in_place": lambda folder: InPlaceEngine(),
    "one_thread": lambda folder: ThreadEngine(workers=1),
    "threads": lambda folder: ThreadEngine(workers=3),
    "journal": lambda folder: Journal(ThreadEngine(workers=2), folder, 0, "me"),
}


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_passes(name, check, tmp_path):
    check(ENGINES[name](tmp_path))
