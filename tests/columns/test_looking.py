"""A first look at arrays: means and gaps of columns, whatever the parts that rows are read in."""

import tracemalloc

import numpy as np
import pytest

from mercer import KernelRegressor
from mercer.columns import looking
from mercer.columns.looking import look_at
from mercer.rows import ArraySource
from mercer.validation import check_finite, has_nan


@pytest.mark.parametrize("part", [1, 50, 2**17])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_parts_are_the_rows(part, weighted, gaps, dtype, monkeypatch):
    monkeypatch.setattr(looking, "PART", part)
    monkeypatch.setattr(looking, "ENTRIES", 20 * part)
    rng = np.random.default_rng(0)
    X = (10 + 3 * rng.standard_normal((70, 9))).astype(dtype)
    if gaps and dtype is not np.int32:
        X[rng.integers(35, size=gaps), rng.integers(4, size=gaps)] = np.nan
    weight = rng.random(70) if weighted else None
    found = look_at(ArraySource(X, np.arange(70.0), weight))
    w, there = np.ones(70) if weight is None else weight, ~np.isnan(X)
    np.testing.assert_array_equal(found.gaps, (~there).sum(axis=0))
    np.testing.assert_allclose(found.weight, w @ there)
    np.testing.assert_allclose(found.total, w @ np.where(there, X, 0).astype(float), rtol=1e-12)


@pytest.mark.parametrize("columns", [30, 40_000])
def test_rows_are_looked_at_in_little_memory(columns):
    X = np.ones((2**22 // columns, columns), dtype=np.float32)
    source = ArraySource(X)
    tracemalloc.start()
    try:
        look_at(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.3 * X.nbytes


def test_infinite_values_are_no_gaps():
    X = np.ones((40, 3))
    X[3, 1], X[30, 1] = np.inf, -np.inf
    assert not look_at(ArraySource(X)).gaps.any()
    model = KernelRegressor(alpha=1e-3).fit(np.ones((40, 3)) * np.arange(40)[:, None], np.ones(40))
    with pytest.raises(ValueError, match="infinity at row 3"):
        model.predict(X)


def test_large_float32_values_are_finite():
    """Their sum overflows, which must not be taken for a gap or for infinity."""
    X = np.full((30_000, 2), 3e38, dtype=np.float32)
    X[15_000:] *= -1
    assert not has_nan(X)
    check_finite(X)
    assert not look_at(ArraySource(X)).gaps.any()


@pytest.mark.parametrize("size", [100, 100_000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_one_nan_is_found(size, dtype):
    X = np.ones((size, 1), dtype=dtype)
    assert not has_nan(X)
    X[size // 3], X[0], X[-1] = np.nan, np.inf, -np.inf
    assert has_nan(X)
    X[size // 3] = 0
    assert not has_nan(X)
