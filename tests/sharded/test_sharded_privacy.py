"""Rows stay in their shards: whatever a task returns is looked at."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from cases import regressor
from mercer import (
    Average,
    Gaussian,
    KernelRegressor,
    Landmarks,
    MetricSearch,
    Moments,
    RandomFeatures,
)
from mercer.engines import ThreadEngine
from mercer.inference.left_out_sums import EDGES
from pairs import over_pairs
from shard_cases import X, Y


class Listening(ThreadEngine):
    """Keeps everything that leaves a shard."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def map(self, task, items, *common, label="", light=False):
        found = super().map(task, items, *common, label=label, light=light)
        self.heard += [(task.__name__, part) for part in found]
        return found

    def hold(self, task, items, *common):
        return super().map(task, items, *common)  # stays where it is

    def reduce(self, task, add, items, *common, label=""):
        parts = super().map(task, items, *common, label=label)
        self.heard += [(task.__name__, part) for part in parts]
        return super().reduce(lambda part: part, add, parts)


def arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        yield from arrays(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays(part)
    elif isinstance(value, Moments) and value.gram.ndim == 1:  # as it is sent
        yield from arrays(value.whole())
    elif is_dataclass(value):
        yield from arrays([getattr(value, field.name) for field in fields(value)])


def rows_in(value):
    """Rows of X among the rows and columns of all arrays."""
    known = {row.tobytes() for row in X}
    found = set()
    for array in arrays(value):
        if array.ndim == 2 and X.shape[1] in array.shape and array.dtype == X.dtype:
            oriented = array if array.shape[1] == X.shape[1] else array.T
            found |= {row.tobytes() for row in np.ascontiguousarray(oriented)} & known
    return found


@over_pairs(
    combine=["sum", "average", "newton", "conjugate"],
    basis=[RandomFeatures(30), Landmarks(30)],
    kernel=[Gaussian("median"), Gaussian(1.5)],
)
@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_no_rows_but_landmarks_leave_a_shard(combine, basis, kernel):
    engine = Listening()
    regressor(kernel, basis, 1e-3, combine=combine, shards=5, engine=engine, random_state=0).fit(
        X, Y
    )
    assert engine.heard
    left = [name for name, part in engine.heard if rows_in(part)]
    assert set(left) <= ({"take"} if isinstance(basis, Landmarks) else set())
    taken = set().union(*(rows_in(part) for name, part in engine.heard if name == "take"))
    assert len(taken) == (30 if isinstance(basis, Landmarks) else 0)
    binned = {"sums_of", "error_counts_of"}  # counts in as many bins for any number of rows
    sizes = [a.shape[0] for name, part in engine.heard for a in arrays(part) if name not in binned]
    assert max(sizes) < len(X) / 5  # nothing has an entry a row
    counted = [a for name, part in engine.heard for a in arrays(part) if name in binned]
    assert all(len(EDGES) + 1 in a.shape or a.size <= 2 for a in counted)


def test_a_search_takes_its_sample_and_no_other_rows():
    engine, search = Listening(), MetricSearch(sample=100, rounds=1, n_components=20)
    KernelRegressor(
        basis=RandomFeatures(30), alpha=1e-3, metric=search, shards=5, engine=engine, random_state=0
    ).fit(X, Y)
    assert {name for name, part in engine.heard if rows_in(part)} == {"rows_at"}
    assert len(set().union(*(rows_in(part) for _, part in engine.heard))) == 100


def test_functions_of_its_own_are_points_of_the_shard():
    engine = Listening()
    KernelRegressor(
        Gaussian(1.5), "full", 1e-3, combine=Average(), shards=5, engine=engine, random_state=0
    ).fit(X, Y)
    assert len(set().union(*(rows_in(part) for _, part in engine.heard))) == len(X)
