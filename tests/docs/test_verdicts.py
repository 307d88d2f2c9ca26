"""The table of verdicts on the papers: one of four words, and a short reason."""

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"
VERDICTS = {"agrees", "partly", "differs", "not run"}


def rows():
    """Return figure, verdict, numbers and reason of every row."""
    section = PAGE.read_text(encoding="utf-8").split("\n## ")[1]
    lines = [line for line in section.splitlines() if line[:2] == "| "]
    cells = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines]
    return [row for row in cells if not row[0].startswith(("**", "Figure or"))]


def test_a_verdict_is_one_of_four_words():
    assert len(rows()) > 60
    assert {len(row) for row in rows()} == {4}
    assert {verdict for _, verdict, _, _ in rows()} == VERDICTS


def test_the_reason_is_one_short_sentence():
    for figure, _, _, reason in rows():
        assert 0 < len(reason.split()) <= 20, figure


def test_pictures_are_in_the_experiments():
    pictures = [part.split(")")[0] for part in PAGE.read_text(encoding="utf-8").split("](../")[1:]]
    assert len(pictures) == len(set(pictures)) > 12
    for picture in pictures:
        assert (PAGE.parents[1] / picture).is_file(), picture
