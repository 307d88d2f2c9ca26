"""The pictures of the gallery, drawn by the code that its pages show."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from pathlib import Path

import style

PAGES = Path(__file__).resolve().parent.parent / "gallery"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
#: Letters that can be read where a picture is as wide as a phone.
SIZES = {"font.size": 10, "axes.titlesize": 11, "legend.fontsize": 9, "figure.dpi": 160}


def draw(page: Path) -> None:
    """Run the blocks of a page in an empty folder, and keep the figure that they leave."""
    start = time.process_time()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            exec("\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))), {"__name__": "page"})
        finally:
            os.chdir(before)
    print(f"{page.stem}: {time.process_time() - start:.1f} s of the processor")
    style.save(style.plt.gcf(), f"gallery/{page.stem}")


def main(names: list[str] | None = None) -> None:
    """Draw the pictures of these pages, or of all."""
    with style.plt.rc_context(SIZES):
        for page in sorted(PAGES.glob("*.md")):
            if not names or page.stem in names:
                draw(page)


if __name__ == "__main__":
    main(sys.argv[1:])
