"""Where in a file a value is infinite, also if only some of its rows were used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice

import numpy as np

from mercer.contracts import RowSource
from mercer.rows import CsvSource
from mercer.rows.csv_lines import read_header, records
from mercer.rows.kept import KeptSource
from mercer.rows.table import Table

#: Rows that are read at a time.
ROWS = 32_768


@contextmanager
def finding_infinity(*sources: RowSource | None) -> Iterator[None]:
    """Give errors about infinite values the line of the file, or its row."""
    try:
        yield
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        for source in sources:
            place = None if source is None else first_infinity(source)
            if place is not None:
                raise ValueError(
                    f"values must be finite, but {place} is infinite: replace it, or leave the "
                    f"value empty"
                ) from error
        raise


def first_infinity(source: RowSource) -> str | None:
    """Return the place of the first infinite value of a feature or target, in words."""
    if isinstance(source, KeptSource):
        source = source.source
    for block in source.blocks(ROWS):
        columns = dict(block.X.columns) if isinstance(block.X, Table) else {}
        if block.y is not None and block.y.ndim == 1:
            columns["the target"] = block.y
        for name, column in columns.items():
            if isinstance(column, np.ndarray) and column.dtype.kind == "f":
                found = np.flatnonzero(np.isinf(column))
                if len(found):
                    shown = name if name == "the target" else f"column {name!r}"
                    return f"{shown} {_place(source, block.start + int(found[0]))}"
    return None


def _place(source: RowSource, row: int) -> str:
    """Return a row of a source as a line of its file, if it is a text file."""
    if not isinstance(source, CsvSource):
        return f"at row {row} of {getattr(source, 'label', 'the file')}"
    header = read_header(source.path, source.dialect)
    with closing(records(source.path, source.dialect)) as lines:
        after = (line for line, values in lines if values and line > header.line)
        line = next(islice(after, row, None))
    return f"at line {line} of {source.path.name}"
