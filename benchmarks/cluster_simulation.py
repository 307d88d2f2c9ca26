"""Fits of 1e8 to 1e10 rows on 10 to 1,000 workers, simulated from what was measured here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from experiments.scaffold import figures
from experiments.scaffold.figures import BLUE, GREEN, ORANGE
from experiments.scaffold.tables import Table
from experiments.scaffold.timing import one_thread
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from scipy.linalg import cho_factor, cho_solve

from benchmarks.cluster_events import Link, Simulation
from benchmarks.data import FIT_ONLY
from mercer import Gaussian, KernelRegressor, Landmarks
from mercer.engines import ThreadEngine

FUNCTIONS, COLUMNS, ROUNDS = 2000, 20, 8
WORKERS = (10, 20, 50, 100, 200, 500, 1000)
ROWS = (10**8, 10**9, 10**10)
#: Shards of each worker: a lost worker then costs little, and workers end at the same time.
SHARDS = 8
#: Rows and functions that are measured.
SAMPLE, SMALL = 4000, 1000
#: Numbers in a large message that is measured.
LARGE = 2_000_000
FOLDER = Path(__file__).with_name("figures")
NAME = "cluster_simulation.png"


@dataclass(frozen=True)
class Rates:
    """What tasks and messages take: measured here, on one core of one worker process.

    ``row`` is the time of one row in the moments, ``number`` that of adding one number, and
    ``cube`` that of a solve, divided by M^3; ``driver_cube`` counts all cores of the driver.
    """

    functions: int
    columns: int
    row: float
    number: float
    cube: float
    driver_cube: float
    link: Link

    @property
    def solve(self) -> float:
        """Seconds of a worker to factor a system and solve it."""
        return self.cube * self.functions**3

    @property
    def triangle(self) -> float:
        """Numbers in the moments of a shard."""
        return self.functions * (self.functions + 1) / 2 + 4 * self.functions


def simulated(combine: str, rows: float, workers: int, rates: Rates) -> float:
    """Return the seconds of a fit with a fixed alpha. Worker 0 is the driver."""
    cluster = Simulation(rates.link)
    basis = _broadcast(cluster, workers, 8.0 * rates.functions * rates.columns)
    last = BUILD[combine](cluster, basis, rows, workers, rates)
    return cluster.run()[last]


def _broadcast(cluster: Simulation, workers: int, size: float) -> list[int]:
    """Send the basis from the driver; workers copy it from each other, as a tree."""
    got = [cluster.add(0, 0.0)]
    for worker in range(1, workers + 1):
        got.append(cluster.add(worker, 0.0, [(got[worker // 2], size)]))
    return got


def _parts(
    cluster: Simulation, basis: list[int], rows: float, workers: int, rates: Rates
) -> list[int]:
    """Sum the moments of every worker's shards; return its last task."""
    each = rows / workers / SHARDS * rates.row
    found = []
    for worker in range(1, workers + 1):
        # A task is a message of the driver, which is one of many.
        asked = [(basis[0], 2000.0), (basis[worker], 0.0)]
        shards = [cluster.add(worker, each, asked) for _ in range(SHARDS)]
        added = (SHARDS - 1) * rates.triangle * rates.number
        found.append(cluster.add(worker, added, [(shard, 0.0) for shard in shards]))
    return found


