"""A table as numbers, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    check_is_fitted,
)

from mercer.columns.learning import KINDS, Options, learned_encoders
from mercer.columns.row_folds import RowIdentity
from mercer.columns.table_encoding import Surprise, TableEncoding
from mercer.columns.table_sums import TableSums, as_table, check_values, with_text
from mercer.contracts import Array
from mercer.rows.column_selection import check_present
from mercer.rows.frames import frame_names, table_of, with_columns
from mercer.rows.table import Coded, Table
from mercer.validation import (
    check_choice,
    check_count,
    check_finite,
    check_number,
    closest,
    listed,
    warn,
)


def wanted_columns(
    names: Sequence[str], known: Sequence[str], needed: Sequence[str], roles: Collection[str] = ()
) -> list[str]:
    """Return the columns of the fit that rows have, in the order of the fit; warn of others.

    Parameters
    ----------
    names : sequence of str
        The columns of the rows.
    known, needed : sequence of str
        The columns of the fit, and those that the rows must have.
    roles : collection of str
        The target, weight and query of the fit, which rows may have, too.

    Examples
    --------
    >>> wanted_columns(["size", "y", "town"], ["town", "id", "size"], ["town", "size"], ["y"])
    ['town', 'size']
    """
    check_present(needed, names, "X", "column", " of the fit")
    others = [name for name in names if name not in known and name not in roles]
    if others:
        warn(f"columns that the fit did not have are ignored: {listed(others)}")
    given = set(names)
    return [name for name in known if name in given]


def text_names(X: object) -> list[str] | None:
    """Return the names of the columns of a data frame, None without any, or where all are numbers.

    >>> text_names([[1.0, 2.0]])
    """
    names = frame_names(X) or []
    return [str(name) for name in names] if any(isinstance(name, str) for name in names) else None


#: Kinds of columns that are read as text, whatever they contain.
OF_TEXT = ("category", "one_hot", "target", "hash", "ordered")


class TableEncoder(TransformerMixin, BaseEstimator):
    """``x -> (e_1(x_1), ..., e_d(x_d))``: numbers, categories, gaps and dates become numbers.

    What is learned of a column is a sum over rows, so the same encoding is learned from files, in
    blocks and over shards: inside an estimator, by ``columns="auto"`` or a ``TableEncoder`` there.

    - Numbers stay numbers, also if they are written as text (``$1,200``, ``3,5``, ``12 %``).
    - Text of few levels gets an indicator per level, like scikit-learn's ``OneHotEncoder``; rare
      levels share one. Text of many levels becomes the mean of y in each level, like
      ``TargetEncoder``: rows that it is learned from get the mean of the other folds.
    - Dates become days, and points on the circles of the year, the week and the day.
    - Gaps are filled by the mean or the most frequent level, as by ``SimpleImputer``, with an
      indicator where at least 1 percent of the values are missing.
    - Columns without information and identifiers are left out.

    Parameters
    ----------
    types : dict or None
        What some columns are, by name: "number", "category", "one_hot", "target", "hash",
        "ordered", "date", "drop", or a list of levels in their order. Others are looked at.
    max_levels : int or "auto"
        A category of more levels becomes the mean of y in each. "auto" is 500, if a level has five
        rows on average, and 20 otherwise.
    min_frequency : float or "auto"
        Levels with fewer rows share an indicator; below 1 it is a share of the rows. "auto" is the
        least of 10, 1 percent of the rows, and a third of the rows of a level on average, and never
        for a single level.
    smooth : float or "auto"
        The mean of y in a level is shrunk towards the mean of all levels as if that many rows of it
        were added; "auto" is the variance of y within levels over that between them.
    missing : {"fill", "error"}
        What to do with missing values.

    Attributes
    ----------
    encoding_ : TableEncoding
        The map of every column.
    n_features_in_, feature_names_in_
        The columns of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, "red"], [2.0, "blue"], [None, "red"]], dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0 missing', 'x1=blue', 'x1=red']
    >>> encoder.transform(X)
    array([[1. , 0. , 0. , 1. ],
           [2. , 0. , 1. , 0. ],
           [1.5, 1. , 0. , 1. ]])
    """

    encoding_: TableEncoding

    def __init__(
        self,
        types: Mapping[str, Any] | None = None,
        *,
        max_levels: int | str = "auto",
        min_frequency: float | str = "auto",
        smooth: float | str = "auto",
        missing: str = "fill",
    ) -> None:
        self.types = types
        self.max_levels = max_levels
        self.min_frequency = min_frequency
        self.smooth = smooth
        self.missing = missing

    # -- scikit-learn's contract ---------------------------------------------------------------

    def fit(self, X: object, y: object = None) -> Self:
        """Learn what the columns mean; categories of many levels need y."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: object, y: object = None) -> Array:
        """Learn the encoding, and encode the rows that it is learned from, folds left out."""
        table, Y = self._fit(X, y)
        rows = RowIdentity.of(self.encoding_.table(table), Y, np.arange(len(Y)))
        return self.encoding_(table, rows.folds(self.encoding_.deal))

    def transform(self, X: object) -> Array:
        """Return new rows as numbers, of shape (n, new columns)."""
        check_is_fitted(self, "encoding_")
        table = self._table(X, reset=False)
        check_values(table, 0, self.missing == "fill")
        warn_of(self.encoding_.surprises(table), table.n_rows)
        return self.encoding_(table)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Array:
        """Return the names of the new columns."""
        check_is_fitted(self, "encoding_")
        if input_features is not None and list(map(str, input_features)) != list(
            self.encoding_.names
        ):
            raise ValueError("input_features must be the columns of the fit, feature_names_in_")
        return np.array(self.encoding_.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # -- learning ------------------------------------------------------------------------------

    def options(self, arrays: bool = False) -> Options:
        """Validate the parameters, and return them for a fit."""
        check_choice(self.missing, "missing", ["fill", "error"])
        for name in ("max_levels", "smooth", "min_frequency"):
            value = getattr(self, name)
            if isinstance(value, str):
                check_choice(value, name, ["auto"])
            elif name == "max_levels":
                check_count(value, name, minimum=0)
            else:
                check_number(value, name, minimum=0.0, hint=", or use 'auto'")
        types = {} if self.types is None else self.types
        if not isinstance(types, Mapping):
            raise TypeError(
                f"types must be a dict of columns and their kinds ({', '.join(KINDS)}), got "
                f"{type(types).__name__}"
            )
        types = {str(name): kind for name, kind in types.items()}
        return Options(types, self.max_levels, self.min_frequency, self.smooth, arrays)

    def text_columns(self, names: list[str]) -> frozenset[str]:
        """Return the columns that are read as text because of their kind."""
        types = self.options().types
        for name in types:
            if name not in names:
                raise ValueError(
                    f"columns must name columns of the table, got {name!r}{closest(name, names)}"
                )
        return frozenset(
            name for name, kind in types.items() if not isinstance(kind, str) or kind in OF_TEXT
        )

    def learned(self, sums: TableSums, text: frozenset[str], arrays: bool = False) -> TableEncoding:
        """Return the encoding of a table with these sums."""
        encoders = learned_encoders(sums, self.options(arrays))
        names = tuple(encoders)
        found = TableEncoding(
            names,
            tuple(encoders.values()),
            tuple(name for name in names if name in text),
            tuple(sums.columns[name].gaps for name in names),
        )
        if not found.feature_names:
            reasons = "; ".join(f"{name!r}: {why}" for name, why in found.dropped.items())
            raise ValueError(f"no column is left to learn from: {reasons}")
        return found

    def _fit(self, X: object, y: object) -> tuple[Table, Array]:
        table = self._table(X, reset=True)
        Y = np.zeros((table.n_rows, 0)) if y is None else target_columns(y)
        if len(Y) != table.n_rows:
            raise ValueError(f"y must have a value per row, {table.n_rows}, got {len(Y)}")
        text = self.text_columns(table.names)
        origin = Y.mean(axis=0)  # squares of a large offset would cost precision
        Y = Y - origin
        sums = TableSums.of(with_text(table, text), None, Y, gaps=self.missing == "fill")
        self.encoding_ = self.learned(sums, text, table_of(X) is None).shifted(origin)
        return table, Y

    def _table(self, X: object, reset: bool) -> Table:
        known = None if reset else getattr(self, "feature_names_in_", None)
        names = None if known is None else text_names(X)
        if known is not None and names is not None:
            X = with_columns(X, wanted_columns(names, known.tolist(), self.encoding_.needed))
        table = table_of(X)
        if table is None:
            X = check_array(X, dtype=None, ensure_all_finite="allow-nan", input_name="X")
            table = table_of(X) or as_table(X, None)
        if names is None:
            _check_n_features(self, X, reset=reset)
            _check_feature_names(self, X, reset=reset)
        for count, what in zip(table.shape, ("sample", "feature"), strict=True):
            if not count:
                raise ValueError(
                    f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is "
                    f"required by {type(self).__name__}."
                )
        return table if reset else self.encoding_.named(table)


def target_columns(y: object) -> Array:
    """Return y as columns of numbers: itself, or an indicator per class (one for two classes).

    As for scikit-learn's ``TargetEncoder``, integers are classes, in their order.

    >>> target_columns(["no", "yes", "no"]).ravel()
    array([0., 1., 0.])
    """
    values = np.asarray(y)
    numbers = values.dtype.kind in "fiub"
    if numbers:
        check_finite(values, what="y")
    if numbers and (values.ndim == 2 or type_of_target(values).startswith("continuous")):
        return values.astype(np.float64).reshape(len(values), -1)
    if values.ndim != 1:
        raise ValueError(f"y must be numbers, or one class per row, got shape {values.shape}")
    labels = values if numbers else Coded.of(values).values()
    if not numbers and any(label is None for label in labels):
        raise ValueError("y contains None or NaN: leave out rows without a label")
    labels = labels if numbers else labels.astype(str)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) > 2 and values.dtype.kind == "f":
        return values.astype(np.float64)[:, None]
    if len(classes) <= 2:
        return np.asarray(codes == len(classes) - 1, dtype=np.float64)[:, None]
    return np.asarray(codes[:, None] == np.arange(len(classes)), dtype=np.float64)


def refuse_gaps(surprises: Mapping[str, Surprise]) -> None:
    """Raise ValueError if values are missing; ``surprises`` are those of an encoding."""
    for name, found in surprises.items():
        if found.missing:
            raise ValueError(
                f"X contains NaN or gaps, which missing='error' refuses: {found.missing:,} values "
                f"of column {name!r} are missing; use missing='fill', or fill them"
            )


def warn_of(surprises: Mapping[str, Surprise], rows: int) -> None:
    """Warn once of unknown and missing values, given by column."""
    if surprises:
        parts = [f"{name!r} has {found}" for name, found in surprises.items()]
        warn(f"of {rows:,} rows, {'; '.join(parts)}: the fit has seen none like them")
