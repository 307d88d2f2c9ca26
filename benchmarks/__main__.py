"""Run benchmarks and write their tables: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import platform
from argparse import ArgumentParser, Namespace
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
    cluster_simulation,
    crossing,
    default_fits,
    exact,
    full_kernel,
    linear,
    memory,
    mixed,
    neighbors,
    path,
    pool,
    predict,
    products,
    ranking,
    roofline,
    scaling,
    serving,
    shards,
    sizes,
    speed,
    tables,
    uncertainty,
    wide,
    wide_data,
)
from benchmarks.table_fit import ALL_METHODS


@dataclass(frozen=True)
class Section:
    """A title, what makes the paragraphs and tables below it, and its repeats if it has any."""

    title: str
    run: Callable[..., list[object]]
    repeats: int | None = 3

    def text(self, repeats: int | None, *further: object) -> str:
        """Run it and return its text."""
        given = [*further] if self.repeats is None else [repeats or self.repeats, *further]
        return "\n\n".join([f"## {self.title}", *map(str, self.run(*given))])


#: The section that has options of its own.
TABLES = "tables"
SECTIONS = {
    TABLES: Section("All defaults on raw tables", tables.run, None),
    "mixed": Section("Tables with categories, dates and gaps", mixed.run, None),
    "neighbors": Section("Other kernel methods", neighbors.run, None),
    "speed": Section("Fit and predict", speed.run),
    "predict": Section("Predict", predict.run, 7),
    "serving": Section("Serving", serving.run, 7),
    "accuracy": Section("Accuracy of float32", accuracy.run, None),
    "path": Section("Choosing alpha", path.run),
    "sizes": Section("How many functions", sizes.run, 1),
    "full": Section("The full kernel", full_kernel.run),
    "products": Section("Products instead of moments", products.run),
    "crossing": Section("Where products overtake moments", crossing.run, None),
    "exact": Section("The exact kernel beyond memory", exact.run),
    "memory": Section("Memory", memory.run, None),
    "linear": Section("Linear in the rows", linear.run, None),
    "roofline": Section("Stages of a fit, and the limits of the machine", roofline.run, None),
    "shards": Section("Shards", shards.run),
    "ranking": Section("Ranking", ranking.run),
    "pool": Section("Scores of a pool", pool.run, None),
    "uncertainty": Section("Intervals and probabilities", uncertainty.run, 5),
    "wide": Section("Wide text files", wide.run, None),
    "columns": Section("Very many columns", wide_data.run),
    "cluster": Section("Memory of workers", cluster_memory.run, None),
    "scaling": Section("Worker processes", scaling.run),
    "defaults": Section("Default fits on a cluster", default_fits.run),
    "simulation": Section("A cluster, simulated", cluster_simulation.run, 5),
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
    add_table_options(parser)
    asked = parser.parse_args(arguments)
    check_names(parser, asked.names, SECTIONS if asked.against is None else against.SECTIONS)
    if asked.against is not None:
        if not (asked.against / "src" / "mercer").is_dir():
            parser.error(f"{asked.against} is no checkout: it has no src/mercer")
        names = asked.names or list(against.SECTIONS)
        against.main(asked.against, names, asked.small, asked.repeats, asked.out)
        return
    of_tables = table_options(parser, asked)
    if asked.small:
        if asked.names != [TABLES]:
            parser.error("--small goes with --against, or with tables alone")
        text = SECTIONS[TABLES].text(None, of_tables)
        if asked.out is not None:
            write_text(asked.out, text + "\n")
        print(text)
        return
    results = asked.out or RESULTS
    kept = read_sections(results)
    for name in asked.names or SECTIONS:
        print(SECTIONS[name].title, flush=True)
        further = [of_tables] if name == TABLES else []
        kept[name] = SECTIONS[name].text(asked.repeats, *further)
        write_text(results, page(kept))
    print(results.read_text(encoding="utf-8"))


def add_table_options(parser: ArgumentParser) -> None:
    """Add what ``tables`` can be asked for."""
    group = parser.add_argument_group("tables", "what has a record is not measured again")
    group.add_argument("--only", nargs="+", default=[], metavar="SET", help="only these sets")
    group.add_argument("--methods", nargs="+", default=[], metavar="METHOD", help="only these")
    group.add_argument("--splits", type=int, help="only the first so many splits")
    group.add_argument(
        "--again", nargs="+", default=[], metavar="METHOD", help="drop the records of these first"
    )
    group.add_argument("--draw", action="store_true", help="only write, of what is kept")


def table_options(parser: ArgumentParser, asked: Namespace) -> tables.Asked:
    """Return what ``tables`` is asked for; refuse names that are not known."""
    options = {
        name: getattr(asked, name) for name in ("only", "methods", "splits", "again", "draw")
    }
    if any(options.values()) and TABLES not in asked.names:
        parser.error(f"{', '.join(f'--{name}' for name in options)} go with tables")
    wanted = tables.Asked(**options, small=asked.small)
    check_names(parser, asked.only, wanted.known)
    check_names(parser, [*asked.methods, *asked.again], ALL_METHODS)
    return wanted


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
