"""Columns of a table as they were given: numbers, text and dates, with gaps.

A column is an array of float64 (NaN for a gap), of datetime64 (NaT), or :class:`Coded` text. A
:class:`Table` has the rows of a block, and is sliced and joined like an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from mercer.contracts import Array
from mercer.rows.column_selection import check_present

#: The unit of dates.
TIME = np.dtype("datetime64[us]")


@dataclass(frozen=True)
class Coded:
    """A column of text: ``levels[codes]``, where code -1 is a gap.

    ``ordered`` says that the levels are in an order that has a meaning; ``declared``, that they
    were given as categories, so that they are not read as numbers or dates.

    >>> Coded(np.array([0, 1, -1]), np.array(["a", "b"], dtype=object)).values().tolist()
    ['a', 'b', None]
    """

    codes: Array  # (n,)
    levels: Array  # distinct str
    ordered: bool = False
    declared: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Array | slice) -> Coded:
        return replace(self, codes=self.codes[rows])

    @property
    def nbytes(self) -> int:
        """Bytes of the codes, and of short levels."""
        return int(self.codes.nbytes) + 64 * len(self.levels)

    def values(self) -> Array:
        """Return the text itself, None for gaps."""
        known = np.empty(len(self.levels) + 1, dtype=object)
        known[:-1] = self.levels
        return np.asarray(known[self.codes])

    def used(self) -> Coded:
        """Return the same column without levels that do not occur."""
        occurring, codes = np.unique(self.codes, return_inverse=True)
        gaps = int(len(occurring) > 0 and occurring[0] < 0)
        return replace(self, codes=codes.ravel() - gaps, levels=self.levels[occurring[gaps:]])

    @classmethod
    def of(cls, values: Array) -> Coded:
        """Encode text; None, NaN and NA are gaps, and other objects become text."""
        places: dict[str, int] = {}
        codes = np.empty(len(values), dtype=np.intp)
        for row, value in enumerate(values):
            if is_gap(value):
                codes[row] = -1
            else:
                text = value if isinstance(value, str) and value.isascii() else text_of(value)
                codes[row] = places.setdefault(text, len(places))
        return cls(codes, np.array(list(places), dtype=object))

    @classmethod
    def joined(cls, parts: Sequence[Coded]) -> Coded:
        """Return the rows of all parts as one column."""
        first = parts[0]
        if all(part.levels is first.levels for part in parts):
            return replace(first, codes=np.concatenate([part.codes for part in parts]))
        places: dict[str, int] = {}
        codes = []
        for part in parts:
            renamed = [places.setdefault(level, len(places)) for level in part.levels.tolist()]
            codes.append(np.append(np.array(renamed, dtype=np.intp), -1)[part.codes])
        levels = np.empty(len(places), dtype=object)
        levels[:] = list(places)
        same = all(np.array_equal(part.levels, first.levels) for part in parts)
        return cls(
            np.concatenate(codes),
            levels,
            same and all(part.ordered for part in parts),
            any(part.declared for part in parts),
        )


Column: TypeAlias = "Array | Coded"
#: Text that stands for a missing value.
GAP_WORDS = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "NaN", "nan", "None", "NaT", "?", "-"]
)


def is_gap(value: object) -> bool:
    """Return whether an object stands for a missing value: None, NaN, NaT or pandas' NA."""
    if value is None or isinstance(value, str):
        return value is None
    differs = value != value  # NA is neither equal nor unequal to itself
    if isinstance(differs, (bool, np.bool_)):
        return bool(differs)
    return type(value).__name__ == "NAType"


def text_of(value: object) -> str:
    r"""Return a value as text that reads as the same value: whole numbers without a point.

    Lone surrogates, which no file can hold, are written out.

    >>> text_of(94103.0), text_of(0.1 + 0.2), text_of(True), text_of("a\ud800")
    ('94103', '0.30000000000000004', 'True', 'a\\ud800')
    """
    if isinstance(value, (float, np.floating)):
        number = float(value)
        whole = number.is_integer() and abs(number) < 1e15
        return str(int(number)) if whole else repr(number)
    return str(value).encode(errors="backslashreplace").decode()


