"""A random subset of rows set aside for testing, without reading them into memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.chunks import even_cuts
from mercer.validation import check_number


class ChosenRows:
    """The rows of a source where ``mask`` is true, in their order.

    >>> from mercer.rows import ArraySource
    >>> source = ArraySource(np.arange(4.0)[:, None], y=np.arange(4))
    >>> rows = ChosenRows(source, np.array([True, False, False, True]))
    >>> [(block.start, block.X.ravel().tolist()) for block in rows.blocks(2)]
    [(0, [0.0]), (1, [3.0])]
    """

    def __init__(self, source: RowSource, mask: Array) -> None:
        self.source = source
        self.chosen = np.flatnonzero(mask)
        self.n_rows = len(self.chosen)
        self.n_features = source.n_features
        self.feature_names = source.feature_names
        self.has_target = source.has_target

    def _within(self, start: int, rows: int) -> Array:
        low, high = np.searchsorted(self.chosen, [start, start + rows])
        return np.asarray(self.chosen[low:high] - start)

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, at most ``rows`` at a time."""
        start = 0
        for block in self.source.blocks(rows):
            at = self._within(block.start, block.n_rows)
            if len(at) == 0:
                continue
            yield RowBlock(
                start,
                block.X[at],
                None if block.y is None else block.y[at],
                None if block.weight is None else block.weight[at],
            )
            start += len(at)

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        return self.source.take(self.chosen[indices])

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield y in blocks, without the features."""
        start = 0
        for y in self.source.targets(rows):
            at = self._within(start, len(y))
            start += len(y)
            if len(at):
                yield y[at]

    def split(self, parts: int) -> list[RowSource]:
        """Return ``parts`` sources of consecutive rows."""
        cuts = even_cuts(self.n_rows, parts)
        out: list[RowSource] = []
        for low, high in pairwise(cuts):
            mask = np.zeros(self.source.n_rows, dtype=bool)
            mask[self.chosen[low:high]] = True
            out.append(ChosenRows(self.source, mask))
        return out

    @property
    def resident_bytes(self) -> int:
        """Bytes of the source, and of the list of chosen rows."""
        return self.source.resident_bytes + int(self.chosen.nbytes)


def hold_out(source: RowSource, share: float, seed: int) -> tuple[RowSource, RowSource]:
    """Return the rows to train on, and a random fraction of all rows to test on."""
    number = round(check_number(share, "--holdout", above=0.0) * source.n_rows)
    if not 0 < number < source.n_rows:
        raise ValueError(
            f"--holdout must leave rows to train on and rows to test on: {share:g} of "
            f"{source.n_rows} rows is {number}; try 0.2"
        )
    mask = np.zeros(source.n_rows, dtype=bool)
    mask[np.random.default_rng(seed).choice(source.n_rows, number, replace=False)] = True
    return ChosenRows(source, ~mask), ChosenRows(source, mask)
