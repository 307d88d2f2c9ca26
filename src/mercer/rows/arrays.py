"""Rows of arrays: dense, memory-mapped or sparse."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array, RowBlock, Rows, RowSource
from mercer.rows.checks import (
    check_indices,
    check_labels,
    check_matrix,
    check_query,
    check_query_shape,
    check_weight_shape,
)
from mercer.rows.chunks import even_cuts
from mercer.rows.given_arrays import (
    check_mapped,
    is_sparse,
    mapping,
    refuse_masked,
    sound_rows,
    unmasked,
)
from mercer.rows.table import Table
from mercer.validation import check_count


class ArraySource:
    """Rows of an array; blocks are views of it, so nothing is copied.

    Parameters
    ----------
    X : array of shape (n, d), scipy sparse rows, or a Table
        Any real numeric dtype, which is kept. A ``np.memmap`` is read block by block; sparse
        matrices of another format are converted to CSR once. Blocks of a table are tables. Masked
        values are missing: NaN.
    y : array of shape (n,) or (n, k), or None
        Targets of any dtype, including text labels; masked ones are NaN or None.
    weight : array of shape (n,), or None
        Weights of the rows.
    feature_names : list of str, or None
        Names of the columns, for messages.
    query : array of shape (n,), or None
        The query of each row, integers or text, for rankings within queries.

    Examples
    --------
    >>> source = ArraySource(np.arange(6.0).reshape(3, 2), y=np.array(["a", "b", "a"]))
    >>> [(block.start, block.X.tolist(), block.y.tolist()) for block in source.blocks(2)]
    [(0, [[0.0, 1.0], [2.0, 3.0]], ['a', 'b']), (2, [[4.0, 5.0]], ['a'])]
    >>> source.take([2, 0])
    array([[4., 5.],
           [0., 1.]])
    """

    n_rows: int
    n_features: int
    feature_names: list[str] | None
    has_target: bool
    has_query: bool

    def __init__(
        self,
        X: Any,
        y: Any = None,
        weight: Any = None,
        feature_names: Sequence[str] | None = None,
        *,
        query: Any = None,
    ) -> None:
        self._X = _as_rows(X)
        self.n_rows, self.n_features = (int(size) for size in self._X.shape)
        self._y = None if y is None else np.asarray(unmasked(y, labels=True))
        if self._y is not None:
            check_labels(self._y.shape, self.n_rows, "y")
        self.has_target = self._y is not None
        refuse_masked(weight, "weight")
        self._weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        if self._weight is not None:
            check_weight_shape(self._weight.shape, self.n_rows, "weight")
        self._query = None if query is None else _as_queries(query, self.n_rows)
        self.has_query = self._query is not None
        self.feature_names = None if feature_names is None else [str(n) for n in feature_names]
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(
                f"feature_names must name every column of X: X has {self.n_features} columns, "
                f"got {len(self.feature_names)} names"
            )

    def blocks(self, rows: int) -> Iterator[RowBlock]:
        """Yield all rows in order, ``rows`` at a time, as views."""
        rows = check_count(rows, "rows")
        for start in range(0, self.n_rows, rows):
            stop = min(start + rows, self.n_rows)
            self._check_mapped()
            yield RowBlock(
                start,
                _between(self._X, start, stop),
                None if self._y is None else self._y[start:stop],
                None if self._weight is None else self._weight[start:stop],
                None if self._query is None else self._query[start:stop],
            )

    def take(self, indices: Array) -> Rows:
        """Return the rows at ``indices``, in the order of ``indices``."""
        wanted = check_indices(indices, self.n_rows)
        self._check_mapped()
        return self._X[wanted]

    def targets(self, rows: int) -> Iterator[Array]:
        """Yield only y, ``rows`` at a time."""
        rows = check_count(rows, "rows")
        if self._y is None:
            raise ValueError("the rows must have targets, but this source has none: pass y")
        for start in range(0, self.n_rows, rows):
            self._check_mapped()
            yield self._y[start : start + rows]

    def queries(self, rows: int) -> Iterator[tuple[Array, Array | None]]:
        """Yield the queries and the weights (None without weights), ``rows`` at a time."""
        rows = check_count(rows, "rows")
        if self._query is None:
            raise ValueError("the rows must have queries, but this source has none: pass query=")
        for start in range(0, self.n_rows, rows):
            part = slice(start, start + rows)
            self._check_mapped()
            yield self._query[part], None if self._weight is None else self._weight[part]

    def split(self, parts: int) -> list[RowSource]:
        """Split into ``parts`` sources of consecutive rows, some of which may be empty."""
        cuts = even_cuts(self.n_rows, check_count(parts, "parts"))
        return [self._part(start, stop) for start, stop in pairwise(cuts)]

    @property
    def rows(self) -> Rows:
        """All rows: an array, sparse rows or a table."""
        return self._X

    def with_rows(self, X: Rows, names: Sequence[str] | None) -> ArraySource:
        """Return a source with the same targets, weights and queries, and other columns."""
        found = copy.copy(self)
        found._X, found.n_features = X, int(X.shape[1])
        found.feature_names = None if names is None else list(names)
        return found

    def reweighted(self, factor: float | Array) -> ArraySource:
        """Return a source with every weight multiplied by ``factor``, one or one per row."""
        found = copy.copy(self)
        weight = np.ones(self.n_rows) if self._weight is None else self._weight
        found._weight = weight * factor
        return found

    @property
    def resident_bytes(self) -> int:
        """Bytes of the arrays in memory; memory-mapped arrays do not count."""
        X = self._X
        held = [X.data, X.indices, X.indptr] if is_sparse(X) else [X]
        held += [a for a in (self._y, self._weight, self._query) if a is not None]
        return sum(int(array.nbytes) for array in held if mapping(array) is None)

    def at(self, indices: ArrayLike) -> ArraySource:
        """Return a copy of the rows at ``indices`` as a source; it may be empty."""
        indices = np.asarray(indices, dtype=np.intp)
        part = copy.copy(self)
        part.n_rows = len(indices)
        part._X = self._X[indices]
        part._y = None if self._y is None else self._y[indices]
        part._weight = None if self._weight is None else self._weight[indices]
        part._query = None if self._query is None else self._query[indices]
        return part

    def with_queries(self, query: ArrayLike) -> ArraySource:
        """Return the same rows with a query for each, integers or text."""
        found = copy.copy(self)
        found._query, found.has_query = _as_queries(query, self.n_rows), True
        return found

    def _check_mapped(self) -> None:
        """Raise ValueError if the file of a memory map shrank: reading it would end the process."""
        for array in (self._X, self._y, self._weight, self._query):
            check_mapped(array)

    def _part(self, start: int, stop: int) -> ArraySource:
        """Return rows ``start`` to ``stop`` without checking them again; may be empty."""
        part = copy.copy(self)
        part.n_rows = stop - start
        part._X = _between(self._X, start, stop)
        part._y = None if self._y is None else self._y[start:stop]
        part._weight = None if self._weight is None else self._weight[start:stop]
        part._query = None if self._query is None else self._query[start:stop]
        return part


def _as_rows(X: object) -> Rows:
    """Return X as a table, or as a numeric matrix, dense or CSR, without a copy if possible."""
    if isinstance(X, Table):
        return X
    given = sound_rows(X)
    rows = given.tocsr() if is_sparse(given) else np.asarray(given)
    if is_sparse(rows) and rows is not given:  # lists of indices are not checked before
        sound_rows(rows)
    if rows.dtype.kind == "O" and rows.ndim == 2:
        try:
            rows = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"X must contain numbers, got other objects: {error}; encode them as numbers"
            ) from error
    check_matrix(rows.shape, rows.dtype, f"X (a {type(X).__name__})")
    return rows


def _as_queries(query: ArrayLike, n_rows: int) -> Array:
    """Return the queries as an array, with a value in every row."""
    refuse_masked(query, "qid")
    values = np.asarray(query)
    check_query_shape(values.shape, n_rows, "qid")
    check_query(values, "qid")
    return values


def _between(X: Rows, start: int, stop: int) -> Rows:
    """Return rows ``start`` to ``stop`` as a view."""
    if not is_sparse(X):
        return X[start:stop]
    # SciPy copies slices, and its constructor copies short views, so parts of a source would double
    # the memory. Setting slices of the three arrays on an empty matrix shares them.
    first, last = X.indptr[start], X.indptr[stop]
    rows = type(X)((stop - start, X.shape[1]), dtype=X.dtype)
    rows.data, rows.indices = X.data[first:last], X.indices[first:last]
    rows.indptr = X.indptr[start : stop + 1] - first
    return rows
