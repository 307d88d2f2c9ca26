"""One command for every experiment: run its parts, keep what they measure, write tables, draw."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.figure import Figure

from experiments.scaffold import figures
from experiments.scaffold.data import AbsentError
from experiments.scaffold.records import as_csv, from_csv, write_text

#: Rows of one kind, which go to ``<part>.csv``, or the text of each file by its name.
Kept: TypeAlias = Sequence[Any] | Mapping[str, str]
#: Makes a table, a figure, or nothing where its part was not run.
Maker: TypeAlias = Callable[[Any], str | Figure | None]


_print = partial(print, flush=True)


class Progress:
    """Shows lines, each with the seconds since the start."""

    def __init__(self, show: Callable[[str], object] = _print) -> None:
        self.show = show
        self.start = time.perf_counter()

    def __call__(self, line: str) -> None:
        """Show a line."""
        self.show(f"{time.perf_counter() - self.start:6.0f} s  {line}")

    def count(self, what: str, done: int, total: int) -> None:
        """Tell how far a long loop is: about ten lines of it."""
        if done == total or done * 10 // total > (done - 1) * 10 // total:
            self(f"{what}: {done} of {total}")


#: Shows nothing.
QUIET = Progress(lambda line: None)


@dataclass(frozen=True)
class Job:
    """What a part is given: how much to run, where it is kept, and whom to tell."""

    part: str
    size: Any
    folder: Path
    resume: bool = False
    progress: Progress = QUIET

    def keep(self, found: Kept) -> None:
        """Write what was measured so far: a long part calls this as it goes."""
        texts = found if isinstance(found, Mapping) else {f"{self.part}.csv": as_csv(found)}
        for name, text in texts.items():
            write_text(self.folder / name, text)

    def before(self, kind: type) -> list[Any]:
        """Return the rows of an earlier run that this one goes on from."""
        return from_csv(self.folder / f"{self.part}.csv", kind) if self.resume else []


@dataclass(frozen=True)
class Experiment:
    """Parts to run, files to write from what they kept, and how much there is in full and small.

    ``file`` is that of its ``__main__`` module. Both sizes are dataclasses with a field
    ``repeats``. A part returns what is to be kept. ``read`` gets a folder and the size that was
    run, and returns what the makers of ``outputs`` get, nothing if nothing is kept. Parts named in
    ``goes_on`` resume in the middle.
    """

    file: str
    parts: Mapping[str, Callable[[Job], Kept]]
    read: Callable[[Path, Any], Any]
    outputs: Mapping[str, Maker]
    full: Any
    small: Any
    goes_on: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Where the results of the paper are."""
        return Path(self.file).resolve().parent

    @property
    def command(self) -> str:
        """The module that is run."""
        return f"experiments.{self.folder.name}"

    def run(
        self,
        folder: Path,
        size: Any,
        parts: Sequence[str] = (),
        resume: bool = False,
        progress: Progress = QUIET,
    ) -> None:
        """Run parts and keep what they measure, or say that their data are not at hand."""
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts or self.parts:
            if resume and part not in self.goes_on and is_kept(folder, part):
                progress(f"{part}: kept from before")
                continue
            job = Job(part, size, folder, resume, progress)
            try:
                found = self.parts[part](job)
            except AbsentError as error:
                progress(f"{part}: skipped, as its data are not at hand: {error}")
                continue
            if found:
                job.keep(found)
            progress(f"{part}: done")

    def write(self, folder: Path, size: Any) -> list[str]:
        """Write tables and figures from what is kept in a folder; return their names."""
        results, written = self.read(folder, size), []
        if not results:
            return written
        for name, make in self.outputs.items():
            with rc_context(figures.STYLE):
                made = make(results)
                if isinstance(made, Figure):
                    figures.save(made, folder / name)
            if isinstance(made, str):
                write_text(folder / name, made)
            if made is not None:
                written.append(name)
        return written

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Do what the command line asks for."""
        parser = options(self.command, self.parts, "part")
        parser.add_argument(
            "--draw", action="store_true", help="only tables and figures, of what is kept"
        )
        parser.add_argument(
            "--resume", action="store_true", help="run only what is not kept from before"
        )
        asked = parser.parse_args(arguments)
        check_names(parser, asked.names, self.parts)
        if asked.small and asked.out is None and not asked.draw:
            parser.error("--small needs --out: the results of the paper stay as they are")
        size = self.small if asked.small else self.full
        if asked.repeats is not None:
            size = replace(size, repeats=asked.repeats)
        folder = asked.out or self.folder
        if not asked.draw:
            self.run(folder, size, asked.names, asked.resume, Progress())
        written = self.write(folder, size)
        print(f"wrote {', '.join(written)} to {folder}" if written else "there is nothing to write")


def is_kept(folder: Path, part: str) -> bool:
    """Return whether an earlier run has kept a part."""
    return any((folder / f"{part}.{kind}").is_file() for kind in ("csv", "json"))


def options(command: str, names: Mapping[str, Any], what: str) -> ArgumentParser:
    """Return the options that experiments and benchmarks share."""
    parser = ArgumentParser(prog=f"python -m {command}", allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar=what, help=f"{', '.join(names)}; default: all")
    parser.add_argument("--small", action="store_true", help="a miniature, to see that all works")
    parser.add_argument("--repeats", type=int, help="how often everything is measured")
    parser.add_argument("--out", type=Path, help="where results are written")
    return parser


def check_names(parser: ArgumentParser, asked: Sequence[str], known: Mapping[str, Any]) -> None:
    """Refuse a name that is not known, before anything is run."""
    for name in asked:
        if name not in known:
            parser.error(f"unknown name {name!r}: choose from {', '.join(known)}")


def whole_part(run: Callable[[Any, Progress], Kept]) -> Callable[[Job], Kept]:
    """Return a part that needs only its size and someone to tell."""
    return lambda job: run(job.size, job.progress)
