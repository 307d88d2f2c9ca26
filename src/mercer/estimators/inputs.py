"""Convert user input to a source of rows, checked as far as possible without reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    validate_data,
)

from mercer.contracts import Array, RowSource, TargetKind
from mercer.estimators.asked import accepts_sparse, is_pairwise
from mercer.estimators.encoding import warn_of_dropped
from mercer.rows import ArraySource, as_source, names_columns, open_rows
from mercer.rows.frames import from_frame, table_of
from mercer.rows.given_arrays import refuse_masked, sound_rows, unmasked
from mercer.rows.labels import missing
from mercer.rows.table import Table
from mercer.validation import (
    check_finite,
    check_same_length,
    check_total_weight,
    check_weight,
    closest,
)


@dataclass(frozen=True)
class Given:
    """The input of fit, as given by the user."""

    X: Any
    y: Any = None
    weight: Any = None
    query: Any = None
    shard_labels: Any = None
    expects_unlabelled: bool = False  # rows without labels were given as such
    in_one_place: bool = False  # whatever is asked of shards


@dataclass(frozen=True)
class RowInput:
    """Rows as a source, and what is known about them without reading files.

    ``present`` holds the user's row numbers if some rows are dropped (weight 0) or reordered
    (queries).
    """

    source: RowSource
    unlabelled: bool = False  # whether some rows have no label
    present: Array | None = None


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator unchanged if a fit fails or is interrupted."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        # Not cleared at once: another thread may be predicting.
        for name in set(estimator.__dict__) - set(before):
            del estimator.__dict__[name]
        estimator.__dict__.update(before)
        raise


def read_rows(estimator: Any, kind: TargetKind, given: Given, *, reset: bool) -> RowInput:
    """Return rows as a source, checked as far as possible without reading files."""
    X, y, weight, query = given.X, given.y, given.weight, given.query
    if isinstance(X, (str, Path, RowSource)):
        raw = takes_tables(estimator)
        source = X if isinstance(X, RowSource) else as_source(X, y, weight, query, raw=raw)
        if not raw and getattr(source, "raw", False):
            source = as_numeric(source)
        if X is source and not (y is None and weight is None and query is None):
            as_source(X, y, weight, query)  # raises an error that says why
        if not source.has_target:
            raise ValueError(
                "fit needs targets: use fit(path, 'name of the target column'), or "
                "mercer.open_rows(path, target=...)"
            )
        check_features(estimator, source, reset=reset)
        return in_query_order(RowInput(source))
    if takes_tables(estimator):
        X, y, weight, query = with_named_columns(X, y, weight, query)
    refuse_masked(weight, "sample_weight")
    refuse_masked(query, "qid")
    X = validated_rows(estimator, X, reset=reset)
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            f"is None"
        )
    y = kind.check(unmasked(y, labels=True))
    check_same_length(X.shape[0], y, "y")
    if query is not None:
        query = np.asarray(query)
        if query.ndim != 1:
            raise ValueError(
                f"qid must be one query per row if X is an array, got shape {query.shape}"
            )
        check_same_length(X.shape[0], query, "qid")
    absent = missing(y)
    names = getattr(estimator, "feature_names_in_", None)
    present = None
    counts = np.ones(len(absent), dtype=bool)
    if weight is not None:
        try:
            weight = _check_sample_weight(weight, y, dtype=np.float64)
        except OverflowError as error:
            raise ValueError(
                "sample_weight must be finite, got an integer that is too large for a float: "
                "divide all weights by the same number"
            ) from error
        check_weight(weight)
        check_total_weight(weight.sum())
        counts = weight > 0  # rows with weight 0 are dropped
    if estimator.unlabelled == "drop" and not given.expects_unlabelled and absent.any():
        warn_of_dropped(int(absent.sum()), len(absent))
        counts, absent = counts & ~absent, np.zeros(0, dtype=bool)
    if kind.ranks and absent.any():
        at = int(np.flatnonzero(absent)[0])
        raise ValueError(f"relevance must be known in every row, got NaN at row {at}")
    if not counts.all():
        refuses_gaps = not takes_tables(estimator) or estimator.missing == "error"
        if refuses_gaps and not isinstance(X, Table):
            check_finite(X, names=names)
        present = np.flatnonzero(counts)
        X, y = X[counts], y[counts]
        weight = None if weight is None else weight[counts]
        query = None if query is None else query[counts]
        if is_pairwise(estimator.kernel):
            X = X[:, counts]
    source = ArraySource(X, y, weight, None if names is None else [str(n) for n in names])
    source = source if query is None else source.with_queries(query)
    return in_query_order(RowInput(source, bool(absent.any()), present))


def as_numeric(source: Any) -> RowSource:
    """Return a raw source as one of numbers."""
    numbers: RowSource = source.as_numbers()
    return numbers


def in_query_order(rows: RowInput) -> RowInput:
    """Sort the rows of an array by query, if there are queries."""
    source = rows.source
    if not (isinstance(source, ArraySource) and source.has_query):
        return rows
    query, _ = next(iter(source.queries(max(1, source.n_rows))))
    order = np.argsort(query, kind="stable")
    present = order if rows.present is None else rows.present[order]
    return RowInput(source.at(order), rows.unlabelled, present)


def takes_tables(estimator: Any) -> bool:
    """Return whether columns may be of any kind, to be encoded."""
    return getattr(estimator, "columns", None) is not None and not is_pairwise(estimator.kernel)


def with_named_columns(X: Any, y: Any, weight: Any, query: Any) -> tuple[Any, Any, Any, Any]:
    """Take y, weights and queries that are named from the columns of a data frame."""
    named = [value for value in (y, weight, query) if isinstance(value, str)]
    if not named or not hasattr(X, "columns") or isinstance(X, (str, Path)):
        return X, y, weight, query
    # The columns of a table of pyarrow are arrays, not names.
    columns = list(getattr(X, "column_names", X.columns))
    names = [str(name) for name in columns]
    for name in named:
        if name not in names:
            raise ValueError(f"the data frame has no column {name!r}{closest(name, names)}")
    parts = [
        np.asarray(X[value]) if isinstance(value, str) else value for value in (y, weight, query)
    ]
    rest = [name for name in columns if str(name) not in named]
    others = X.select(rest) if hasattr(X, "column_names") else X[rest]
    return others, parts[0], parts[1], parts[2]


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as numeric rows, or as a table, validated as in scikit-learn."""
    pairwise, X = is_pairwise(estimator.kernel), sound_rows(X)
    if takes_tables(estimator):
        if isinstance(X, list) and X and isinstance(X[0], (list, tuple)):
            X = np.array(X, dtype=object) if any(holds_text(row) for row in X) else X
        table = table_of(X)
        if table is not None:
            _check_n_features(estimator, X, reset=reset)
            _check_feature_names(estimator, X, reset=reset)
            if not table.n_rows:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is "
                    f"required by {type(estimator).__name__}."
                )
            return table
    try:
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr" if accepts_sparse(estimator.kernel) else False,
            dtype="numeric",
            ensure_all_finite=False,
            reset=reset,
        )
    except ValueError:
        from_frame(X)  # the error names the non-numeric column of a data frame
        raise
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {X.dtype}")
    if pairwise and reset and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"with a precomputed kernel, X must be the square matrix K(train, train), "
            f"got shape {X.shape}"
        )
    return X


