"""A random subset of rows set aside for testing, without reading them into memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.contracts import RowSource
from mercer.estimators.targets import ROWS
from mercer.rows.kept import KeptSource
from mercer.rows.labels import missing
from mercer.validation import check_number


def hold_out(source: RowSource, share: float, seed: int) -> tuple[RowSource, RowSource]:
    """Return the rows to train on, and a random fraction of the rows with a target to test on."""
    labelled = np.flatnonzero(np.concatenate([~missing(y) for y in source.targets(ROWS)]))
    number = round(check_number(share, "--holdout", above=0.0) * len(labelled))
    if not 0 < number < len(labelled):
        raise ValueError(
            f"--holdout must leave rows to train on and rows to test on: {share:g} of "
            f"{len(labelled)} rows is {number}; try 0.2"
        )
    mask = np.zeros(source.n_rows, dtype=bool)
    mask[labelled[np.random.default_rng(seed).choice(len(labelled), number, replace=False)]] = True
    train: Any = KeptSource(source, np.flatnonzero(~mask))
    test: Any = KeptSource(source, np.flatnonzero(mask))
    return train, test
