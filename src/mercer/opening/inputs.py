"""Convert user input to a source of rows, checked as far as possible without reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _get_feature_names,
    check_array,
)

from mercer.columns import TableEncoder, TableEncoding
from mercer.columns.table_encoder import text_names, wanted_columns
from mercer.contracts import Array, ReadableRows, Rows, RowSource, TargetKind, Targets
from mercer.opening.fit_input import FitInput
from mercer.result import Fit
from mercer.rows import ArraySource, as_source
from mercer.rows.dask_partitions import in_one_place
from mercer.rows.file_source import FileSource
from mercer.rows.frames import frame_names, from_frame, table_of, with_columns
from mercer.rows.given_arrays import refuse_masked, sound_rows, unmasked
from mercer.rows.labels import missing, with_number_labels
from mercer.rows.table import Table
from mercer.validation import (
    check_finite,
    check_same_length,
    check_total_weight,
    check_weight,
    closest,
    warn,
)


@dataclass(frozen=True)
class Features:
    """The columns of the rows of a fit: how many, and their names if they have any."""

    number: int
    names: list[str] | None = None


class FittedModel(Protocol):
    """A fitted estimator, as those see it who read rows for it."""

    @property
    def fit_(self) -> Fit:
        """What the fit found."""

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""

    @property
    def columns_(self) -> TableEncoder | None:
        """What became of the columns."""

    @property
    def _targets(self) -> Targets: ...

    @property
    def _roles(self) -> tuple[str, ...]: ...

    kernel: object
    columns: object
    missing: str
    unlabelled: str


@dataclass(frozen=True)
class InputOptions:
    """What X may be."""

    #: The estimator: scikit-learn's checks name its class, and read the columns of its fit.
    owner: BaseEstimator
    pairwise: bool = False  # whether rows are kernel values instead of columns
    sparse: bool = True
    tables: bool = True  # whether columns may be of any kind, to be encoded
    missing: str = "fill"
    unlabelled: str = "drop"

    @property
    def name(self) -> str:
        """The class of the estimator, for messages."""
        return type(self.owner).__name__


@dataclass(frozen=True)
class Known:
    """What a fitted model knows of its rows; others are read in the same way."""

    features: Features
    encoder: TableEncoder | None  # what became of the columns
    targets: Targets
    roles: tuple[str, ...] = ()  # the names of y, weights and queries

    @staticmethod
    def of(model: FittedModel) -> Known:
        """Return what a fitted estimator knows."""
        names = getattr(model, "feature_names_in_", None)
        features = Features(model.n_features_in_, None if names is None else list(map(str, names)))
        return Known(features, model.columns_, model._targets, model._roles)

    @property
    def encoding(self) -> TableEncoding | None:
        """What became of the columns; None if they were taken as they are."""
        return None if self.encoder is None else self.encoder.encoding_

    @property
    def needed(self) -> list[str] | None:
        """The names that rows must have: columns that the fit left out may be missing."""
        names, encoding = self.features.names, self.encoding
        return names if names is None or encoding is None else encoding.needed

    def names_in(self, X: Any) -> list[str] | None:
        """Return the names of the columns of a data frame, None where the fit or it has none."""
        return None if self.features.names is None else text_names(X)

    def wanted(self, names: list[str]) -> list[str]:
        """Return the columns of the fit that rows of these names have; it must have had names."""
        known, needed = self.features.names, self.needed
        assert known is not None
        assert needed is not None
        return wanted_columns(names, known, needed, self.roles)


@dataclass(frozen=True)
class RowInput:
    """Rows as a source, and what is known about them without reading files.

    ``present`` holds the user's row numbers if some rows are dropped (weight 0) or reordered
    (queries).
    """

    source: RowSource
    features: Features
    unlabelled: bool = False  # whether some rows have no label
    present: Array | None = None


@contextmanager
def unchanged_on_error(estimator: object) -> Iterator[None]:
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


def read_rows(
    given: FitInput, options: InputOptions, kind: TargetKind, known: Known | None = None
) -> RowInput:
    """Return rows as a source, checked as far as possible without reading files."""
    X, y, weight, query = given.X, given.y, given.weight, given.query
    if isinstance(X, (str, Path, RowSource)):
        return _read_source(given, options, kind, known)
    if options.tables:
        X, y, weight, query = with_named_columns(in_one_place(X), y, weight, query)
    refuse_masked(weight, "sample_weight")
    refuse_masked(query, "qid")
    X, features = validated_rows(X, options, known)
    if y is None:
        raise ValueError(
            f"This {options.name} estimator requires y to be passed, but the target y is None"
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
    present = None
    counts = np.ones(len(absent), dtype=bool)
    if weight is not None:
        weight = checked_weight(weight, y)
        counts = weight > 0  # rows with weight 0 are dropped
    if options.unlabelled == "drop" and not given.expects_unlabelled and absent.any():
        warn_of_dropped(int(absent.sum()), len(absent))
        counts, absent = counts & ~absent, np.zeros(0, dtype=bool)
    if kind.ranks and absent.any():
        at = int(np.flatnonzero(absent)[0])
        raise ValueError(f"relevance must be known in every row, got NaN at row {at}")
    if not counts.all():
        refuses_gaps = not options.tables or options.missing == "error"
        if refuses_gaps and not isinstance(X, Table):
            check_finite(X, names=features.names)
        present = np.flatnonzero(counts)
        X, y = X[counts], y[counts]
        weight = None if weight is None else weight[counts]
        query = None if query is None else query[counts]
        if options.pairwise:
            X = X[:, counts]
    source = ArraySource(X, y, weight, names_of(X, features))
    source = source if query is None else source.with_queries(query)
    return in_query_order(RowInput(source, features, bool(absent.any()), present))


def _read_source(
    given: FitInput, options: InputOptions, kind: TargetKind, known: Known | None
) -> RowInput:
    """Return the rows of a file or of a source."""
    X, y, weight, query = given.X, given.y, given.weight, given.query
    raw = options.tables
    source = X if isinstance(X, RowSource) else as_source(X, y, weight, query, raw=raw)
    source = source if raw else as_numeric(source)
    source = source if kind.classes else with_number_labels(source)
    if X is source and not (y is None and weight is None and query is None):
        as_source(X, y, weight, query)  # raises an error that says why
    if not source.has_target:
        raise ValueError(
            "fit needs targets: use fit(path, 'name of the target column'), or "
            "mercer.open_rows(path, target=...)"
        )
    return in_query_order(_with_weight(RowInput(source, features_of(source, options, known))))


def _with_weight(rows: RowInput) -> RowInput:
    """Leave out rows of an array with weight 0; those of files are left out as they are read."""
    if not isinstance(rows.source, ArraySource):
        return rows
    for block in rows.source.blocks(max(1, rows.source.n_rows)):
        if block.weight is not None:
            check_weight(block.weight)
            check_total_weight(block.weight.sum())
            if not block.weight.all():
                present = np.flatnonzero(block.weight)
                return replace(rows, source=rows.source.at(present), present=present)
    return rows


def checked_weight(weight: object, y: Array) -> Array:
    """Return the weights of rows, one for each."""
    try:
        found: Array = _check_sample_weight(weight, y, dtype=np.float64)
    except OverflowError as error:
        raise ValueError(
            "sample_weight must be finite, got an integer that is too large for a float: "
            "divide all weights by the same number"
        ) from error
    check_weight(found)
    check_total_weight(found.sum())
    return found


def as_numeric(source: RowSource) -> RowSource:
    """Return a source of numbers; one of the columns as they were written has to have only them."""
    return source.as_numbers() if isinstance(source, FileSource) and source.raw else source


def in_query_order(rows: RowInput) -> RowInput:
    """Sort the rows of an array by query, if there are queries."""
    source = rows.source
    if not (isinstance(source, ArraySource) and source.has_query):
        return rows
    query, _ = next(iter(source.queries(max(1, source.n_rows))))
    order = np.argsort(query, kind="stable")
    present = order if rows.present is None else rows.present[order]
    return replace(rows, source=source.at(order), present=present)


def with_named_columns(
    X: Any, y: object, weight: object, query: object
) -> tuple[Any, Any, Any, Any]:
    """Take y, weights and queries that are named from the columns of a data frame."""
    named = [value for value in (y, weight, query) if isinstance(value, str)]
    columns = frame_names(X)
    if not named or columns is None:
        return X, y, weight, query
    names = [str(name) for name in columns]
    for name in named:
        if name not in names:
            raise ValueError(f"the data frame has no column {name!r}{closest(name, names)}")
    parts = [
        np.asarray(X[value]) if isinstance(value, str) else value for value in (y, weight, query)
    ]
    rest = [name for name in columns if str(name) not in named]
    return with_columns(X, rest), parts[0], parts[1], parts[2]


def validated_rows(
    X: object, options: InputOptions, known: Known | None = None
) -> tuple[Rows, Features]:
    """Return X as numeric rows, or as a table, validated as in scikit-learn, and its columns."""
    if is_list_of_files(X):
        raise TypeError(
            f"X must be one file, a folder of Parquet files or rows in memory here, got a list of "
            f"{len(X)} paths, which only fit takes: pass them one after another, as in "
            f"np.concatenate([model.predict(path) for path in paths])"
        )
    rows = sound_rows(in_one_place(X))
    named = None if known is None else known.names_in(rows)
    if known is not None and named is not None:
        rows = with_columns(rows, known.wanted(named))
    encoding = None if known is None else known.encoding
    if options.tables and (known is None or encoding is not None):
        if isinstance(rows, list) and rows and isinstance(rows[0], (list, tuple)):
            rows = np.array(rows, dtype=object) if any(map(holds_text, rows)) else rows
        table = table_of(rows)
        if table is not None:
            features = Features(table.shape[1], _names(rows)) if known is None else known.features
            if known is not None and named is None:
                _check_n_features(options.owner, rows, reset=False)
                _check_feature_names(options.owner, rows, reset=False)
            if not table.n_rows:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is "
                    f"required by {options.name}."
                )
            return table if encoding is None else encoding.named(table), features
    return _numeric_rows(rows, options, known)


def _numeric_rows(X: object, options: InputOptions, known: Known | None) -> tuple[Rows, Features]:
    """Return X as an array or a sparse matrix of real numbers, and its columns."""
    try:
        if known is not None:
            _check_feature_names(options.owner, X, reset=False)
        names = _names(X) if known is None else known.features.names
        rows = check_array(
            X,
            accept_sparse="csr" if options.sparse else False,
            dtype="numeric",
            ensure_all_finite=False,
            estimator=options.owner,
            input_name="X",
        )
        if known is not None:
            _check_n_features(options.owner, rows, reset=False)
    except ValueError:
        from_frame(X)  # the error names the non-numeric column of a data frame
        raise
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {rows.dtype}")
    if options.pairwise and known is None and rows.shape[0] != rows.shape[1]:
        raise ValueError(
            f"with a precomputed kernel, X must be the square matrix K(train, train), "
            f"got shape {rows.shape}"
        )
    return rows, Features(rows.shape[1], names)


def _names(X: object) -> list[str] | None:
    """Return the names of the columns of a data frame, if all of them are text."""
    names = _get_feature_names(X)
    return None if names is None else [str(name) for name in names]


def is_list_of_files(X: object) -> TypeGuard[Sequence[str | Path]]:
    """Return whether X is a list of paths, the shards of a fit."""
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(p, (str, Path)) for p in X)


def holds_text(row: Iterable[object]) -> bool:
    """Return whether a row of a list has text or gaps in it."""
    return any(value is None or isinstance(value, str) for value in row)


def names_of(X: Rows, features: Features) -> list[str] | None:
    """Return the names of validated rows, None where the fit has none."""
    return X.names if features.names is not None and isinstance(X, Table) else features.names


def features_of(
    source: ReadableRows, options: InputOptions, known: Known | None = None
) -> Features:
    """Return the columns of a source; raise ValueError if it lacks columns of the fit."""
    names = source.feature_names
    if known is None:
        return Features(source.n_features, None if names is None else list(map(str, names)))
    if names is not None and known.features.names is not None:
        known.wanted(names)
    elif source.n_features != known.features.number:
        raise ValueError(
            f"X has {source.n_features} features, but {options.name} is expecting "
            f"{known.features.number} features as input"
        )
    return known.features


def warn_of_dropped(absent: int, total: int) -> None:
    """Warn of rows without a label; raise ValueError if no row has one."""
    if absent == total:
        raise ValueError("Input y contains NaN or None in every row: no row has a label")
    warn(
        f"{absent:,} of {total:,} rows have no label (NaN or None) and are left out: "
        f"unlabelled='use' takes them into the sums over rows"
    )


def columns_of_fit(model: FittedModel) -> tuple[list[str] | None, TableEncoding | None]:
    """Return the names of the columns of a fit, if they have any, and what became of them."""
    known = Known.of(model)
    return known.features.names, known.encoding
