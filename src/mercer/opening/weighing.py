"""What weights mean: repeated rows, ratios only, draws by importance; and weights of classes.

.. math:: \\frac1D \\sum_i w_i (f(x_i) - y_i)^2 + \\alpha \\|f\\|_H^2, \\qquad
          D = \\sum_i w_i \\; \\text{(frequency, relative)}, \\quad n \\; \\text{(importance)}

The fit itself always divides by the sum of the weights W, and takes W for the number of rows. For
"relative" and "importance" the weights are multiplied by n/W, so that W = n; for "importance" alpha
is multiplied by n/W too, which is division by n (Murata and Suzuki, 2021, algorithm 1, line 5).

Weights of classes multiply those of the rows,

.. math:: w_i \\leftarrow w_i \\, v_{y_i}, \\qquad
          v_c = \\frac{W}{k \\, W_c} \\; \\text{("balanced")}, \\quad W_c = \\sum_{i : y_i = c} w_i

as in scikit-learn; "balanced" gives every class the same total weight and keeps the sum W. The W_c
are sums over rows, so they are the same for an array, a file and shards; rows of weight 2 count
twice. Rows without a label keep their weight.

Rows that a labeller drew are remembered, per process, to warn about a fit without their weights.
They are identified by sums of hashes, so their order does not matter.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.row_folds import row_hashes
from mercer.contracts import Array, Targets
from mercer.opening.fit_input import FitInput
from mercer.request import Problem
from mercer.rows.frames import table_of
from mercer.rows.labels import missing
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.rows.steps import reweighted_shard, weight_sums
from mercer.storage import fingerprint_unordered
from mercer.targets.class_targets import ClassTargets, known_labels
from mercer.validation import check_number, check_weight, closest, warn

#: What ``weight_type=`` accepts.
WEIGHT_TYPES = ["frequency", "relative", "importance"]
#: How far from a whole number a frequency may be.
WHOLE = 1e-6
#: Rows of a block.
ROWS = 65_536
#: Fingerprints of drawn rows, the most recent last, and how many to remember.
_DRAWN: dict[tuple[int, int], None] = {}
KEPT = 64


def with_weight_type(rows: RowSet, weight_type: str) -> tuple[RowSet, float]:
    """Return rows with weights as a fit takes them, and what to multiply alpha by."""
    if weight_type == "frequency":
        return rows, 1.0
    sums: list[tuple[int, float]] = rows.map(weight_sums, label="weights")
    count, total = sum(part[0] for part in sums), sum(part[1] for part in sums)
    if not (total > 0 and np.isfinite(total)) or total == count:
        return rows, 1.0  # nothing to do, or weights that are refused later
    ratio = count / total
    return rows.derived(reweighted_shard, ratio), ratio if weight_type == "importance" else 1.0


def warn_of_frequencies(given: FitInput, weight_type: str, problem: Problem) -> None:
    """Warn of weights that are no frequencies, if the fit depends on the number of rows."""
    if given.weight is None or isinstance(given.weight, str) or not problem.counts_rows:
        return
    if weight_type != "frequency":
        return
    weight = np.asarray(given.weight, dtype=np.float64)
    check_weight(weight)
    weight = weight[weight > 0]
    if not len(weight):
        return
    if weight.min() == weight.max():
        found = "" if weight[0] == 1 else f"all weights are {weight[0]:.4g}"
    else:
        broken = np.abs(weight - np.rint(weight)) > WHOLE
        found = "weights are not whole numbers" if broken.any() else ""
    if found:
        warn(
            f"{found}, but count as repeated rows here, and {problem.chooses_by[0]} depends on the "
            f"number of rows: set weight_type='relative' if only their ratios matter"
        )


# -- rows that were drawn by weight -------------------------------------------------------------


def remember(X: object) -> None:
    """Remember rows drawn by a labeller."""
    found = identity_of(X)
    if found is not None:
        _DRAWN[found] = None
        while len(_DRAWN) > KEPT:
            _DRAWN.pop(next(iter(_DRAWN)))


def warn_of_missing_weights(X: object, sample_weight: object) -> None:
    """Warn if rows drawn by importance are fitted without their weights."""
    shape = getattr(X, "shape", None) or [len(X) if isinstance(X, list) else 0]
    counts = {count for count, _ in _DRAWN}
    if sample_weight is None and shape[0] in counts and identity_of(X) in _DRAWN:
        warn(
            "these rows were drawn by an ImportanceLabeller but are fitted without their weights: "
            "the fit is biased; pass sample_weight=labeller.sample_weight_"
        )


def identity_of(X: object) -> tuple[int, int] | None:
    """Return the number of rows and the sum of their hashes; None for sparse rows and files."""
    table = None
    try:
        table = table_of(X)
        rows = np.asarray(X if table is None else table.numbers())
    except (TypeError, ValueError):  # not all columns are numbers
        if table is None:
            return None
        with np.errstate(over="ignore"):
            return len(table), int(row_hashes(table).sum(dtype=np.uint64))
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        return None
    return fingerprint_unordered(rows.astype(np.float64, copy=False))


# -- weights of classes ------------------------------------------------------------------------


def check_class_weight(class_weight: object) -> None:
    """Raise an error unless class weights are None, "balanced" or nonnegative numbers by class."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict of classes and their weights, got "
            f"{class_weight!r}"
        )
    for name, weight in class_weight.items():
        check_number(weight, f"class_weight[{name!r}]", minimum=0.0)


