"""Records of frozen dataclasses in a file, one JSON object a line, so that runs can add to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.scaffold.records import write_text


def read_lines(path: Path, kind: type) -> list[Any]:
    """Return the records of a file in their order; none where there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [kind(**json.loads(line)) for line in lines if line.strip()]


def append_line(path: Path, record: Any) -> None:
    """Add a record at the end, whole: other runs may add theirs at the same time."""
    with path.open("a", encoding="utf-8", newline="\n") as out:
        out.write(as_line(record))
        out.flush()
        os.fsync(out.fileno())


def rewrite_lines(path: Path, records: Iterable[Any]) -> None:
    """Keep these records and no others."""
    write_text(path, "".join(map(as_line, records)))


def as_line(record: Any) -> str:
    """Return a record as JSON: floats to six digits, without what is None or empty."""
    short = {name: _short(value) for name, value in asdict(record).items()}
    return json.dumps({k: v for k, v in short.items() if v not in (None, "")}) + "\n"


def _short(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_short(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
