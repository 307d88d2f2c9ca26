"""Kinds of targets: numbers, classes or relevance."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from mercer.contracts import Array, RowSource
from mercer.estimators.rank_targets import RankSummary, RankTargets
from mercer.estimators.target_checks import check_class_labels, check_number_targets
from mercer.estimators.targets import (
    ROWS,
    ClassTargets,
    RegressionTargets,
    TargetSummary,
    as_numbers,
    classes_of,
    known_labels,
)
from mercer.moments import QueryTotals
from mercer.rows.labels import missing, warn_of_similar
from mercer.validation import check_finite

#: Class labels that are numbers must be smaller: they are compared as 64-bit integers.
LARGEST_LABEL = 2.0**63


@dataclass(frozen=True)
class Numbers:
    """Targets of a regression."""

    estimator: str
    intercept: bool
    ranks = False
    summarize = staticmethod(TargetSummary.of)

    def check(self, y: Any) -> Array:
        """Return y as numbers of shape (n,) or (n, k); NaN means no label."""
        check_number_targets(y)
        if np.asarray(y).dtype.kind in "USO":
            found = as_numbers(np.asarray(y), 0, partial=True)
            y = found if np.ndim(y) == 2 else found[:, 0]
        y = check_array(
            y,
            ensure_2d=False,
            allow_nd=False,
            dtype="numeric",
            ensure_all_finite="allow-nan",
            input_name="y",
            estimator=self.estimator,
        )
        return np.asarray(y)

    def of_source(self, source: RowSource) -> RegressionTargets:
        """Compute origin and scale from the first rows."""
        return RegressionTargets.of_source(source, self.intercept)

    def pooled(self, summaries: Sequence[TargetSummary]) -> RegressionTargets:
        """Compute origin and scale from the summaries of shards."""
        return RegressionTargets.pooled(summaries, self.intercept)

    def check_shards(self, summaries: Sequence[Any], whole_queries: bool) -> None:
        """Accept any shards."""


@dataclass(frozen=True)
class Classes:
    """Targets of a classification; ``known`` lists all classes if rows may not contain them."""

    known: ClassTargets | None = None
    ranks = False
    summarize = staticmethod(classes_of)

    def check(self, y: Any) -> Array:
        """Return one label per row; None and NaN mean no label."""
        labels = np.asarray(column_or_1d(y, warn=True))
        check_class_labels(labels)
        known = known_labels(labels, missing(labels))
        if known.dtype.kind == "f":
            # scikit-learn casts to integers first, with a warning that nobody can act on.
            check_finite(known[:, None], what="y")
            if np.abs(known).max(initial=0.0) >= LARGEST_LABEL:
                raise ValueError(
                    f"class labels that are numbers must be below {LARGEST_LABEL:.0e} in size, got "
                    f"{np.abs(known).max():.3g}: for numbers to predict use KernelRegressor"
                )
        check_classification_targets(known)
        return labels

    def of_source(self, source: RowSource) -> ClassTargets:
        """Find the classes in a pass over y."""
        return self._several(self.known or ClassTargets.of_source(source, ROWS))

    def pooled(self, summaries: Sequence[Array]) -> ClassTargets:
        """Return the classes of all shards."""
        return self._several(self.known or ClassTargets(functools.reduce(np.union1d, summaries)))

    @staticmethod
    def _several(targets: ClassTargets) -> ClassTargets:
        if not len(targets.classes):
            raise ValueError("Input y contains NaN or None in every row: no row has a label")
        if len(targets.classes) < 2:
            raise ValueError(
                f"a classifier needs at least two classes, got one class: "
                f"{targets.classes.tolist()[0]!r}; in partial_fit, list all classes in classes="
            )
        if targets.classes.dtype.kind in "OU":
            warn_of_similar(map(str, targets.classes))
        return targets

    def check_shards(self, summaries: Sequence[Any], whole_queries: bool) -> None:
        """Accept any shards."""


@dataclass(frozen=True)
class Relevance:
    """Targets of a ranking: relevance, compared within queries if there are any."""

    estimator: str
    weighting: Any
    seed: int
    pairwise_kernel: bool
    ranks = True
    summarize = staticmethod(RankSummary.of)

    def check(self, y: Any) -> Array:
        """Return one number per row."""
        check_number_targets(y)
        y = check_array(
            y,
            ensure_2d=False,
            dtype="numeric",
            ensure_all_finite="allow-nan",
            input_name="y",
            estimator=self.estimator,
        )
        if np.ndim(y) != 1:
            raise ValueError(f"relevance must be one number per row, got y of shape {np.shape(y)}")
        return np.asarray(y)

    def of_source(self, source: RowSource) -> RankTargets:
        """Compute scale and queries from a source."""
        return self._checked(RankTargets.of_queries(source, self.weighting, self.seed))

    def pooled(self, summaries: Sequence[RankSummary]) -> RankTargets:
        """Compute scale and queries from the summaries of shards."""
        return self._checked(RankTargets.of_shards(summaries, self.weighting, self.seed))

    def _checked(self, targets: RankTargets) -> RankTargets:
        if targets.pairs is not None and self.pairwise_kernel:
            raise ValueError(
                "a precomputed kernel cannot be sorted by query: pass rows and another kernel"
            )
        return targets

    def check_shards(self, summaries: Sequence[RankSummary], whole_queries: bool) -> None:
        """Raise ValueError if a query is split over shards but must be in one shard."""
        parts = [part.queries for part in summaries if part.queries is not None]
        if not (parts and whole_queries):
            return
        total = QueryTotals.pooled(parts)
        split = total.values[total.places > 1]
        if len(split):
            raise ValueError(
                f"rounds need every query in one shard, but {len(split)} have rows in several, the "
                f"first one {split[0]!s}: split between queries, or use combine='sum', which adds "
                f"the parts of a query exactly"
            )
