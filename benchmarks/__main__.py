"""Run benchmarks and write their tables: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import joblib
from experiments.scaffold.records import write_text
from experiments.scaffold.runner import check_names, options

from benchmarks import (
    accuracy,
    against,
    cluster_memory,
    crossing,
    exact,
    full_kernel,
    memory,
    path,
    pool,
    products,
    ranking,
    shards,
    speed,
)


@dataclass(frozen=True)
class Section:
    """A title, what makes the paragraphs and tables below it, and its repeats if it has any."""

    title: str
    run: Callable[..., list[object]]
    repeats: int | None = 3

    def text(self, repeats: int | None) -> str:
        """Run it and return its text."""
        given = [] if self.repeats is None else [repeats or self.repeats]
        return "\n\n".join([f"## {self.title}", *map(str, self.run(*given))])


SECTIONS = {
    "speed": Section("Fit and predict", speed.run),
    "accuracy": Section("Accuracy of float32", accuracy.run, None),
    "path": Section("Choosing alpha", path.run),
    "full": Section("The full kernel", full_kernel.run),
    "products": Section("Products instead of moments", products.run),
    "crossing": Section("Where products overtake moments", crossing.run, None),
    "exact": Section("The exact kernel beyond memory", exact.run),
    "memory": Section("Memory", memory.run, None),
    "shards": Section("Shards", shards.run),
    "ranking": Section("Ranking", ranking.run),
    "pool": Section("Scores of a pool", pool.run, None),
    "cluster": Section("Memory of workers", cluster_memory.run, None),
}
RESULTS = Path(__file__).with_name("RESULTS.md")
MARK = "<!-- {} -->"


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = options("benchmarks", SECTIONS, "section")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="CHECKOUT",
        help=f"compare with another checkout: {', '.join(against.SECTIONS)}",
    )
    asked = parser.parse_args(arguments)
    check_names(parser, asked.names, SECTIONS if asked.against is None else against.SECTIONS)
    if asked.against is not None:
        if not (asked.against / "src" / "mercer").is_dir():
            parser.error(f"{asked.against} is no checkout: it has no src/mercer")
        names = asked.names or list(against.SECTIONS)
        against.main(asked.against, names, asked.small, asked.repeats, asked.out)
        return
    if asked.small:
        parser.error("--small goes with --against")
    results = asked.out or RESULTS
    kept = read_sections(results)
    for name in asked.names or SECTIONS:
        print(SECTIONS[name].title, flush=True)
        kept[name] = SECTIONS[name].text(asked.repeats)
        write_text(results, page(kept))
    print(results.read_text(encoding="utf-8"))


def read_sections(results: Path) -> dict[str, str]:
    """Return the sections of a file of results, so that some can be run alone."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    marks = {MARK.format(name): name for name in SECTIONS}
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
        if line in marks:
            current = sections[marks[line]] = []
        else:
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def page(sections: dict[str, str]) -> str:
    """Return all sections in their order."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    lines = [
        "# Benchmarks",
        "",
        "Written by `make benchmarks`; peers run in the same process, interleaved.",
        f"Machine: {joblib.cpu_count()} cores, {platform.machine()}; Python "
        f"{platform.python_version()}, {versions}.",
        "Speeds are those of a shared virtual machine: read the ratios.",
    ]
    for name in SECTIONS:
        if name in sections:
            lines += ["", MARK.format(name), sections[name]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
