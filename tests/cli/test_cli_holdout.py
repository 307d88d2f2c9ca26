"""Rows that are set aside: nothing lost, nothing twice, and a source like any other."""

import numpy as np
import pytest

from mercer.cli.holdout import ChosenRows, hold_out
from mercer.contracts import RowSource
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


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_it_is_a_source(rows, source):
    mask = np.zeros(20, dtype=bool)
    chosen = [1, 2, 9, 17, 19]
    mask[chosen] = True
    part = ChosenRows(source, mask)
    assert isinstance(part, RowSource)
    blocks = list(part.blocks(rows))
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X[chosen])
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y[chosen])
    np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), weight[chosen])
    assert [block.start for block in blocks] == np.cumsum([0, *(b.n_rows for b in blocks)])[
        :-1
    ].tolist()
    assert all(0 < block.n_rows <= rows for block in blocks)
    np.testing.assert_array_equal(part.take(np.array([4, 0])), X[[19, 1]])
    np.testing.assert_array_equal(
        np.concatenate([y for piece in part.split(2) for y in piece.targets(rows)]), y[chosen]
    )
    assert part.resident_bytes >= source.resident_bytes


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_a_side_without_rows_is_refused(share, source):
    with pytest.raises(ValueError, match="--holdout must leave rows"):
        hold_out(source, share, seed=0)
