"""The examples of every page run, and print what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import examples


@pytest.mark.parametrize("page", examples.pages())
def test_the_examples_of_a_page(page: str) -> None:
    examples.run(page)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs a page with the text that is given."""
    monkeypatch.setattr(examples, "HERE", tmp_path)

    def run(text: str) -> None:
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        assert examples.pages() == ["page"]
        examples.run("page")

    return run


def test_blocks_share_their_names_and_a_folder(written) -> None:
    written(
        """Words.

```python
from pathlib import Path
assert not list(Path().iterdir())
Path("a.txt").write_text("x")
print(7.25, "then 3.1 s")
```

```text
7.25 then 0.2 s
```

```pycon
>>> Path("a.txt").read_text()
'x'
```

```console
$ cat a.txt; echo; echo; echo y
x

y
```

```sh
exit 1
```
"""
    )


def test_mercer_alone_and_in_a_pipe(written) -> None:
    written(
        """```console
$ mercer info nothing
error: ...nothing.mercer must be a file...
$ mercer info nothing 2> told.txt
<BLANKLINE>
$ cat told.txt
error: ...nothing.mercer must be a file...
$ mercer info nothing 2>&1 | cat
error: ...nothing.mercer must be a file...
```
"""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", r"page.md:1 prints.*\nExpected:\n.*2"),
        ("```python\nprint(1)\n```\n", "Expected nothing"),
        ("```python\nprint(1)\n```\n\nthat is\n\n```text\n1\n```\n", "Expected nothing"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", r"page.md.*, line 2"),
        ("```console\n$ echo x\ny\n```\n", r"sh\('echo x'\)"),
    ],
)
def test_what_is_printed_must_be_what_the_page_says(written, text: str, expected: str) -> None:
    with pytest.raises(AssertionError, match=f"(?s){expected}"):
        written(text)


def test_an_exception_is_raised_with_the_line_of_the_page(written) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        written("Words.\n\n```python\nx = 0\n1 / x\n```\n")
    assert (raised.traceback[-1].path.name, raised.traceback[-1].lineno + 1) == ("page.md", 5)
