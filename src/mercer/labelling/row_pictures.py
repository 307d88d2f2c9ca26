"""Pictures of rows: files in the folder of the pool, or columns that are the pixels themselves."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.rows.table import Table

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
    if not is_pixel_shape(shape):
        raise ValueError(f"the size of an image must be as in 28x28 or 28x28x3, got {shape!r}")
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


def numbers_of(rows: Any) -> Array:
    """Return rows of a source as an array of numbers."""
    if isinstance(rows, Table):
        rows = rows.numbers()
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return np.asarray(rows, dtype=float)
