"""Rows that are set aside: nothing lost, nothing twice, and a source like any other."""

import numpy as np
import pytest

from mercer.cli.reading import hold_out
from mercer.rows import ArraySource

X = np.arange(40.0).reshape(20, 2)
y = np.arange(20)
weight = np.arange(20) + 1.0


@pytest.fixture
def source():
    return ArraySource(X, y, weight)


def test_every_row_is_on_one_side(source):
    train, test = hold_out(source, 0.3, seed=0)
    assert (train.n_rows, test.n_rows) == (14, 6)
    both = [np.concatenate(list(part.targets(7))) for part in (train, test)]
    assert sorted(np.concatenate(both).tolist()) == list(range(20))
    again, _ = hold_out(source, 0.3, seed=0)
    np.testing.assert_array_equal(np.concatenate(list(again.targets(100))), both[0])


def test_only_rows_with_a_target_are_set_aside():
    known = np.where(np.arange(20) < 10, np.arange(20.0), np.nan)
    train, test = hold_out(ArraySource(X, known, weight), 0.5, seed=0)
    assert (train.n_rows, test.n_rows) == (15, 5)
    held = np.concatenate(list(test.targets(3)))
    assert set(held) <= set(range(10))
    block = next(test.blocks(100))
    np.testing.assert_array_equal(block.X[:, 0], 2 * held)
    np.testing.assert_array_equal(block.weight, held + 1)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_a_side_without_rows_is_refused(share, source):
    with pytest.raises(ValueError, match="--holdout must leave rows"):
        hold_out(source, share, seed=0)
