"""Every source passes the public checks, gives back the rows that were written, and says no."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.rows import ArraySource
from mercer.testing import SOURCE_CHECKS
from mercer.testing.assertions import as_dense
from mercer.testing.source_checks import read


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_a_source_passes(case, check):
    check(case.source)


def test_the_rows_are_those_that_were_written(case):
    found = read(case.source, 20)
    assert found.X.dtype == case.X.dtype
    np.testing.assert_array_equal(found.X, case.X)
    for name in ("y", "weight", "query"):
        got, wanted = getattr(found, name), getattr(case, name)
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_array_equal(got, wanted)


def test_blocks_of_files_are_contiguous_floats(case):
    if isinstance(case.source, ArraySource):
        return  # arrays are kept as they are
    for block in case.source.blocks(9):
        assert block.X.flags.c_contiguous
        assert block.X.dtype in (np.float32, np.float64)


def test_taken_rows_have_the_dtype_of_blocks(case):
    assert as_dense(case.source.take(np.array([50, 3]))).dtype == case.X.dtype


def test_whole_queries_stay_whole(case):
    if case.query is None:
        with pytest.raises(ValueError, match="must have queries"):
            list(case.source.queries(10))
        return
    whole = case.query.dtype.kind == "i"
    kinds = {query.dtype.kind for query, _ in case.source.queries(10)}
    assert kinds <= ({"i"} if whole else {"U", "O"})
    assert all(part.has_query for part in case.source.split(4))


def test_what_cannot_be_read_is_refused_in_words(case):
    for rows in (0, -3):
        with pytest.raises(ValueError, match="rows must be at least 1"):
            next(case.source.blocks(rows))
    with pytest.raises(ValueError, match="parts must be at least 1"):
        case.source.split(0)
    with pytest.raises(IndexError, match="from 0 to 52, got 53"):
        case.source.take(np.array([0, 53]))
    with pytest.raises(IndexError, match="got -1"):
        case.source.take(np.array([-1]))
    with pytest.raises(ValueError, match=r"np\.flatnonzero"):
        case.source.take(np.ones(53, dtype=bool))
    if case.y is None:
        with pytest.raises(ValueError, match="targets"):
            list(case.source.targets(10))
