"""What all combinations share: parameters as scikit-learn reads them, checked before any work."""

from __future__ import annotations

from sklearn.base import BaseEstimator


class Combination(BaseEstimator):
    """A way from what shards know to one model. It never sees who runs the shards."""

    #: How summaries name it.
    label = ""
    #: Whether every shard has functions of its own, rather than all the same.
    local_basis = False

    def check(self) -> None:
        """Refuse parameters that cannot be."""