@dataclass(frozen=True)
class ClassFactors:
    """What the weight of a row is multiplied by, given its label: 1 without a label.

    >>> ClassFactors(np.array(["cat", "dog"]), np.array([0.5, 2.0])).of(np.array(["dog", "cat"]))
    array([2. , 0.5])
    """

    classes: Array
    factors: Array  # (k,)

    def of(self, y: Array) -> Array:
        """Return the factor of each row."""
        absent = missing(y)
        found = np.ones(len(y))
        found[~absent] = self.factors[codes_of(self.classes, known_labels(y, absent))]
        return found


def codes_of(classes: Array, labels: Array) -> Array:
    """Return the number of the class of each label; unknown labels are refused elsewhere."""
    return np.minimum(np.searchsorted(classes, labels), len(classes) - 1)


def factors_by_name(class_weight: Mapping[Any, float], classes: Array) -> Array:
    """Return the weight of each class; 1 where a dict does not name it.

    Classes without rows may be named, but only if all others are: else it is a slip of the pen.

    >>> factors_by_name({2: 0.5}, np.array([1, 2, 3]))
    array([1. , 0.5, 1. ])
    """
    known = classes.tolist()
    strange = [name for name in class_weight if name not in known]
    if strange and any(name not in class_weight for name in known):  # as scikit-learn does
        raise ValueError(
            f"class_weight names a class that y does not have: {strange[0]!r}"
            f"{closest(str(strange[0]), map(str, known))}"
        )
    factors = np.array([float(class_weight.get(name, 1.0)) for name in known])
    if not factors.any():
        raise ValueError("class_weight must be positive for at least one class, got only zeros")
    return factors


def balanced_factors(totals: Array) -> Array:
    """Return ``W / (k W_c)``; 1 for classes without rows.

    >>> balanced_factors(np.array([3.0, 1.0]))
    array([0.66666667, 2.        ])
    """
    present = totals > 0
    shares = totals.sum() / (np.count_nonzero(present) or 1)
    return np.where(present, shares / np.where(present, totals, 1.0), 1.0)


def with_class_weight(
    rows: RowSet, targets: Targets, class_weight: str | Mapping[Any, float] | None
) -> RowSet:
    """Return rows whose weights are multiplied by those of their classes."""
    if class_weight is None:
        return rows
    assert isinstance(targets, ClassTargets)
    classes = targets.classes
    if isinstance(class_weight, Mapping):
        factors = factors_by_name(class_weight, classes)
    else:
        parts = rows.map(class_totals, classes, label="weights", record="weights of classes")
        factors = balanced_factors(functools.reduce(np.add, parts))
    return rows.derived(reweighted_shard, ClassFactors(classes, factors))


def class_totals(shard: Shard, classes: Array) -> Array:
    """Task: return the sum of the weights of each class."""
    total = np.zeros(len(classes))
    with shard.naming():
        for block in shard.source.blocks(ROWS):
            assert block.y is not None
            present = ~missing(block.y)
            codes = codes_of(classes, known_labels(block.y, ~present))
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            total += np.bincount(codes, weight[present], minlength=len(classes))
    return total
