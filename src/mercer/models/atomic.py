"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it takes the place of ``path`` if all went well.

    A reader never meets half a file, and a failed write leaves what was there before.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "numbers.txt"
    ...     with atomic_path(target) as partial:
    ...         _ = partial.write_text("1 2 3")
    ...     target.read_text(), len(list(Path(folder).iterdir()))
    ('1 2 3', 1)
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: its folder {path.parent} does not exist; make it first"
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} cannot be written: it is a folder; name a file in it")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    partial.touch(exist_ok=False)
    mode = partial.stat().st_mode & 0o777
    try:
        yield partial
        # A writer may have put a new file here with permissions of its own.
        partial.chmod(mode)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