def without_gap_words(column: Coded, words: frozenset[str] = GAP_WORDS) -> Coded:
    """Return a column of text in which words for a missing value are gaps.

    >>> without_gap_words(Coded.of(["a", " ", "NA"])).values().tolist()
    ['a', None, None]
    """
    gaps = np.array([level is None or level.strip() in words for level in column.levels])
    if not gaps.any():
        return column
    renamed = np.append(np.where(gaps, -1, np.cumsum(~gaps) - 1), -1)
    return replace(column, codes=renamed[column.codes], levels=column.levels[~gaps])


@dataclass(eq=False, repr=False)
class Table:
    """Rows of named columns of any kind, which slice and join like the rows of an array.

    Parameters
    ----------
    columns : dict of str to Column
        All of the same length.
    n_rows : int
        The number of rows; -1 if it is that of the columns.

    Examples
    --------
    >>> table = Table({"size": np.array([1.0, np.nan]), "kind": Coded.of(["a", "b"])})
    >>> table.shape, table[1:].columns["kind"].values().tolist(), table.kinds
    ((2, 2), ['b'], {'size': 'number', 'kind': 'text'})
    """

    columns: dict[str, Column]
    n_rows: int = -1
    dtype: ClassVar[np.dtype[Any]] = np.dtype(object)
    ndim: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.n_rows < 0:
            self.n_rows = len(next(iter(self.columns.values())))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.n_rows, len(self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(int(column.nbytes) for column in self.columns.values())

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        """What each column contains: ``"number"``, ``"text"`` or ``"date"``."""
        return {name: kind_of_column(column) for name, column in self.columns.items()}

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Array | slice) -> Table:
        if isinstance(rows, slice):
            size = len(range(*rows.indices(self.n_rows)))
        else:
            rows = np.asarray(rows)
            size = int(rows.sum()) if rows.dtype == bool else len(rows)
        return Table({name: column[rows] for name, column in self.columns.items()}, size)

    def numbers(self) -> Array:
        """Return the columns as rows of float64; raise ValueError if one holds no numbers."""
        out = np.empty(self.shape)
        for index, (name, column) in enumerate(self.columns.items()):
            if isinstance(column, Coded) or kind_of_column(column) != "number":
                raise ValueError(
                    f"feature columns must be numeric, but column {name!r} contains "
                    f"{kind_of_column(column)}: use columns='auto', or exclude it"
                )
            out[:, index] = column
        return out

    def selected(self, names: Sequence[str]) -> Table:
        """Return some columns, in this order; raise ValueError if one does not exist."""
        check_present(names, self.names, "the table", "column", " of the fit")
        return Table({name: self.columns[name] for name in names}, self.n_rows)

    @classmethod
    def joined(cls, parts: Sequence[Table]) -> Table:
        """Return the rows of all parts; they have the same columns."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            {name: _joined([part.columns[name] for part in parts]) for name in parts[0].names},
            sum(part.n_rows for part in parts),
        )


def kind_of_column(column: Column) -> str:
    """Return ``"number"``, ``"text"`` or ``"date"``."""
    if isinstance(column, Coded):
        return "text"
    return "date" if column.dtype.kind == "M" else "number"


def gaps_of(column: Column) -> Array:
    """Return which values of a column are missing."""
    if isinstance(column, Coded):
        return np.asarray(column.codes < 0)
    return np.isnat(column) if column.dtype.kind == "M" else np.isnan(column)


def _joined(parts: list[Any]) -> Column:
    """Join the parts of a column; where one is text, all become text."""
    if not any(isinstance(part, Coded) for part in parts):
        kinds = {part.dtype.kind for part in parts}
        if len(kinds) == 1:
            return np.concatenate(parts)
    return Coded.joined([part if isinstance(part, Coded) else as_text(part) for part in parts])


def as_text(column: Column) -> Coded:
    """Return numbers or dates as text: whole numbers without a point.

    >>> as_text(np.array([1.0, 2.5, np.nan])).values().tolist()
    ['1', '2.5', None]
    """
    if isinstance(column, Coded):
        return column
    gaps = gaps_of(column)
    values, codes = np.unique(column[~gaps], return_inverse=True)
    found = np.full(len(column), -1, dtype=np.intp)
    found[~gaps] = codes.ravel()
    levels = np.empty(len(values), dtype=object)
    levels[:] = list(map(text_of, values))
    return Coded(found, levels)
