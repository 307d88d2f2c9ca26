"""How a delimited text file is written: its delimiter, decimal sign, encoding and quotes."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mercer.rows.arrow import reading
from mercer.rows.checks import check_file
from mercer.storage import pyarrow
from mercer.validation import check_choice

#: Bytes at the beginning of a file that the dialect is sniffed from.
SAMPLE_BYTES = 2**20
#: Delimiters in the order in which they are preferred, with their names.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes", " ": "spaces"}
DECIMALS = {".": "decimal points", ",": "decimal commas"}
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a byte order mark",
    "utf-16": "UTF-16",
    "cp1252": "Windows-1252 (Latin)",
    "latin-1": "Latin-1",
}
#: Values that stand for a gap in a column of numbers.
GAPS = frozenset({"", "NA", "N/A", "n/a", "null", "NULL", "NaN", "nan", "None", "?", "-"})
NEARLY_ALL = 0.9  # the share of lines or values that a dialect must fit

# A first line by which Excel states the delimiter.
STATED = re.compile(r"sep=(.)(?![^\r\n])")
WHOLE = re.compile(r"[-+]?\d+([eE][-+]?\d+)?")
# Per decimal sign: a number with a fraction, perhaps with thousands, and thousands without one.
FRACTION = {
    sign: re.compile(rf"[-+]?(\d*|\d{{1,3}}({other}\d{{3}})+){this}\d+([eE][-+]?\d+)?")
    for sign, this, other in ((".", r"\.", ","), (",", ",", r"\."))
}
GROUPED = {
    sign: re.compile(rf"[-+]?[1-9]\d{{0,2}}({this}\d{{3}})+")
    for sign, this in ((".", r"\."), (",", ","))
}


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written.

    >>> Dialect(";", ",", "utf-8-sig").describe()
    'semicolons between values, decimal commas, UTF-8 with a byte order mark'
    """

    delimiter: str
    decimal: str = "."
    encoding: str = "utf-8"
    quote: str = '"'

    def describe(self) -> str:
        """Return the dialect in words."""
        parts = [f"{self.separators} between values", DECIMALS[self.decimal]]
        parts.append(ENCODINGS.get(self.encoding, self.encoding))
        return ", ".join(parts + ["single quotes"] * (self.quote == "'"))

    @property
    def separators(self) -> str:
        """The name of the delimiter, in the plural."""
        return DELIMITERS.get(self.delimiter, f"{self.delimiter!r}")


def sniff(
    path: str | os.PathLike[str], *, delimiter: str | None = None, decimal: str | None = None
) -> Dialect:
    """Return how a file is written, from its first megabyte; ``.gz`` files are decompressed.

    The delimiter is the one that cuts (nearly) all lines into as many values, at least two, as the
    first line; quoted values may contain delimiters and line breaks. A file in which none does
    has one column. A first line such as ``sep=;``, as for Excel, is followed. Decimal commas are
    recognized by columns of values such as 3,14, unless the delimiter is a comma. What is given is
    not sniffed.

    Parameters
    ----------
    path : str or path
        The file.
    delimiter : str or None
        The character between values.
    decimal : {".", ","} or None
        The decimal sign of numbers.
    """
    if delimiter is not None:
        delimiter = check_delimiter(delimiter)
    if decimal is not None:
        check_choice(decimal, "decimal", tuple(DECIMALS))
    file = check_file(path)
    with reading(file, "CSV"), open_bytes(file) as stream:
        data = stream.read(SAMPLE_BYTES)
        whole = not stream.read(1)
    encoding, text = _decoded(data, file, whole=whole)
    stated = STATED.match(text)
    if stated is not None:  # the end of that line stays, so that lines are counted right
        delimiter, text = delimiter or check_delimiter(stated[1]), text[stated.end() :]
    if not text.strip():
        raise ValueError(
            f"{file} must start with a line of column names, but is empty: write it again"
        )
    if delimiter is None:
        tabs = file.name.lower().endswith((".tsv", ".tsv.gz"))
        default = "\t" if tabs else ";" if decimal == "," else ","
        delimiter = _delimiter(text, default, whole=whole)
    quote = _quote(text, delimiter)
    if whole:
        _check_quotes(text, delimiter, quote, file)
    if decimal is None:
        decimal = _decimal(_records(text, delimiter, quote, whole=whole), delimiter)
    return Dialect(delimiter, decimal, encoding, quote)


