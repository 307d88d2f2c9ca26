"""From what a user passes to a source of rows, checked as far as is possible without reading."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from mercer.contracts import Array, RowSource
from mercer.estimators.targets import missing
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.sources import ArraySource, as_source, names_columns, open_rows
from mercer.sources.frames import from_frame
from mercer.validation import (
    MercerWarning,
    check_finite,
    check_same_length,
    check_total_weight,
    check_weight,
)


class RowInputs(BaseEstimator):
    """What estimators accept as X, y and weights, to fit and to predict."""

    kernel: str | Kernel

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the model as it was where a fit is refused or interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_targets(self, y: Any) -> Array:
        raise TypeError(f"{type(self).__name__} does not define _check_targets()")

    def _source(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, query: Any = None
    ) -> RowSource:
        """Return rows as a source, checked as far as is possible without reading files."""
        self._partial = False  # whether some rows have no label
        if isinstance(X, (str, Path, RowSource)):
            source = X if isinstance(X, RowSource) else as_source(X, y, sample_weight, query)
            if X is source and not (y is None and sample_weight is None and query is None):
                as_source(X, y, sample_weight, query)  # says why not
            if not source.has_target:
                raise ValueError(
                    "a fit needs targets: fit(path, 'name of the target column'), or "
                    "mercer.open_rows(path, target=...)"
                )
            self._check_features(source, reset=reset)
            return source
        X = self._validated_rows(X, reset=reset)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                f"is None"
            )
        y = self._check_targets(y)
        check_same_length(X.shape[0], y, "y")
        if query is not None:
            query = np.asarray(query)
            if query.ndim != 1:
                raise ValueError(
                    f"qid must be one query a row where X is an array, got shape {query.shape}"
                )
            check_same_length(X.shape[0], query, "qid")
        absent = missing(y)
        self._partial = self._told_unlabelled = bool(absent.any())
        if self._partial and not self.__dict__.pop("_announced_unlabelled", False):
            warnings.warn(
                f"{int(absent.sum())} of {len(absent)} rows have no label (NaN or None): they "
                f"count for where rows are, not for y; drop them if that is not meant, or give "
                f"them as X_unlabelled",
                MercerWarning,
                stacklevel=5,
            )
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
            check_weight(weight)
            check_total_weight(weight.sum())
            present = weight > 0
            if not present.all():  # a row of weight 0 is a row that is not there
                check_finite(X, names=getattr(self, "feature_names_in_", None))
                X, y, weight = X[present], y[present], weight[present]
                query = None if query is None else query[present]
                if isinstance(as_kernel(self.kernel), Precomputed):
                    X = X[:, present]
                    self._present = np.flatnonzero(present)
        names = getattr(self, "feature_names_in_", None)
        found = ArraySource(X, y, weight, None if names is None else [str(n) for n in names])
        return found if query is None else found.with_queries(query)

    def _validated_rows(self, X: Any, *, reset: bool) -> Any:
        kernel = as_kernel(self.kernel)
        try:
            X = validate_data(
                self,
                X,
                accept_sparse="csr" if kernel.accepts_sparse else False,
                dtype="numeric",
                ensure_all_finite=False,
                reset=reset,
            )
        except ValueError:
            from_frame(X)  # names the column of a data frame that holds no numbers
            raise
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X must hold real numbers, got {X.dtype}")
        if isinstance(kernel, Precomputed) and reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel is fitted on the square matrix K(train, train), "
                f"got shape {X.shape}"
            )
        return X

    def _check_features(self, source: RowSource, *, reset: bool) -> None:
        names = source.feature_names
        if reset:
            self.n_features_in_ = source.n_features
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        if source.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {source.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None and list(known) != list(names):
            wrong = [name for name in names if name not in set(known)]
            raise ValueError(
                f"the columns must be those of the fit, in its order: {list(map(str, known))}; got "
                f"{list(names)}" + (f" (unknown: {wrong})" if wrong else "")
            )

    def _prediction_source(self, X: Any) -> RowSource:
        if isinstance(X, RowSource):
            source = X
        else:
            columns = self._columns() if names_columns(X) else None
            source = open_rows(X, columns=columns, n_features=self.n_features_in_)
        self._check_features(source, reset=False)
        return source

    def _columns(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]
