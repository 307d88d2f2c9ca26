"""Rows several times larger than the memory of a worker."""

import numpy as np
import pytest
from benchmarks.cluster_memory import fit_on_workers, write_rows

from mercer.plan import parse_memory


@pytest.mark.slow
def test_workers_stay_within_their_memory(tmp_path):
    size = write_rows(tmp_path, files=12, rows=1_000_000)
    limit = "500MB"
    assert size > 4 * parse_memory(limit)
    found = fit_on_workers(tmp_path, limit)
    assert found["peak"] < parse_memory(limit)
    assert np.isfinite(found["seconds"])
