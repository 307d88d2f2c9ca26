"""This checkout against another one, in alternation: seconds, peaks and results, as ratios.

Every measurement is made by the public interface, in processes that import the library of one
checkout or of the other. Both are measured right after each other, time and again, and what counts
is the ratio within such a pair: a machine that is slow for a while is slow for both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from experiments.scaffold.records import write_text
from experiments.scaffold.tables import Table, bytes_text
from experiments.scaffold.timing import ROOT, ChildError, environment, fresh

from benchmarks import measures
from benchmarks.measures import Fit, InFile, Sizes

#: Sections, and what is measured in each.
SECTIONS = {
    "speed": measures.speed,
    "predict": measures.predict,
    "path": measures.path,
    "products": measures.products,
    "steps": measures.steps,
    "shards": measures.shards,
    "memory": measures.memory,
}
OLD, NEW = "old", "new"


@dataclass
class Pairs:
    """What was measured of one thing in both checkouts, pair by pair."""

    unit: str
    values: dict[str, list[float]] = field(default_factory=lambda: {OLD: [], NEW: []})
    results: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def ratios(self) -> list[float]:
        """New over old, within each pair."""
        return [new / old for old, new in zip(*self.values.values(), strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    def cells(self) -> list[str]:
        """Return the medians, their ratio with its range, and how far results are apart."""
        if self.failed:
            told = [f"{which}: {message}" for which, message in self.failed.items()]
            return ["failed"] * 2 + ["-"] * 2 + ["; ".join(told)]
        middle = [statistics.median(self.values[which]) for which in (OLD, NEW)]
        write = bytes_text if self.unit == "bytes" else seconds_text
        low, high = min(self.ratios), max(self.ratios)
        return [*map(write, middle), f"{self.ratio:.3f}", f"{low:.3f} to {high:.3f}", self.apart()]

    def apart(self) -> str:
        """Return the largest difference of results, in units of their spread."""
        if len(self.results) < 2:
            return ""
        old, new = (np.array(self.results[which]) for which in (OLD, NEW))
        if np.array_equal(old, new):
            return "same bits"
        return f"{np.abs(old - new).max() / max(float(np.std(old)), 1e-300):.0e}"


def seconds_text(seconds: float) -> str:
    """Return seconds with three digits after the point, or milliseconds.

    >>> seconds_text(0.25), seconds_text(0.00031)
    ('0.250 s', '0.310 ms')
    """
    return f"{seconds:.3f} s" if seconds >= 0.01 else f"{1e3 * seconds:.3f} ms"


class Process:
    """A worker of one checkout, which is started again where it ends before its time."""

    def __init__(self, src: Path, folder: Path, alone: bool) -> None:
        self.src, self.folder, self.alone = src, folder, alone
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        """Start the worker."""
        command = ["-W", "ignore", "-m", "benchmarks.worker", str(self.src), str(self.folder)]
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment(self.src, self.alone),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, or that the worker has died of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.process = self.start()
            return {"error": f"the process ended with code {code}"}
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process, which ends when nothing more is asked."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main(
    checkout: Path, names: Sequence[str], small: bool, repeats: int | None, out: Path | None
) -> None:
    """Measure sections, and print a table; write it to a file as well where one is named."""
    sizes = measures.SMALL if small else measures.FULL
    found = compare(checkout / "src", ROOT / "src", names, sizes, repeats or sizes.repeats)
    table = Table(["section", "measured", OLD, NEW, "new / old", "range", "results differ by"])
    for (section, name), pairs in found.items():
        table.add([section, name, *pairs.cells()])
    for section in names:
        ratios = [one.ratio for (its, _), one in found.items() if its == section and not one.failed]
        mean = f"{statistics.geometric_mean(ratios):.3f}" if ratios else "-"
        table.add([section, "geometric mean of ratios", "", "", mean, "", ""])
    text = "\n\n".join([about(checkout, sizes, repeats or sizes.repeats), table.aligned()])
    print(text)
    if out is not None:
        write_text(out, text + "\n")


def about(checkout: Path, sizes: Sizes, repeats: int) -> str:
    """Return what the table shows."""
    seconds = "of the processor, on one thread" if sizes.alone else "on all cores"
    return (
        f"Old is {checkout.resolve()}, new is {ROOT}. Medians of {repeats} pairs, old and new in "
        f"turns, seconds {seconds}; the ratio is the median of those within pairs, "
        "with the least and the largest. Results are predictions, and differences of them are in "
        "units of their standard deviation."
    )


def compare(
    old: Path, new: Path, names: Sequence[str], sizes: Sizes, repeats: int
) -> dict[tuple[str, str], Pairs]:
    """Measure sections with the libraries of two folders."""
    found: dict[tuple[str, str], Pairs] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for section in names:
            wanted = SECTIONS[section](sizes, folder)
            fits = {key: one for key, one in wanted.items() if isinstance(one, Fit)}
            files = {key: one for key, one in wanted.items() if isinstance(one, InFile)}
            if fits:
                with workers(old, new, folder, sizes.alone) as both:
                    for key, one in fits.items():
                        found[section, key] = measure_fit(key, one, both, repeats, sizes.clock)
                        tell(section, key, found[section, key])
            for key, one in files.items():
                peaks, seconds = measure_file(one, {OLD: old, NEW: new}, repeats, sizes)
                found[section, f"{key}: peak"] = peaks
                found[section, f"{key}: fit"] = seconds
                tell(section, key, peaks)
    return found


@contextmanager
def workers(old: Path, new: Path, folder: Path, alone: bool) -> Iterator[dict[str, Process]]:
    """Start a worker for each checkout, and end both."""
    with ExitStack() as stack:
        both = {}
        for which, src in ((OLD, old), (NEW, new)):
            both[which] = Process(src, folder, alone)
            stack.callback(both[which].close)
        yield both


def turns(repeats: int) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the order within each pair: each is first as often as the other.

    >>> list(turns(2))
    [(0, ('old', 'new')), (1, ('new', 'old'))]
    """
    for number in range(repeats):
        yield number, ((OLD, NEW), (NEW, OLD))[number % 2]


def measure_fit(
    name: str, wanted: Fit, both: dict[str, Process], repeats: int, clock: str
) -> Pairs:
    """Fit or predict in turns."""
    pairs = Pairs("seconds")
    for number, order in turns(repeats):
        for which in order:
            answer = both[which].ask(wanted.request(name, value=number == 0))
            if "error" in answer:
                pairs.failed[which] = answer["error"]
            else:
                pairs.values[which].append(answer[clock])
                if number == 0:
                    pairs.results[which] = answer["value"]
        if pairs.failed:
            break
    return pairs


def measure_file(
    wanted: InFile, sources: dict[str, Path], repeats: int, sizes: Sizes
) -> tuple[Pairs, Pairs]:
    """Fit rows of a file in fresh processes, in turns; return their peaks and seconds."""
    peaks, seconds = Pairs("bytes"), Pairs("seconds")
    for _, order in turns(repeats):
        for which in order:
            try:
                task, src = "public_fit", sources[which]
                found = fresh("benchmarks.child", task, wanted.settings, src, sizes.alone)
            except ChildError as error:
                peaks.failed[which] = seconds.failed[which] = str(error)
            else:
                peaks.values[which].append(found["peak"])
                seconds.values[which].append(found[sizes.clock])
        if peaks.failed:
            break
    return peaks, seconds


def tell(section: str, name: str, pairs: Pairs) -> None:
    """Show what was measured, as it comes."""
    print(f"  {section}, {name}: {', '.join(pairs.cells()[:4])}", flush=True)
