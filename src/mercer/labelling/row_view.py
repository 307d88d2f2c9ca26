"""What a person sees of a row: its columns as text, and its pictures.

Pictures are files in the folder of the pool, or columns that are the pixels themselves.
"""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array, Rows
from mercer.kernels.kernel import dense
from mercer.labelling.label_pool import LabelPool
from mercer.labelling.sheet import Sheet
from mercer.rows.table import Table
from mercer.validation import closest

#: Longer text is cut.
LONGEST = 20_000
#: Rows that say what is black and white.
SAMPLE = 200


class RowView:
    """How rows of a sheet are shown.

    Parameters
    ----------
    pool : LabelPool
        The pool.
    sheet : Sheet
        The first round, which says what the columns are.
    image : str or None
        A size such as "28x28" if the features are pixels, or a column with paths of pictures. None
        looks for columns whose values all end like the names of pictures.
    show : list of str, or None
        The columns to show; None means all.
    folder : path or None
        Where paths of pictures begin; nothing outside of it is shown. None shows no files.
    """

    def __init__(
        self,
        pool: LabelPool,
        sheet: Sheet,
        image: str | None = None,
        show: Sequence[str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._pool, self._folder, self._pixels = pool, folder, None
        self._uris: dict[int, str] = {}
        names = list(sheet.shown)
        for name in show or ():
            if name not in names:
                raise ValueError(f"the pool has no column {name!r} to show{closest(name, names)}")
        self._files = [] if folder is None else picture_columns(sheet.shown)
        hidden: set[str] = set()
        if image is not None and is_pixel_shape(image):
            sample = pool.source.take(np.asarray(sheet.drawn.rows[:SAMPLE]))
            try:
                numbers = numbers_of(sample)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"an image of {image} needs columns of numbers only: name them with columns"
                ) from error
            self._pixels = Pixels(image, numbers)
            hidden = set(sheet.drawn.columns or names)
        elif image is not None:
            if image not in names:
                raise ValueError(
                    f"image must be a size such as 28x28, or a column of the pool with paths of "
                    f"pictures, got {image!r}{closest(image, names)}"
                )
            if folder is None:
                raise ValueError("pictures from files need the folder that their paths begin at")
            self._files = [image]
        self._show = [n for n in names if n not in hidden] if show is None else list(show)

    def prepare(self, sheet: Sheet) -> None:
        """Read the pixels of new rows, so that showing one does not read the pool."""
        if self._pixels is None:
            return
        new = np.asarray([row for row in sheet.drawn.rows if row not in self._uris])
        if len(new):
            for row, values in zip(
                new.tolist(), numbers_of(self._pool.source.take(new)), strict=True
            ):
                self._uris[row] = self._pixels.uri(values)

    def columns(self, sheet: Sheet, at: int) -> list[dict[str, Any]]:
        """Return the columns to show of a row, as names and text."""
        return [
            {"name": name, **shown_value(sheet.shown[name][at])}
            for name in self._show
            if name in sheet.shown and name not in self._files
        ]

    def pictures(self, sheet: Sheet, at: int) -> list[dict[str, str]]:
        """Return the pictures of a row: one of pixels, and columns of files."""
        found = []
        if self._pixels is not None:
            found.append({"name": "pixels", "uri": self._uris[sheet.drawn.rows[at]]})
        for name in self._files:
            if sheet.shown[name][at] not in (None, ""):
                found.append({"name": name, "file": str(sheet.shown[name][at])})
        return found

    def file(self, sheet: Sheet, at: int, column: str) -> tuple[bytes, str]:
        """Return the picture of a column of files, and its type."""
        if column not in self._files or self._folder is None:
            raise PictureError(f"{column!r} is no column of pictures")
        return read_picture(str(sheet.shown[column][at]), self._folder)


def shown_value(value: object) -> dict[str, Any]:
    """Return a value as text, and what kind of value it is.

    >>> shown_value(0.1 + 0.2), shown_value("a"), shown_value(None)
    ({'kind': 'number', 'text': '0.3'}, {'kind': 'text', 'text': 'a'}, {'kind': 'gap', 'text': ''})
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return {"kind": "gap", "text": ""}
    if isinstance(value, float):
        return {"kind": "number", "text": f"{value:.6g}"}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"kind": "number", "text": str(value)}
    text = str(value)
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return {"kind": "text", "text": cut}


#: Types of pictures by extension. SVG is a program as much as a picture, and is not served.
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
}
#: The largest file that is shown, and the most pixels.
LARGEST, MOST_PIXELS = 20_000_000, 1_000_000
#: Numbers above this, and up to 255, are bytes.
HALF = 127


class PictureError(ValueError):
    """A file cannot be shown: it is elsewhere, no picture, or too large."""


def picture_columns(shown: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the columns that are paths of pictures, by the extensions of their values.

    >>> picture_columns({"file": ["a.png", None, "b.JPG"], "note": ["a.png", "none"], "n": [1, 2]})
    ['file']
    """
    found = []
    for name, values in shown.items():
        known = [value for value in values if value not in (None, "")]
        if known and all(isinstance(v, str) and _suffix(v) in TYPES for v in known):
            found.append(name)
    return found


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


def read_picture(path: str, folder: Path) -> tuple[bytes, str]:
    """Return a picture and its type; refuse everything that is not a picture in the folder.

    Links are followed first, so that a link in the folder to a file elsewhere is refused, too.
    """
    if _suffix(path) not in TYPES:
        raise PictureError(
            f"a picture must be a {', '.join(TYPES)} file, got {Path(path).suffix!r}"
        )
    try:
        root, file = folder.resolve(strict=True), (folder / path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:  # missing, a loop of links, a null byte
        raise PictureError("there is no such picture in the folder of the pool") from error
    if root not in file.parents:
        raise PictureError("a picture must be in the folder of the pool, or in a folder in it")
    if not file.is_file() or file.suffix.lower() not in TYPES:
        raise PictureError("there is no such picture in the folder of the pool")
    size = file.stat().st_size
    if size > LARGEST:
        raise PictureError(f"a picture must have at most {LARGEST:,} bytes, got {size:,}")
    return file.read_bytes(), TYPES[file.suffix.lower()]


class Pixels:
    """Rows whose numbers are pixels, line by line.

    Parameters
    ----------
    shape : str
        Height and width, as in "28x28", and "28x28x3" for red, green and blue of each pixel.
    sample : array of shape (n, d)
        Some rows, which say what is black and white: 0 and 255, 0 and 1, or the least and largest.

    Examples
    --------
    >>> picture = Pixels("1x2", np.array([[0.0, 1.0]]))
    >>> picture.uri(np.array([0.0, 1.0]))[:30]
    'data:image/png;base64,iVBORw0K'
    """

    def __init__(self, shape: str, sample: Array) -> None:
        self.shape = pixel_shape(shape)
        wanted = int(np.prod(self.shape))
        if sample.shape[1] != wanted:
            raise ValueError(
                f"an image of {shape} must have {wanted:,} features, but the pool "
                f"has {sample.shape[1]:,}: name them with columns, or give another size"
            )
        finite = sample[np.isfinite(sample)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        elif low >= 0 and HALF < high <= 255:
            low, high = 0.0, 255.0
        self.black, self.white = low, max(high, low + 1e-300)

    def uri(self, row: Array) -> str:
        """Return a row as the address of a picture, which is all in it."""
        share = (np.nan_to_num(row) - self.black) / (self.white - self.black)
        pixels = np.rint(255 * np.clip(share, 0.0, 1.0)).astype(np.uint8)
        return "data:image/png;base64," + base64.b64encode(png(pixels.reshape(self.shape))).decode()


def is_pixel_shape(image: str) -> bool:
    """Return whether text is a size such as 28x28, rather than the name of a column."""
    return re.fullmatch(r"\d+x\d+(x[13])?", image) is not None


def pixel_shape(shape: str) -> tuple[int, ...]:
    """Return height and width, and 3 for colors.

    >>> pixel_shape("28x20"), pixel_shape("8x8x3")
    ((28, 20), (8, 8, 3))
    """
    sizes = tuple(int(size) for size in shape.split("x"))
    if 0 in sizes or np.prod(sizes) > MOST_PIXELS:
        raise ValueError(f"an image must have from 1 to {MOST_PIXELS:,} pixels, got {shape}")
    return sizes[:2] if sizes[2:] in ((), (1,)) else sizes


def png(pixels: Array) -> bytes:
    """Return a PNG file of gray (h, w) or colored (h, w, 3) pixels of 8 bits.

    >>> png(np.zeros((2, 3), dtype=np.uint8))[1:4]
    b'PNG'
    """
    height, width = pixels.shape[:2]
    color = 0 if pixels.ndim == 2 else 2
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))
    head = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def numbers_of(rows: Table | Rows) -> Array:
    """Return rows of a source as an array of numbers."""
    return dense(rows.numbers() if isinstance(rows, Table) else rows)
