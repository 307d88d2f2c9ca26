"""Lines of a delimited text file: its column names, and where in it something is wrong.

pyarrow counts rows, without blank lines and with quoted line breaks inside; a person looks for a
line. After an error the file is therefore read again, by the standard library.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mercer.rows.arrow import reading
from mercer.rows.dialect import ENCODINGS, STATED, Dialect, open_bytes, unclosed
from mercer.rows.text_lines import FIRST_LINE, LongLineError, bounded_lines, longest_line
from mercer.storage import pyarrow
from mercer.validation import NoRowsError

CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to [^:]*: invalid value '(.*)'",
    re.DOTALL,
)
RAGGED = re.compile(r"(?:Row #\d+: )?Expected (\d+) columns, got (\d+)(.*)", re.DOTALL)
NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Header:
    """The column names, without surrounding spaces, and their place in the file."""

    names: list[str]
    line: int  # the line of the file
    skip: int  # rows of the parser up to and including the names; blank lines count


def read_header(path: Path, dialect: Dialect) -> Header:
    """Return the column names; raise ValueError if there are no rows after them."""
    with reading(path, "CSV"), closing(records(path, dialect)) as lines:
        try:
            skip, (line, names) = next(
                (skip, (line, values))
                for skip, (line, values) in enumerate(lines, 1)
                if values and not (line == 1 and STATED.fullmatch(dialect.delimiter.join(values)))
            )
        except LongLineError as error:
            raise ValueError(error.explained(path)) from error
        except csv.Error as error:
            raise ValueError(unclosed(path, 1)) from error
        try:
            more = any(values for _, values in lines)
        except csv.Error:  # a value that is too long for this reader, but not for pyarrow
            more = True
    if not more:
        raise NoRowsError(
            f"{path} must contain at least one row, got only line {line}, with column names: "
            f"write it again"
        )
    return Header([name.strip() for name in names], line, skip)


def check_header(header: Header, path: Path, *, unnamed: bool) -> None:
    """Raise ValueError if column names are numbers, repeated, or, unless ``unnamed``, empty."""
    names, where = header.names, f"line {header.line} of {path}"
    if all(map(NUMBER.fullmatch, names)) and not all(map(str.isdigit, names)):
        raise ValueError(
            f"{path} must start with a line of column names, got the numbers "
            f"{', '.join(names[:5])} in line {header.line}: add a line of names"
        )
    counts = Counter(names)
    if counts[""] > (1 if unnamed else 0):
        raise ValueError(
            f"{where} must have a name for every column, but column {names.index('') + 1} of "
            f"{len(names)} has none: name it; if it is the index of a pandas data frame, write the "
            f"file with index=False, or list the other columns with columns="
        )
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"{where} must have a distinct name for every column, but {twice!r} names more than "
            f"one: rename them, or add a first line of names if it has none"
        )


def records(
    path: Path, dialect: Dialect, limit: int = FIRST_LINE
) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the first line and the values of every row; blank lines are rows without values.

    LongLineError is raised at a line that is longer than ``limit``.
    """
    with _text(path, dialect, "replace") as text:
        lines = bounded_lines(text, limit)
        reader = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
        line = 1
        for values in reader:
            yield line, values
            line = reader.line_num + 1


@contextmanager
def parsing(path: Path, dialect: Dialect, header: Header) -> Iterator[None]:
    """Add the file, the line and what to do to errors of pyarrow."""
    try:
        with reading(path, "CSV"):
            yield
    except UnicodeDecodeError as error:  # from the conversion of other encodings to UTF-8
        raise ValueError(f"{path} cannot be read as CSV: {_undecodable(path, dialect)}") from error
    except ValueError as error:
        if not isinstance(error.__cause__, pyarrow().ArrowInvalid):
            raise
        explained = _explained(str(error.__cause__).strip(), path, dialect, header)
        if explained is None:
            raise
        raise ValueError(f"{path} cannot be read as CSV: {explained}") from error.__cause__


def column_of(message: str, names: list[str]) -> str | None:
    """Return the name of the column in an error message of pyarrow."""
    column = re.search(r"In CSV column #(\d+)", message)
    return names[int(column[1])] if column is not None and int(column[1]) < len(names) else None


def _explained(message: str, path: Path, dialect: Dialect, header: Header) -> str | None:
    """Return an error message of pyarrow with the line of the file, None if it is not known."""
    if "UTF8" in message:
        return _undecodable(path, dialect)
    names = header.names
    ragged = RAGGED.search(message)
    if ragged is not None:
        where = _line(path, dialect, header, lambda values: len(values) != len(names))
        one = ", to ';' for one column of text or of decimal commas" * (len(names) == 1)
        return (
            f"Expected {ragged[1]} columns, got {ragged[2]} at {where}{ragged[3]}; every line must "
            f"have as many values as the first, with {dialect.separators} between them: fix that "
            f"line, or set the delimiter{one}"
        )
    conversion = CONVERSION.search(message)
    if conversion is not None:
        index, value = int(conversion[1]), conversion[2].strip()
        where = _line(
            path, dialect, header, lambda row: index < len(row) and row[index].strip() == value
        )
        name = column_of(message, names)
        return (
            f"invalid value {conversion[2]!r} in column {name!r} at {where}, but column {name!r} "
            f"has another type at the beginning of the file: fix that value, encode the column as "
            f"numbers, or exclude it with columns="
        )
    if "straddles" in message:
        return _straddling(path, dialect, len(names))
    return None


def _undecodable(path: Path, dialect: Dialect) -> str:
    """Return the message for text in another encoding than that of the beginning of the file."""
    utf16 = dialect.encoding == "utf-16"
    mark = re.compile("\ufffd" if utf16 else "[\udc80-\udcff]")
    with _text(path, dialect, "replace" if utf16 else "surrogateescape") as text:
        lines = enumerate(bounded_lines(text, FIRST_LINE), 1)
        try:
            line = next((number for number, line in lines if mark.search(line)), None)
        except LongLineError as error:
            line = error.line
    name = ENCODINGS[dialect.encoding]
    return (
        f"the text must be {name}, as at the beginning of the file, but is not"
        f"{f' at line {line} of {path.name}' if line else ''}: save the file as UTF-8"
    )


def _line(path: Path, dialect: Dialect, header: Header, wrong: Callable[[list[str]], bool]) -> str:
    """Return the first line after the header whose values are wrong, in words."""
    line = 0
    try:
        limit = max(FIRST_LINE, longest_line(len(header.names)))
        for line, values in records(path, dialect, limit):
            if values and line > header.line and wrong(values):
                return f"line {line} of {path.name}"
    except csv.Error:  # a value that is too long for this reader, but not for pyarrow
        return f"a line after line {line} of {path.name}"
    return f"a line of {path.name}"


def _straddling(path: Path, dialect: Dialect, columns: int) -> str:
    """Return the message for a row that is too long for the parser: its line, or its quote."""
    longest, length, line = 1, 0, 0
    try:
        for line, values in records(path, dialect, longest_line(columns)):
            size = sum(map(len, values))
            if size > length:
                longest, length = line, size
    except LongLineError as error:
        return error.explained(path, columns)
    except csv.Error:
        longest = line + 1
    return unclosed(path, longest)


def _text(path: Path, dialect: Dialect, errors: str) -> io.TextIOWrapper:
    """Open a file as text with its own line ends."""
    return io.TextIOWrapper(open_bytes(path), dialect.encoding, errors=errors, newline="")
