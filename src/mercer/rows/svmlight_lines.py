"""Validate and write lines of svmlight and LETOR files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from mercer.contracts import Array, Rows
from mercer.rows.arrays import ArraySource

WRITE_ROWS = 4096
LARGEST_INDEX = 2**31 - 1
LARGEST_QUERY = 2**63 - 1
SNIFF_BYTES = 2**20


def content(line: bytes) -> bytes:
    """Return a line without its comment and surrounding whitespace.

    >>> content(b" 1 qid:3 1:0.5 # docid = 7\\n")
    b'1 qid:3 1:0.5'
    """
    return line.partition(b"#")[0].strip()


def has_qid(text: bytes) -> bool:
    """Return whether a line has a query."""
    return any(token.startswith(b"qid") for token in text.split(None, 2)[1:2])


def fault_of(text: bytes, first: int = 0) -> str:
    """Return the error in a line, or an empty string; feature indices start at ``first``.

    >>> fault_of(b"2 qid:10 1:0.5 3:x")
    "the value of a feature must be a number, got '3:x'"
    """
    label, *pairs = text.split()
    if _number(label) is None:
        return f"a line must start with a numeric label, got {_shown(label)}"
    if pairs and pairs[0].startswith(b"qid"):
        query = _whole(pairs[0].partition(b":")[2])
        if query is None or abs(query) > LARGEST_QUERY:
            return f"qid must be an integer after a colon, got {_shown(pairs[0])}"
        pairs = pairs[1:]
    previous = first - 1
    for pair in pairs:
        name, colon, value = pair.partition(b":")
        index = _whole(name)
        if name == b"qid":
            return f"qid must come once, right after the label, got {_shown(pair)} later"
        if not colon or index is None:
            return f"features must be index:value with an integer index, got {_shown(pair)}"
        if not first <= index <= LARGEST_INDEX:
            return f"indices must be from {first} to {LARGEST_INDEX}, got {_shown(pair)}"
        if index <= previous:
            return f"indices must increase along a line, got {_shown(pair)} after {previous}"
        if _number(value) is None:
            return f"the value of a feature must be a number, got {_shown(pair)}"
        previous = index
    return ""


def is_svmlight(path: Path) -> bool:
    """Return whether the first line of a file, after comments, has a label and features."""
    with path.open("rb") as stream:
        while line := stream.readline(SNIFF_BYTES):
            text = content(line)
            if text:
                return len(text.split()) > 1 and not fault_of(text)
    return False


def write_svmlight(
    path: str | os.PathLike[str],
    X: object,
    y: object,
    qid: object = None,
    comment: str | None = None,
) -> None:
    """Write rows as lines ``label qid:query index:value ...``, for use with other rankers.

    Rows of a query are written consecutively, since many readers need that: queries in the order of
    their first rows, and the rows of each in the original order. The first feature has the index 1,
    as in LETOR files. Features that are 0 are omitted, except for the last one of the first line,
    which shows the number of features. Numbers are written with full precision, so that they are
    read back exactly.

    Parameters
    ----------
    path : str or path
        The file; it is replaced if it exists.
    X : array of shape (n, d), or scipy sparse rows
        The features.
    y : array of shape (n,)
        The numeric label of each row.
    qid : array of shape (n,), or None
        The query of each row, integers.
    comment : str or None
        Text for the top of the file, each line after a ``#``; not all readers support comments.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.svm")
    ...     write_svmlight(path, [[0.5, 0.0], [0.0, 0.0], [0.25, 4.0]], [2, 0, 1], [7, 3, 7])
    ...     print(path.read_text(), end="")
    2 qid:7 1:0.5 2:0
    1 qid:7 1:0.25 2:4
    0 qid:3
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "biuf":
        raise ValueError(
            f"y must be 1-D with a number for every row, since svmlight files have one label per "
            f"line, got shape {labels.shape} and dtype {labels.dtype}: encode labels as numbers"
        )
    source = ArraySource(X, labels, query=qid)
    query = None if qid is None else np.asarray(qid)
    order = np.arange(source.n_rows) if query is None else _by_query(query)
    with Path(path).expanduser().open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"# {line}\n" for line in (comment or "").splitlines())
        for low in range(0, source.n_rows, WRITE_ROWS):
            part = order[low : low + WRITE_ROWS]
            heads = [_text(label) for label in labels[part].astype(np.float64).tolist()]
            if query is not None:
                ids = query[part].tolist()
                heads = [f"{head} qid:{id_}" for head, id_ in zip(heads, ids, strict=True)]
            rows = _features(source.take(part), show_last=low == 0)
            stream.writelines(
                " ".join([head, *row]) + "\n" for head, row in zip(heads, rows, strict=True)
            )


def _by_query(qid: Array) -> Array:
    """Return an order in which the rows of a query are consecutive."""
    if qid.dtype.kind not in "iu":
        raise ValueError(
            f"qid must be integers, as required by svmlight files, got dtype "
            f"{qid.dtype}: number them with np.unique(qid, return_inverse=True)[1]"
        )
    _, first, codes = np.unique(qid, return_index=True, return_inverse=True)
    return np.argsort(first[codes], kind="stable")


def _features(X: Rows, *, show_last: bool) -> Iterator[list[str]]:
    """Yield the features of each row as text."""
    rows = sparse.csr_array(X, dtype=np.float64)
    rows.sum_duplicates()
    columns, values, ends = rows.indices.tolist(), rows.data.tolist(), rows.indptr.tolist()
    for row in range(rows.shape[0]):
        part = slice(ends[row], ends[row + 1])
        pairs = zip(columns[part], values[part], strict=True)
        found = [f"{column + 1}:{_text(value)}" for column, value in pairs]
        last = rows.shape[1] - 1
        if show_last and row == 0 and last not in columns[part]:
            found.append(f"{last + 1}:0")
        yield found


def _text(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(value).removesuffix(".0")


def _number(text: bytes) -> float | None:
    """Return text as a number, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: bytes) -> int | None:
    """Return text as an integer, or None."""
    try:
        return int(text)
    except ValueError:
        return None


def _shown(text: bytes) -> str:
    """Return text, shortened for a message."""
    return repr(text[:40].decode("utf-8", "replace"))
