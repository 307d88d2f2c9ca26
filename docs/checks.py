"""What is checked of the site once it is written: links, pictures, and what a search finds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.util import logging

#: What a reader may type into the search, and a page that must be among the results.
SEARCHED = {
    "standardize": "howto/tables",
    "normalize": "howto/tables",
    "one-hot": "howto/tables",
    "impute": "howto/tables",
    "missing values": "howto/tables",
    "categorical features": "howto/tables",
    "feature scaling": "howto/tables",
    "hyperparameter": "howto/alpha",
    "hyperparameter tuning": "choosing",
    "cross-validation": "howto/alpha",
    "regularization": "howto/alpha",
    "prediction interval": "howto/uncertainty",
    "confidence interval": "howto/uncertainty",
    "calibrated probabilities": "howto/probabilities",
    "feature importance": "howto/explaining",
    "shap": "howto/explaining",
    "out of core": "howto/files",
    "incremental learning": "howto/updating",
    "save a model": "howto/saving",
    "pickle": "howto/saving",
    "active learning": "howto/labelling",
    "semi-supervised": "howto/unlabelled",
    "learning to rank": "howto/ranking",
    "class imbalance": "howto/weights",
    "distributed": "howto/clusters",
    "dask": "howto/clusters",
    "federated": "howto/federated",
    "xgboost": "comparison",
    "gaussian process": "howto/deviations",
    "conjugate gradients": "howto/products",
    "early stopping": "howto/early-stopping",
    "memory": "howto/files",
    "slow": "howto/speed",
}


class Page(HTMLParser):
    """The links of a page, the places that links can point to, and pictures without words."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.wordless: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and what it is called."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given[name] for name in ("href", "src") if name in given]
        if tag == "img" and not given.get("alt"):
            self.wordless.append(given.get("src", "?"))


def problems(folder: Path, searched: Mapping[str, str] = SEARCHED) -> list[str]:
    """Return what is wrong with a site, a sentence each."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    found = [
        f"{path.relative_to(folder.resolve())}: {trouble}"
        for path, page in pages.items()
        for trouble in (
            *(f"the link {link!r} leads nowhere" for link in dead(path, page.links, pages)),
            *(f"the picture {name!r} has no alternative text" for name in page.wordless),
        )
    ]
    index = folder / "searchindex.js"
    if index.is_file():
        results = Results(index)
        found += [
            f"a search for {words!r} does not find {page}"
            for words, page in searched.items()
            if page not in results.of(words)
        ]
    return found


def dead(path: Path, links: Iterable[str], pages: Mapping[Path, Page]) -> list[str]:
    """Return those links of a page, within the site, that have no target."""
    missing = []
    for link in dict.fromkeys(links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        place = unquote(parts.fragment)
        if not target.is_file() or (
            place and target in pages and place not in pages[target].places
        ):
            missing.append(link)
    return missing


class Results:
    """What the search of the site finds: pages that have all words, by their stems."""

    def __init__(self, index: Path) -> None:
        text = index.read_text(encoding="utf-8")
        self.index = json.loads(text[text.index("{") : text.rindex("}") + 1])
        self.language = SearchEnglish({})

    def of(self, words: str) -> set[str]:
        """Return the names of the pages that have every word, in their text or their titles."""
        stems = [
            self.language.stem(word.lower())
            for word in re.findall(r"\w+", words)
            if self.language.word_filter(word.lower())
        ]
        return set.intersection(*(self.pages_with(stem) for stem in stems)) if stems else set()

    def pages_with(self, stem: str) -> set[str]:
        """Return the pages that have a stem."""
        numbers: set[int] = set()
        for part in ("terms", "titleterms"):
            at = self.index[part].get(stem, [])
            numbers |= {at} if isinstance(at, int) else set(at)
        return {self.index["docnames"][number] for number in numbers}


def warn(app: Sphinx, error: Exception | None) -> None:
    """Warn of all that is wrong, once the site is written."""
    if error is None and app.builder.name == "html":
        for trouble in problems(Path(app.outdir)):
            logging.getLogger(__name__).warning(trouble)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the above."""
    app.connect("build-finished", warn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
