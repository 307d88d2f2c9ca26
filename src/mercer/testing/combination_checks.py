"""Checks of a combination: one shard is one place, equal shards are one, engines do not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.bases import Landmarks
from mercer.combine import Combination
from mercer.contracts import Array
from mercer.engines import ThreadEngine
from mercer.estimators import KernelRegressor
from mercer.kernels import Gaussian
from mercer.testing.assertions import (
    largest,
    named,
    require,
    require_close,
    require_copies,
    targets_of,
    unit_square,
)

#: How close predictions must come, relative to the largest.
CLOSE = 1e-8


def check_combination(combination: Combination) -> None:
    """Check that a combination keeps what :class:`mercer.combine.Combination` promises.

    Runs every function of ``COMBINATION_CHECKS``; the first property that fails raises.

    Parameters
    ----------
    combination : Combination
        The combination, with parameters; it stays as it is.

    Raises
    ------
    AssertionError
        It says which property failed, and by how much.

    Examples
    --------
    >>> from mercer.combine import Average
    >>> check_combination(Average())
    """
    for check in COMBINATION_CHECKS:
        check(combination)


def rows_and_targets() -> tuple[Array, Array]:
    """Return 90 rows of the unit square with a smooth function of them."""
    X = unit_square(90)
    return X, targets_of(X)


def model(**settings: Any) -> KernelRegressor:
    """Return an unfitted regressor with landmarks that do not depend on the rows."""
    basis = Landmarks(sampling=unit_square(15, seed=2))
    return KernelRegressor(
        Gaussian(0.3), basis, alpha=1e-2, random_state=0, dtype="float64", **settings
    )


def in_one_place() -> tuple[Array, Array, Array, Array]:
    """Return rows, targets, new rows, and their predictions by a fit without shards."""
    (X, y), new = rows_and_targets(), unit_square(20, seed=1)
    return X, y, new, np.asarray(model().fit(X, y).predict(new))


def check_parameters(combination: Combination) -> None:
    """It has a label; clones and pickles have the same parameters."""
    require(
        bool(combination.label),
        f"{named(combination)} must have a label, got ''; summaries name it by that",
    )
    require_copies(combination)


def check_one_shard(combination: Combination) -> None:
    """With all rows in one shard the model is that of one place."""
    X, y, new, whole = in_one_place()
    found = model(combine=clone(combination), shards=1).fit(X, y)
    require_close(
        found.predict(new),
        whole,
        CLOSE * largest(whole),
        f"{named(combination)} of one shard must be the fit in one place",
        "the shares of shards must sum to one",
    )
    require(
        found.communication_.shards == 1,
        f"communication_ after {named(combination)} must know of 1 shard, got "
        f"{found.communication_.shards}; hand rows.sent on as communication of the Fit",
    )


def check_equal_shards(combination: Combination) -> None:
    """Three shards with the same rows are the model of one of them."""
    X, y, new, whole = in_one_place()
    labels = np.repeat(np.arange(3), len(X))
    found = model(combine=clone(combination)).fit(
        np.tile(X, (3, 1)), np.tile(y, 3), shard_labels=labels
    )
    require_close(
        found.predict(new),
        whole,
        CLOSE * largest(whole),
        f"{named(combination)} of three shards with the same rows must be the fit of those rows",
        "the shares of shards must sum to one, and alpha must be that of the mean loss",
    )


def check_engines(combination: Combination) -> None:
    """The number of workers changes nothing, to the last bit."""
    (X, y), new = rows_and_targets(), unit_square(20, seed=1)
    one, three = (
        model(combine=clone(combination), shards=5, engine=ThreadEngine(workers=workers)).fit(X, y)
        for workers in (1, 3)
    )
    require_close(
        three.predict(new),
        one.predict(new),
        0.0,
        f"{named(combination)} on three threads must be that on one, to the last bit",
        "add results as rows.sum() does, or in the order of rows.map()",
    )


#: All checks of a combination, each called as ``check(combination)``: to parametrize a test with.
COMBINATION_CHECKS: list[Callable[..., None]] = [
    check_parameters,
    check_one_shard,
    check_equal_shards,
    check_engines,
]
