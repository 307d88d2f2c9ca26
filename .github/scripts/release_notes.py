"""Print the section of a version in CHANGELOG.md: ``python release_notes.py v0.2.0``.

Refuses a tag that is not the version of the sources, and a version without notes, before anything
is built or published.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def version_of(source: str) -> str:
    """Return the version that version.py states.

    >>> version_of('VERSION = "1.2.3"')
    '1.2.3'
    """
    (found,) = re.findall(r'^VERSION = "([^"]+)"$', source, re.M)
    return str(found)


def notes(changelog: str, version: str) -> str:
    """Return the text below the heading of a version, up to the next heading of that level.

    >>> print(notes("# C\\n\\n## 1.1 (2026-02-03)\\n\\n- New.\\n\\n## 1.0 (2026-01-02)\\n", "1.1"))
    - New.
    """
    sections = re.split(r"^## ", changelog, flags=re.M)[1:]
    for section in sections:
        title, _, text = section.partition("\n")
        if title.split()[:1] == [version]:
            if not re.fullmatch(r"\S+ \(\d{4}-\d\d-\d\d\)", title.strip()):
                raise ValueError(
                    f"the heading of a release must have its date, such as "
                    f"'## {version} (2026-11-18)', got '## {title.strip()}'"
                )
            if not text.strip():
                raise ValueError(f"CHANGELOG.md must say what is new in {version}, got no text")
            return text.strip()
    raise ValueError(
        f"CHANGELOG.md must have a section for {version}, got "
        f"{', '.join(section.partition(chr(10))[0] for section in sections) or 'none'}"
    )


def main(tag: str) -> None:
    """Print the notes of a tag."""
    version = version_of((ROOT / "src/mercer/version.py").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        raise ValueError(f"the tag must be v{version}, as in version.py, got {tag}")
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        sys.exit(f"error: {error}")
