"""The examples of the pages run, each page from its top to its end in an empty folder.

::

    python docs/examples.py                      # all pages, with seconds
    python docs/examples.py readme howto/alpha   # some

In the suite every page is a test (``tests/docs/test_examples.py``).
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from markdown_it import MarkdownIt

HERE = Path(__file__).resolve().parent
#: Pages that live at the root of the repository.
ROOT_PAGES = {
    "readme": "README.md",
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
}
#: The parts that it adds are pickled, so each needs a module of its own: another test runs them.
ELSEWHERE = {"contributing"}
#: The languages of the blocks that run.
RUN = ("python", "pycon", "console")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: A command that is nothing but ``mercer``, whose output may go to files.
MERCER = re.compile(r"mercer [^|&;<`$*?~]*")
REDIRECTED = {">": contextlib.redirect_stdout, "2>": contextlib.redirect_stderr}
SETTINGS = {
    # Small systems: threads of BLAS would only wait for each other where the machine is busy.
    "OPENBLAS_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


class Block(NamedTuple):
    """A block of code, the line of the file where it begins, and the text block after it."""

    language: str
    code: str
    line: int
    printed: str


def file_of(page: str) -> Path:
    """Return the file that has the text of a page."""
    return HERE.parent / ROOT_PAGES[page] if page in ROOT_PAGES else HERE / f"{page}.md"


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that run: it stays plain Markdown.

    ``python`` is run, and a ``text`` block right after it is what it prints; ``pycon`` is a session
    with ``>>>``, and ``console`` one with ``$``. Blocks in other languages are not run (``sh`` for
    what installs or takes long).
    """
    tokens = MarkdownIt().parse(file_of(page).read_text(encoding="utf-8"))
    found = []
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "fence" and token.info in RUN:
            prints = after is not None and after.type == "fence" and after.info == "text"
            line = token.map[0] + 1 if token.map else 0
            printed = after.content if prints and after is not None else ""
            found.append(Block(token.info, token.content, line, printed))
    return found


def pages() -> list[str]:
    """Return the names of the pages with blocks that run."""
    names = {path.relative_to(HERE).with_suffix("").as_posix() for path in HERE.rglob("*.md")}
    names = {name for name in names if not name.startswith("_build/")} - ELSEWHERE
    return sorted(name for name in names if blocks(name))


def run(page: str) -> None:
    """Run the blocks of a page; raise what an example raises, or that it prints something else."""
    names: dict[str, Any] = {"sh": sh}
    with mock.patch.dict(os.environ, {**SETTINGS, **os.environ}), empty_folder():
        for block in blocks(page):
            if block.language == "python":
                run_python(block, file_of(page), names)
            else:
                run_session(block, file_of(page), names)


def run_python(block: Block, path: Path, names: dict[str, Any]) -> None:
    """Run a block of statements and compare what it prints."""
    code = compile("\n" * block.line + block.code, str(path), "exec")  # with the lines of the page
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    example = doctest.Example(block.code, without_measures(block.printed))
    checker, got = doctest.OutputChecker(), printed.getvalue()
    flags = FLAGS | doctest.DONT_ACCEPT_BLANKLINE
    if not checker.check_output(example.want, got, flags):
        difference = checker.output_difference(example, got, flags)
        raise AssertionError(f"{path}:{block.line} prints something else\n{difference}")


def run_session(block: Block, path: Path, names: dict[str, Any]) -> None:
    """Run a session, line by line with what each prints."""
    text = session(block.code) if block.language == "console" else block.code
    text = without_measures(text)
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), block.line)
    test.globs = names
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    if runner.run(test, out=told.append, clear_globs=False).failed:
        raise AssertionError("".join(told))


def session(text: str) -> str:
    """Turn ``$ command`` into ``>>> sh('command')``, and keep what it prints."""
    text = re.sub(r"\n(?=\n)", "\n<BLANKLINE>", text)
    return re.sub(r"^\$ (.*)$", lambda line: f">>> sh({line[1]!r})", text, flags=re.M)


def without_measures(text: str) -> str:
    """Put an ellipsis in the place of seconds and bytes: they are not compared."""
    # Of the whole process, which may have run other pages before: not even its unit is known.
    text = re.sub(r"(peak memory +)[\d.]+ [kMG]?B\b", r"\1...", text)
    text = re.sub(r"\b[\d.]+ (s|[kMG]?B)\b", r"... \1", text)
    return re.sub(r"(?<= )\d+\.\d\d$", "...", text, flags=re.M)


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """Work in a new folder; then go back, remove it, and close figures."""
    # Windows keeps files that are still mapped into memory.
    with tempfile.TemporaryDirectory(prefix="mercer-docs-", ignore_cleanup_errors=True) as folder:
        with contextlib.chdir(folder):
            yield
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


def sh(command: str) -> None:
    """Run a command of a POSIX shell and print all that it writes.

    One that is nothing but ``mercer`` runs in this process, since most take less time than to start
    Python; ``mercer`` in a pipe is a process.
    """
    with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        written = run_mercer(command) if MERCER.fullmatch(command) else run_shell(command)
    print("\n".join(line.rstrip() for line in written.splitlines()))


def run_mercer(command: str) -> str:
    """Return what a command writes, but for what goes to files."""
    from mercer.cli import main  # BLAS reads the settings when it is first imported

    words, written = shlex.split(command), io.StringIO()
    with contextlib.ExitStack() as stack:
        for sign, redirected in REDIRECTED.items():
            stream: io.TextIOBase = written
            if sign in words:
                at = words.index(sign)
                stream = stack.enter_context(open(words[at + 1], "w", encoding="utf-8"))
                del words[at : at + 2]
            stack.enter_context(redirected(stream))
        stack.enter_context(mock.patch.object(sys, "argv", words))
        stack.enter_context(contextlib.suppress(SystemExit))
        main()
    return written.getvalue()


def run_shell(command: str) -> str:
    """Return what a command writes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        [shutil.which("bash") or "sh", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "PATH": path},
        timeout=300,
        check=False,
    ).stdout


if __name__ == "__main__":
    for name in sys.argv[1:] or pages():
        start = time.perf_counter()
        run(name)
        print(f"{time.perf_counter() - start:6.1f} s  {name}", flush=True)