def open_bytes(path: Path) -> io.BufferedReader:
    """Open a file for reading, decompressed if its extension is ``.gz``."""
    return io.BufferedReader(pyarrow().input_stream(str(path)))


def unclosed(path: Path, line: int) -> str:
    """Return the message for a quote that is never closed."""
    return (
        f"every quote of {path} must be closed, but one that opens in line {line} of {path.name} "
        f"is not, or its value is longer than a block of the parser: close the quote, or double it "
        f"if it is part of the text"
    )


def binary(path: Path, line: int) -> str:
    """Return the message for a NUL byte."""
    return (
        f"{path} must be text, got a NUL byte in line {line} of {path.name}: it is damaged, binary "
        f"or UTF-16 without a byte order mark; check its extension, or save it as UTF-8"
    )


def check_delimiter(delimiter: str) -> str:
    r"""Return the delimiter; a backslash and a t, as typed in a shell, are a tab.

    >>> check_delimiter(";"), check_delimiter("\\t")
    (';', '\t')
    """
    known = "\t" if delimiter == "\\t" else delimiter
    if not isinstance(known, str) or len(known) != 1 or not known.isascii():
        raise ValueError(
            f"delimiter must be one character (ASCII), got {delimiter!r}: try ',', ';' or '\\t', "
            f"or omit it, so that it is found from the file"
        )
    if known.isalnum() or known in "\"'\r\n\0.+-":
        raise ValueError(
            f"delimiter must be a character that is not part of values, quotes or line ends, got "
            f"{delimiter!r}: try ',', ';' or '\\t'"
        )
    return known


