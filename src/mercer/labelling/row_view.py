"""What a person sees of a row: its columns as text, and its pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.labelling.label_pool import LabelPool
from mercer.labelling.row_pictures import (
    PictureError,
    Pixels,
    is_pixel_shape,
    numbers_of,
    picture_columns,
    read_picture,
)
from mercer.labelling.sheet import Sheet
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


def shown_value(value: Any) -> dict[str, Any]:
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
