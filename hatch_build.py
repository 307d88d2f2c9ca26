"""What PyPI shows: the README with links that work there, and the addresses of the project.

The address of the repository is not written down in the sources, so that a fork or a move needs no
change: ``MERCER_REPOSITORY`` has it, which ``.github/workflows/release.yml`` sets. Without it a
build has no project URLs, and the README's links to files of the repository become text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "MERCER_REPOSITORY"
#: A Markdown link or image: its mark, text and target.
LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")


class ProjectPage(MetadataHookInterface):
    """Computes ``readme`` and ``urls``, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the fields that a source distribution has not decided already."""
        repository = repository_address(os.environ.get(VARIABLE, ""))
        if "readme" not in metadata:
            text = Path(self.root, "README.md").read_text(encoding="utf-8")
            page = readable_anywhere(text, repository, f"v{metadata['version']}")
            metadata["readme"] = {"content-type": "text/markdown", "text": page}
        if "urls" not in metadata:
            metadata["urls"] = project_urls(repository)


def repository_address(value: str) -> str:
    """Return the address without a final slash, or "" where there is none.

    >>> repository_address("https://example.org/owner/name/")
    'https://example.org/owner/name'
    """
    value = value.strip().rstrip("/")
    if value and not re.fullmatch(r"https://[^\s/]+/\S+", value):
        raise ValueError(
            f"{VARIABLE} must be the address of the repository, such as "
            f"https://host/owner/name, got {value!r}; unset it to build without addresses"
        )
    return value


def project_urls(repository: str) -> dict[str, str]:
    """Return the links in the margin of a project's page.

    >>> project_urls("https://example.org/owner/name")["Issues"]
    'https://example.org/owner/name/issues'
    """
    if not repository:
        return {}
    return {
        "Source": repository,
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def readable_anywhere(text: str, repository: str, tag: str) -> str:
    """Make links to files of the repository absolute, or text where its address is unknown.

    >>> readable_anywhere("See [how](docs/how.md).", "https://example.org/o/n", "v1.0")
    'See [how](https://example.org/o/n/blob/v1.0/docs/how.md).'
    >>> readable_anywhere("![A plot](plot.png) See [how](docs/how.md).", "", "v1.0")
    ' See how.'
    """

    def absolute(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        if target.startswith(("http:", "https:", "mailto:", "#")):
            return link[0]
        if repository:
            view = "raw" if mark else "blob"
            return f"{mark}[{words}]({repository}/{view}/{tag}/{target})"
        return "" if mark else words

    return LINK.sub(absolute, text)
