"""Rows of a file with their targets, as ``mercer fit`` and ``mercer rank`` read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mercer.contracts import RowSource
from mercer.rows import names_columns, open_rows


@dataclass(frozen=True)
class Reading:
    """Which columns of a file are read, and as what.

    Attributes
    ----------
    task, targets : str
        What needs targets, and what they are called there; for messages.
    target, weight, query : str or None
        The columns of targets, weights and queries.
    features : list of str or None
        The columns of features; None for all others.
    """

    task: str
    targets: str
    target: str | None
    weight: str | None
    features: list[str] | None
    query: str | None = None

    def open(self, path: Path, n_features: int | None = None) -> RowSource:
        """Open rows with their targets; an .npz archive may leave them unnamed, as ``y``."""
        named = names_columns(path)
        if self.target is None and named:
            raise ValueError(
                f"{self.task} needs {self.targets}: name the column of {path} with --target"
            )
        features = self.features if named else None
        source = open_rows(path, self.target, self.weight, features, self.query, n_features)
        if not source.has_target:
            raise ValueError(
                f"{path} has no array 'y' of {self.targets}: name another one with --target"
            )
        return source

    def open_test(self, path: Path, rows: RowSource) -> RowSource:
        """Open a test file with the columns that a model is fitted to; weights are not used."""
        features = self.features or rows.feature_names
        return replace(self, weight=None, features=features).open(path, rows.n_features)
