"""The checks of sources and engines name what is broken."""

import threading
from functools import reduce as fold

import numpy as np
import pytest

from mercer.contracts import RowBlock
from mercer.engines import InPlaceEngine, ThreadEngine
from mercer.rows import ArraySource
from mercer.testing import check_engine, check_source

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((53, 3)), RNG.standard_normal(53)

# -- sources


class LosesARow(ArraySource):
    """The last row of every block but the last is skipped."""

    def blocks(self, rows):
        for block in super().blocks(rows):
            last = block.start + block.n_rows == self.n_rows
            stop = block.n_rows if last or block.n_rows == 1 else block.n_rows - 1
            yield RowBlock(block.start, block.X[:stop], block.y[:stop])


class RepeatsARow(ArraySource):
    """A block begins with the last row of the one before."""

    def blocks(self, rows):
        for block in super().blocks(rows):
            rows_of = block.X.copy()
            if block.start:
                rows_of[0] = self._X[block.start - 1]
            yield RowBlock(block.start, rows_of, block.y)


class ReadOnce(ArraySource):
    def blocks(self, rows):
        self.reads = getattr(self, "reads", 0) + 1
        for block in super().blocks(rows):
            yield RowBlock(block.start, block.X + (self.reads > 8), block.y)


class Sorted(ArraySource):
    def take(self, indices):
        return super().take(np.sort(indices))


class TakesFromTheEnd(ArraySource):
    def take(self, indices):
        return self._X[np.asarray(indices)]


class OtherTargets(ArraySource):
    def targets(self, rows):
        return (part[::-1] for part in super().targets(rows))


class Overlapping(ArraySource):
    def split(self, parts):
        found = super().split(parts)
        if parts > 1:
            found[0] = self._part(0, found[0].n_rows + 1)
        return found


class CountsOn(ArraySource):
    """Parts count their rows from the first of the whole."""

    def _part(self, start, stop):
        found = super()._part(start, stop)
        found.offset = start
        return found

    def take(self, indices):
        offset = getattr(self, "offset", 0)
        return super().take((indices - offset) % self.n_rows if offset else indices)


class MoreThanThereAre(ArraySource):
    def __init__(self, X, y):
        super().__init__(X, y)
        self.n_rows += 0
        self.n_features += 1


class Locked(ArraySource):
    def __getstate__(self):
        return {**self.__dict__, "_y": self._y[::-1]}


class NeverRefuses(ArraySource):
    def blocks(self, rows):
        return super().blocks(max(1, rows))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (LosesARow, r"blocks of LosesARow must have 7 rows but for the last, got \[6"),
        (RepeatsARow, r"X of RepeatsARow in blocks of 1 rows must be those of one block, got"),
        (ReadOnce, "X of ReadOnce .* must be"),
        (Sorted, r"take\(\[52, 0, 0, 26, 17, 52\]\) of Sorted must be those rows, in that order"),
        (TakesFromTheEnd, r"take\(\[-1\]\) of TakesFromTheEnd with 53 rows must raise an IndexErr"),
        (OtherTargets, r"targets\(\) of OtherTargets must be y of its blocks, got"),
        (Overlapping, r"split\(2\) of Overlapping must cover its 53 rows once, got .*27, 27"),
        (CountsOn, "take.* of part 1 of .* must be those of its own rows"),
        (MoreThanThereAre, r"must be those of its blocks, \(53, 3\), got \(53, 4\)"),
        (Locked, "y of a pickled Locked must be what it was"),
        (NeverRefuses, r"blocks\(0\) of NeverRefuses must raise a ValueError"),
    ],
)
def test_a_broken_source_is_named(kind, words):
    with pytest.raises(AssertionError, match=words):
        check_source(kind(X, Y))


def test_a_source_of_one_row_passes():
    check_source(ArraySource(X[:1], Y[:1]))


# -- engines


class ByWhoIsFirst(InPlaceEngine):
    """Results as they end."""

    def map(self, task, items, *common, label="", light=False):
        found, lock = [], threading.Lock()

        def run(item):
            result = task(item, *common)
            with lock:
                found.append(result)

        threads = [threading.Thread(target=run, args=(item,)) for item in items]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


class OneAfterAnother(ThreadEngine):
    """Adds from left to right."""

    def reduce(self, task, add, items, *common, label=""):
        return fold(add, self.map(task, items, *common, label=label))


class Once(InPlaceEngine):
    """What is held can be used once."""

    def hold(self, task, items, *common):
        return [[value] for value in self.map(task, items, *common)]

    def map(self, task, items, *common, label="", light=False):
        def used(item):
            return item.pop() if item else np.zeros(3)

        items = [used(item) if isinstance(item, list) else item for item in items]
        return super().map(task, items, *common, label=label, light=light)


class Rounded(InPlaceEngine):
    def share(self, value):
        return value.astype(np.float32)


class InItsOwnWords(InPlaceEngine):
    def map(self, task, items, *common, label="", light=False):
        try:
            return super().map(task, items, *common, label=label, light=light)
        except KeyError as error:
            raise RuntimeError("a task failed") from error


class Silent(InPlaceEngine):
    def map(self, task, items, *common, label="", light=False):
        return super().map(task, items, *common)


class Idle(InPlaceEngine):
    width = 0


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (ByWhoIsFirst(), r"map of ByWhoIsFirst .* must return the results of .* in their order"),
        (OneAfterAnother(), r"reduce of OneAfterAnother must add 5 parts as the tree .*\(cd\)"),
        (Once(), r"map over results of hold of Once must be \[3.5, .* got \[0.5"),
        (Rounded(), "tasks of Rounded must get a shared value as it is"),
        (
            InItsOwnWords(),
            r"map of InItsOwnWords must raise .* got RuntimeError\(",
        ),
        (Silent(), r"progress of Silent must be called with \('looking', done, 5\), .* got \[\]"),
        (Idle(), "width of Idle must be a whole number of at least 1, got 0"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_engine_is_named(engine, words):
    with pytest.raises(AssertionError, match=words):
        check_engine(engine)
