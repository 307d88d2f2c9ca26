"""From scores of rows that a ranker has not seen to its map of preferences."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators.rank_targets import RankTargets
from mercer.inference.left_out_rows import LeftOutRows
from mercer.inference.preferences import PreferenceMap, fit_preferences, pairs_within
from mercer.result import Fit


def preferences_of(found: Fit, targets: RankTargets, calibration: Any) -> PreferenceMap | None:
    """Return the map of a fit by its own left-out rows; None without pairs, or if it is off.

    They have then served their purpose, and are dropped.
    Rows are compared within queries, and only if one model has seen neither of them.
    """
    record: LeftOutRows | None = found.left_out
    found.left_out = None
    if calibration is None or record is None:
        return None
    query = np.zeros(len(record.fold), dtype=int) if record.query is None else record.query
    _, groups = np.unique(np.stack([query, record.fold]), axis=1, return_inverse=True)
    pairs = pairs_within(
        groups.ravel(),
        record.values[:, 0] * targets.scale[0],  # in the units of predictions
        record.targets[:, 0],
        record.weight,
        by_group=targets.by_query and targets.weighting == "query",
        seed=targets.seed,
    )
    return fit_preferences(pairs)
