"""Run benchmarks and write their tables: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    accuracy,
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
from mercer.engines import available_cores
from mercer.validation import closest

SECTIONS = {
    "speed": ("Fit and predict", speed.run),
    "accuracy": ("Accuracy of float32", accuracy.run),
    "path": ("Choosing alpha", path.run),
    "full": ("The full kernel", full_kernel.run),
    "products": ("Products instead of moments", products.run),
    "crossing": ("Where products overtake moments", crossing.run),
    "exact": ("The exact kernel beyond memory", exact.run),
    "memory": ("Memory", memory.run),
    "shards": ("Shards", shards.run),
    "ranking": ("Ranking", ranking.run),
    "pool": ("Scores of a pool", pool.run),
    "cluster": ("Memory of workers", cluster_memory.run),
}
RESULTS = Path(__file__).with_name("RESULTS.md")
MARK = "<!-- {} -->"


def main(names: list[str]) -> None:
    for name in names:
        if name not in SECTIONS:
            raise SystemExit(f"unknown benchmark {name!r}{closest(name, SECTIONS)}")
    kept = read_sections()
    for name in names or list(SECTIONS):
        title, run = SECTIONS[name]
        print(title, flush=True)
        kept[name] = [f"## {title}", "", *run()]
        write(kept)
    print(RESULTS.read_text())


def read_sections() -> dict[str, list[str]]:
    """Return the sections of the committed table, so that some can be run alone."""
    sections: dict[str, list[str]] = {}
    if RESULTS.exists():
        current: list[str] = []
        for line in RESULTS.read_text().splitlines():
            for name in SECTIONS:
                if line == MARK.format(name):
                    current = sections[name] = []
                    break
            else:
                current.append(line)
    return {name: "\n".join(lines).strip().splitlines() for name, lines in sections.items()}


def write(sections: dict[str, list[str]]) -> None:
    """Write all sections in their order."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    lines = [
        "# Benchmarks",
        "",
        "Written by `make benchmarks`; peers run in the same process, interleaved.",
        f"Machine: {available_cores()} cores, {platform.machine()}; Python "
        f"{platform.python_version()}, {versions}.",
        "Speeds are those of a shared virtual machine: read the ratios.",
    ]
    for name in SECTIONS:
        if name in sections:
            lines += ["", MARK.format(name), *sections[name]]
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