def _decoded(data: bytes, file: Path, *, whole: bool) -> tuple[str, str]:
    """Return the encoding and the text; a character may be cut at the end unless ``whole``."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        candidates = ["utf-16"]
    elif data.startswith(codecs.BOM_UTF8):
        candidates = ["utf-8-sig"]
    else:
        # Windows-1252 leaves five bytes undefined, Latin-1 none.
        candidates = ["utf-8", "cp1252", "latin-1"]
    for encoding in candidates:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data, whole)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            raise ValueError(binary(file, text.count("\n", 0, text.index("\0")) + 1))
        return encoding, text
    raise ValueError(
        f"{file} must be text in {ENCODINGS[candidates[0]]}, as its first bytes say, but it cannot "
        f"be decoded: save it as UTF-8"
    )


def _records(text: str, delimiter: str, quote: str, *, whole: bool) -> list[list[str]]:
    """Return the nonempty lines as lists of values, without the last if it may be cut."""
    found = []
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    try:
        for record in lines:
            if record:
                found.append(record)
    except csv.Error:  # a quote that is never closed: what comes before it must do
        return found
    return found if whole or len(found) == 1 else found[:-1]


def _delimiter(text: str, default: str, *, whole: bool) -> str:
    """Return the delimiter that fits best, or ``default`` for a single column.

    The score is (share of lines with as many values as the first) * (delimiters per line). Commas
    are also part of numbers and sentences, so any other delimiter in nearly all lines comes first.
    """
    order = [default, *(sign for sign in DELIMITERS if sign not in (default, " "))]
    fits: dict[str, tuple[int, float]] = {}
    for sign in order:
        records = _records(text, sign, _quote(text, sign), whole=whole)
        width = len(records[0]) if records else 1
        share = _share(records, width)
        certain = sign != "," and width > 1 and len(records) > 1 and share >= NEARLY_ALL
        rank = 1 + (default == "\t" == sign) if certain else 0
        # Below one half the first line is the odd one; it then only beats a single column.
        fits[sign] = rank, (width - 1) * (share if share > 0.5 else 1e-6)
    best = max(order, key=lambda sign: fits[sign])
    if fits[best][1] > 0:
        return best
    return " " if _has_spaces(text, whole=whole) else default


def _share(records: list[list[str]], width: int) -> float:
    """Return the share of lines after the first with ``width`` values."""
    counts = Counter(map(len, records[1:]))
    return counts[width] / counts.total() if counts else 1.0


def _has_spaces(text: str, *, whole: bool) -> bool:
    """Return whether spaces delimit: every line has as many values, and most are numbers."""
    records = _records(text, " ", '"', whole=whole)
    width = len(records[0]) if records else 0
    if width < 2 or len(records) < 2 or _share(records, width) < 1 or "" in records[0]:
        return False
    values = [value for record in records[1:] for value in record]
    return sum(map(_is_number, values)) > len(values) / 2


def _is_number(value: str) -> bool:
    return any(form.fullmatch(value) for form in (WHOLE, *FRACTION.values()))


def _quote(text: str, delimiter: str) -> str:
    """Return a single quote if there are no others and all values that begin with one end so."""
    if '"' in text or "'" not in text:
        return '"'
    sign = re.escape(delimiter)
    opened = len(re.findall(rf"(?:^|{sign})'", text, re.MULTILINE))
    closed = len(re.findall(rf"(?:^|{sign})'(?:[^']|'')*'(?=\r?$|{sign})", text, re.MULTILINE))
    return "'" if 0 < opened == closed else '"'


def _check_quotes(text: str, delimiter: str, quote: str, file: Path) -> None:
    """Raise ValueError if a quote is never closed, which would make one value of many lines."""
    stream = io.StringIO(text, newline="")
    lines = csv.reader(stream, delimiter=delimiter, quotechar=quote, strict=True)
    line = 1
    try:
        for _ in lines:
            line = lines.line_num + 1
    except csv.Error as error:
        rest = "".join(text.splitlines(keepends=True)[line - 1 :])
        too_long = "field limit" in str(error) and rest.count(quote) % 2 == 1
        if too_long or "end of data" in str(error):
            raise ValueError(unclosed(file, line)) from error


def _decimal(records: list[list[str]], delimiter: str) -> str:
    """Return the decimal sign that more columns of numbers have; a comma only if unambiguous."""
    if delimiter == ",":
        return "."
    votes = Counter(filter(None, map(_vote, _columns(records))))
    return "," if votes[","] and votes[","] >= votes["."] else "."


def _columns(records: list[list[str]]) -> Iterator[list[str]]:
    """Yield the values of each column without gaps, from lines as long as the first."""
    rows = [record for record in records[1:] if len(record) == len(records[0])]
    for column in zip(*rows, strict=True):
        yield [value for value in map(str.strip, column) if value not in GAPS]


def _vote(values: list[str]) -> str | None:
    """Return the decimal sign of a column, None if it has none or might have thousands only.

    >>> _vote(["3,14", "2", "1.000,5"]), _vote(["1,000", "2,500"]), _vote(["0,480"])
    (',', None, ',')
    """
    for sign in DECIMALS:
        if not any(sign in value for value in values):
            continue
        whole = (WHOLE, GROUPED["," if sign == "." else "."])
        plain = sum(any(form.fullmatch(value) for form in whole) for value in values)
        found = [value for value in values if FRACTION[sign].fullmatch(value)]
        grouped = sum(GROUPED[sign].fullmatch(value) is not None for value in found)
        if grouped < len(found) and plain + len(found) >= NEARLY_ALL * len(values):
            return sign
    return None


def decimal_of(source: object) -> str:
    """Return the decimal sign of the file that a source reads, "." if it is no text.

    >>> decimal_of(None)
    '.'
    """
    while source is not None:
        dialect = getattr(source, "dialect", None)
        if isinstance(dialect, Dialect):
            return dialect.decimal
        source = getattr(source, "source", None)
    return "."