def holds_text(row: Any) -> bool:
    """Return whether a row of a list has text or gaps in it."""
    return any(value is None or isinstance(value, str) for value in row)


def check_features(estimator: Any, source: Any, *, reset: bool) -> None:
    """Set the columns from a source, or raise ValueError if they differ from those of the fit."""
    names = source.feature_names
    if reset:
        estimator.n_features_in_ = source.n_features
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if source.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        wrong = [name for name in names if name not in set(known)]
        raise ValueError(
            f"the columns must be those of the fit, in order: {list(map(str, known))}; got "
            f"{list(names)}" + (f" (unknown: {wrong})" if wrong else "")
        )


def rows_to_predict(estimator: Any, X: Any) -> RowSource:
    """Return the rows to predict as a source; the columns must be those of the fit."""
    names = getattr(estimator, "feature_names_in_", None)
    fitted = getattr(estimator, "columns_", None)
    # Columns that the fit left out may be missing in files.
    needed = None if fitted is None or names is None else fitted.encoding_.needed
    if isinstance(X, (str, Path)):
        columns = None if names is None else needed or [str(name) for name in names]
        X = open_rows(
            X,
            columns=columns if names_columns(X) else None,
            n_features=estimator.n_features_in_,
            raw=takes_tables(estimator),
        )
    # Asking an array for the methods of a source takes a tenth of predicting one row.
    if not isinstance(X, np.ndarray) and isinstance(X, RowSource):
        if needed is None or X.feature_names != needed:
            check_features(estimator, X, reset=False)
        if getattr(X, "raw", False) and not takes_tables(estimator):
            return as_numeric(X)
        return X
    rows = validated_rows(estimator, X, reset=False)
    return ArraySource(rows, feature_names=None if names is None else list(names))
