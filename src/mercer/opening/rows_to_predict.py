"""Rows to predict, in the columns of the fit: by name or by place, as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.columns import TableEncoding
from mercer.columns.encoded_source import encoded_source
from mercer.columns.table_encoder import warn_of
from mercer.columns.table_encoding import Surprise, is_in_order
from mercer.columns.table_sums import as_table
from mercer.contracts import RowSource, TargetKind
from mercer.kernels import InMetric, Kernel
from mercer.opening.fit_input import FitInput
from mercer.opening.inputs import (
    FittedModel,
    InputOptions,
    Known,
    as_numeric,
    features_of,
    names_of,
    read_rows,
    validated_rows,
)
from mercer.rows import ArraySource, names_columns, open_rows
from mercer.rows.frames import with_columns
from mercer.rows.table import Table
from mercer.validation import has_nan

#: What the fit has not seen, by column: one for each block.
Notes = list[dict[str, Surprise]]


def options_of_model(model: FittedModel) -> InputOptions:
    """Return what rows a fitted model takes."""
    fitted = model.fit_.basis.kernel_
    kernel = fitted.kernel if isinstance(fitted, InMetric) else fitted
    kernel = model.kernel if isinstance(model.kernel, Kernel) else kernel
    sparse = kernel.accepts_sparse or (isinstance(model.kernel, str) and model.kernel == "auto")
    tables = model.columns is not None and not fitted.pairwise
    return InputOptions(model, fitted.pairwise, sparse, tables, model.missing, model.unlabelled)


def rows_to_predict(model: FittedModel, X: object) -> RowSource:
    """Return the rows to predict as a source; the columns of the fit are taken by name."""
    known, options = Known.of(model), options_of_model(model)
    if isinstance(X, (str, Path)):
        X = open_rows(
            X,
            columns=known.needed if names_columns(X) else None,
            n_features=known.features.number,
            raw=options.tables,
        )
    # Asking an array for the methods of a source takes a tenth of predicting one row.
    if not isinstance(X, np.ndarray) and isinstance(X, RowSource):
        if known.needed is None or X.feature_names != known.needed:
            features_of(X, options, known)
        return X if options.tables else as_numeric(X)
    rows, features = validated_rows(X, options, known)
    return ArraySource(rows, feature_names=names_of(rows, features))


def with_columns_of_fit(model: FittedModel, X: Any) -> Any:
    """Return a data frame, or a Dask collection of them, with the columns of the fit, by name."""
    known = Known.of(model)
    names = known.names_in(X)
    return X if names is None else with_columns(X, known.wanted(names))


def rows_with_targets(model: FittedModel, given: FitInput, kind: TargetKind) -> RowSource:
    """Return rows with targets that a fitted model has not seen, in the columns of its fit."""
    return read_rows(given, options_of_model(model), kind, Known.of(model)).source


def encoded_to_predict(model: FittedModel, source: RowSource) -> tuple[RowSource, Notes]:
    """Return rows to predict as numbers, and a list that collects what the fit has not seen."""
    known = Known.of(model)
    encoding = encoding_to_predict(known, source)
    notes: Notes = []
    if encoding is None:  # rows of numbers, also if they are given as a table
        if isinstance(source, ArraySource) and isinstance(source.rows, Table):
            source = source.with_rows(source.rows.numbers(), source.rows.names)
        source, names = as_numeric(source), known.features.names
        if names is None or is_in_order(source, names):
            return source, notes
        return encoded_source(source, TableEncoding.as_given(names)), notes
    if isinstance(source, ArraySource) and not isinstance(source.rows, Table):
        X = source.rows
        sparse, ordered = hasattr(X, "tocsr"), is_in_order(source, encoding.names)
        if ordered and encoding.is_identity and not has_nan(X.data if sparse else X):
            return source, notes
        if not sparse:  # arrays have no names, or some of their own
            given = source.feature_names or list(encoding.names)
            source = source.with_rows(as_table(X, given), given)
    refuse = known.encoder is not None and known.encoder.missing == "error"
    return encoded_source(source, encoding, notes=notes, refuse=refuse), notes


def encoding_to_predict(known: Known, source: RowSource) -> TableEncoding | None:
    """Return the encoding of the fit; columns that had no names then are taken by their place."""
    encoding, names = known.encoding, names_of_columns(source)
    if encoding is None or names is None or known.features.names is not None:
        return encoding
    return encoding.renamed(names)


def names_of_columns(source: RowSource) -> list[str] | None:
    """Return the names of the columns of rows to predict, if they have any."""
    rows = source.rows if isinstance(source, ArraySource) else None
    names: list[str] | None = rows.names if isinstance(rows, Table) else source.feature_names
    return names


def warn_of_notes(notes: Notes, rows: int) -> None:
    """Warn once of all values that the fit has not seen."""
    if not notes:
        return
    total: dict[str, Surprise] = {}
    for note in notes:
        for name, found in note.items():
            total[name] = total[name] + found if name in total else found
    warn_of(total, rows)
