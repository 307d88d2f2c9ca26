"""The checks that a build of the site makes: they see what is wrong, and only that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from docs.checks import Results, problems


def page(body: str) -> str:
    return f"<!doctype html><html><body>{body}</body></html>"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a site of two pages, of which all is well."""
    (tmp_path / "howto").mkdir()
    link = '<a href="howto/tables.html#gaps">gaps</a> <a href="https://example.org/x">away</a>'
    (tmp_path / "index.html").write_text(page(link + '<a href="#top">up</a><p id="top">'))
    body = '<h2 id="gaps">Gaps</h2><img src="../curve%201.png" alt="a curve">'
    body += '<a href="../index.html">up</a>'
    (tmp_path / "howto" / "tables.html").write_text(page(body))
    (tmp_path / "curve 1.png").write_bytes(b"")
    index = {
        "docnames": ["index", "howto/tables"],
        "terms": {"standard": 1, "column": [0, 1], "model": 0},
        "titleterms": {"tabl": 1},
    }
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    return tmp_path


def test_a_good_site_has_no_problems(site: Path) -> None:
    assert problems(site, {"standardized columns": "howto/tables", "Tables": "howto/tables"}) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<a href="gone.html">x</a>', "index.html: the link 'gone.html' leads nowhere"),
        (
            '<a href="howto/tables.html#dates">x</a>',
            "index.html: the link 'howto/tables.html#dates' leads nowhere",
        ),
        ('<a href="#nowhere">x</a>', "index.html: the link '#nowhere' leads nowhere"),
        (
            '<img src="curve%201.png">',
            "index.html: the picture 'curve%201.png' has no alternative text",
        ),
    ],
)
def test_dead_links_and_wordless_pictures(site: Path, body: str, expected: str) -> None:
    (site / "index.html").write_text(page(body))
    assert problems(site, {}) == [expected]


def test_a_search_must_find_all_words_on_its_page(site: Path) -> None:
    expected = ["a search for 'standardize the model' does not find howto/tables"]
    assert problems(site, {"standardize the model": "howto/tables"}) == expected
    assert Results(site / "searchindex.js").of("columns") == {"index", "howto/tables"}
