"""Errors of averages of exact kernel fits to shards (DKRR), measured on rows in one place.

.. math:: f = \\sum_j \\frac{n_j}{n} f_j, \\qquad
          f_j = \\arg\\min \\frac1{n_j} \\sum_{i \\in D_j} (f(x_i) - y_i)^2 + \\alpha \\|f\\|^2

Each shard has functions of its own, which moments of shared functions do not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import solve

from mercer.contracts import Rows, Targets
from mercer.kernels import Kernel
from mercer.rows.checked import checked_blocks
from mercer.rows.rowset import RowSet
from mercer.theory.decisions import decided
from mercer.theory.sub_sums import FOLDS, PARTITIONS, SIZES

#: Rows read at a time.
ROWS = 8192


@dataclass(frozen=True)
class Averaged:
    """The error of an average over shards of so many rows: squared, and the rate of decisions."""

    rows_each: float
    error: float
    rate: float | None


def errors_of_local_kernels(
    rows: RowSet, targets: Targets, kernel: Kernel, alpha: float, intercept: bool, classes: bool
) -> list[Averaged]:
    """Return the error of the average for several numbers of shards.

    The shards together have the share of the rows that the largest training set of
    :mod:`mercer.theory.sub_sums` has; the other rows are the test. Weights are left aside.
    """
    blocks = list(checked_blocks(rows.items[0].source, targets, ROWS, partial=True))
    X, Y = _stacked([block.X for block, _ in blocks]), np.concatenate([Y for _, Y in blocks])
    known = np.flatnonzero(~np.isnan(Y).any(axis=1))
    order = np.random.default_rng(0).permutation(known)
    train = order[: len(order) * SIZES[-1] // FOLDS]
    test = order[len(train) :]
    mean = Y[train].mean(axis=0) if intercept else np.zeros(Y.shape[1])
    nothing = float(np.sum((Y[test] - Y[test].mean(axis=0)) ** 2))
    found = []
    for parts in PARTITIONS:
        scores = np.zeros((len(test), Y.shape[1]))
        for part in np.array_split(train, parts):
            K = kernel(X[part])
            K[np.diag_indices_from(K)] += alpha * len(part)
            c = solve(K, Y[part] - mean, assume_a="pos", check_finite=False, overwrite_a=True)
            scores += len(part) / len(train) * (kernel.against(X[part])(X[test]) @ c)
        scores += mean
        error = float(np.sum((Y[test] - scores) ** 2)) / max(nothing, np.finfo(float).tiny)
        rate = float(np.mean(decided(scores) != decided(Y[test]))) if classes else None
        found.append(Averaged(len(train) / parts, error, rate))
    return found


def _stacked(parts: list[Rows]) -> Rows:
    return sparse.vstack(parts).tocsr() if sparse.issparse(parts[0]) else np.concatenate(parts)