def _sum(cluster: Simulation, basis: list[int], rows: float, workers: int, rates: Rates) -> int:
    """Add triangles as a tree over workers, and solve once."""
    left = _parts(cluster, basis, rows, workers, rates)
    size, seconds = 8.0 * rates.triangle, rates.triangle * rates.number
    while len(left) > 1:
        pairs = zip(left[0:-1:2], left[1::2], strict=False)
        added = [
            cluster.add(cluster.tasks[a].worker, seconds, [(a, 0.0), (b, size)]) for a, b in pairs
        ]
        left = added + left[len(left) // 2 * 2 :]
    return cluster.add(0, rates.driver_cube * rates.functions**3, [(left[0], size)])


def _average(cluster: Simulation, basis: list[int], rows: float, workers: int, rates: Rates) -> int:
    """Solve at each worker, and send coefficients."""
    parts = _parts(cluster, basis, rows, workers, rates)
    # Shards factor the Gram matrix of the landmarks, which is not sent, and their own system.
    models = [
        cluster.add(cluster.tasks[part].worker, 2 * rates.solve, [(part, 0)]) for part in parts
    ]
    return cluster.add(0, 0.0, [(model, 8.0 * rates.functions) for model in models])


def _rounds(cluster: Simulation, basis: list[int], rows: float, workers: int, rates: Rates) -> int:
    """Factor at each worker; then each round sends two vectors to it, and gets two."""
    size = 8.0 * rates.functions
    average = _average(cluster, basis, rows, workers, rates)
    product = 2 * rates.functions**2 * rates.number
    for _ in range(2 * ROUNDS):
        answers = [
            cluster.add(worker, product, [(average, size)]) for worker in range(1, workers + 1)
        ]
        average = cluster.add(0, 0.0, [(answer, size) for answer in answers])
    return average


#: What each combination adds to a simulation; it returns the last task.
BUILD: dict[str, Callable[..., int]] = {"sum": _sum, "average": _average, "rounds": _rounds}
#: Color and line of each.
LINES = {"sum": (BLUE, "-"), "average": (GREEN, "--"), "rounds": (ORANGE, "-")}


def measured(repeats: int) -> Rates:
    """Measure tasks in this process on one core, and messages between two worker processes."""
    with one_thread():
        row = min(_moments() for _ in range(repeats)) / SAMPLE
        cube = _fastest(lambda: _solve(SMALL), repeats) / SMALL**3
        big = np.ones(LARGE)
        number = _fastest(lambda: big + big, repeats) / LARGE
    driver = _fastest(lambda: _solve(SMALL), repeats) / SMALL**3
    return Rates(FUNCTIONS, COLUMNS, row, number, cube, driver, measured_link(repeats))


def _moments() -> float:
    """Return the seconds of the moments of a sample, as a shard sums them."""
    X = np.random.default_rng(0).standard_normal((SAMPLE, COLUMNS))
    model = KernelRegressor(
        Gaussian(5.0),
        Landmarks(FUNCTIONS),
        1e-6,
        shards=1,
        engine=ThreadEngine(workers=1),
        random_state=0,
        **FIT_ONLY,
    )
    return float(model.fit(X, X[:, 0]).fit_.seconds["moments"])


def _solve(size: int) -> Any:
    A = np.full((size, size), 0.5)
    A[np.diag_indices(size)] = 2.0
    return cho_solve(cho_factor(A, lower=True), A)


def _fastest(run: Callable[[], Any], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def measured_link(repeats: int) -> Link:
    """Time tasks without work, and results that one worker process sends to another."""
    from distributed import Client, LocalCluster, wait

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster, set_as_default=False) as client, client.as_current():
        here, there = sorted(client.scheduler_info()["workers"])

        def message(count: int) -> None:
            wait(client.map(abs, range(count), pure=False))

        def move(size: int) -> float:
            value = client.submit(np.zeros, size, workers=[here], pure=False)
            wait(value)
            start = time.perf_counter()
            wait(client.submit(len, value, workers=[there], pure=False))
            return time.perf_counter() - start

        message(50)
        move(10)
        few, many = (_fastest(lambda n=n: message(n), repeats) for n in (50, 250))
        each = (many - few) / 200
        small, large = (min(move(size) for _ in range(repeats)) for size in (10, LARGE))
        bandwidth = 8 * LARGE / max(large - small, 1e-9)
    return Link(max(each, 1e-5), bandwidth, small / 2)


def run(repeats: int) -> list[object]:
    rates = measured(repeats)
    found = {
        (combine, rows, workers): simulated(combine, rows, workers, rates)
        for combine in BUILD
        for rows in ROWS
        for workers in WORKERS
    }
    draw(found, rates, FOLDER)
    table = Table(["rows", "combination", *(f"{workers:,} workers" for workers in WORKERS)])
    for rows in ROWS:
        for combine in BUILD:
            cells = []
            for workers in WORKERS:
                seconds = found[combine, rows, workers]
                share = rows * rates.row / workers / seconds
                cells.append(f"{_duration(seconds)} ({share:.0%})")
            table.add([f"{rows:.0e}", combine, *cells])
    return [
        f"Simulated from what was measured here: with {FUNCTIONS:,} landmarks and {COLUMNS} "
        f"columns, a row takes {1e6 * rates.row:.0f} microseconds of a core and a solve "
        f"{rates.solve:.1f} s; a message takes {1e3 * rates.link.message:.1f} ms of both ends and "
        f"{1e3 * rates.link.latency:.0f} ms on the way, at {rates.link.bandwidth / 1e6:.0f} MB/s. "
        f"Workers have one core and "
        f"{SHARDS} shards each, alpha is fixed, and there are {ROUNDS} rounds. Time to fit, and "
        f"the share of it that rows take: 100 % is the ideal.",
        table,
        f"![Share of the ideal speed against workers](figures/{NAME})",
    ]


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def draw(found: dict[tuple[str, int, int], float], rates: Rates, folder: Path) -> None:
    """Draw a panel for each number of rows: the part of the ideal speed that workers reach."""
    with rc_context(figures.STYLE):
        figure, axes = figures.panels((10.5, 3.9), 1, len(ROWS), (0.06, 0.08), squeeze=False)
        for rows, ax in zip(ROWS, axes.flat, strict=True):
            panel(ax, rows, found, rates)
        axes.flat[0].set_ylabel("share of the ideal speed")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figures.save(figure, folder / NAME)


def panel(ax: Axes, rows: int, found: dict[tuple[str, int, int], float], rates: Rates) -> None:
    """Draw one number of rows, and write how long the fit takes with fewest and most workers."""
    for (combine, (color, line)), marker in zip(LINES.items(), "osD", strict=True):
        shares = [
            100 * rows * rates.row / workers / found[combine, rows, workers] for workers in WORKERS
        ]
        ax.plot(WORKERS, shares, line, color=color, marker=marker, label=combine)
    for workers, side in ((WORKERS[0], "left"), (WORKERS[-1], "right")):
        seconds = _duration(found["sum", rows, workers])
        ax.annotate(
            f"sum: {seconds}", (workers, 4), ha=side, color=LINES["sum"][0], annotation_clip=False
        )
    ax.set_xscale("log")
    ax.set_xticks(WORKERS, [f"{workers:,}" for workers in WORKERS], fontsize=8)
    ax.minorticks_off()
    ax.set_ylim(0, 104)
    ax.yaxis.set_major_formatter(PercentFormatter())
    ax.set_title(f"{rows:,} rows")
    ax.set_xlabel("workers")
