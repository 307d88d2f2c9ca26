"""What a machine can do at most, and how near to that each stage of a fit comes.

Three rates bound a fit: multiply-adds of ``H'H`` (SYRK), exponentials, and memory. Writes
``roofline.md``, which is part of a page of the documentation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from experiments.scaffold.records import write_text
from experiments.scaffold.tables import Table

from benchmarks.data import PLAIN, twenty_columns
from mercer import Gaussian, KernelRegressor, Landmarks
from mercer.engines import Lanes, available_cores

#: Rows and landmarks of the reference fits.
FITS = ((50_000, 1000), (50_000, 2000))
PAGE = Path(__file__).with_name("roofline.md")


@dataclass(frozen=True)
class Rates:
    """What all cores do in a second."""

    products: float  # float32 multiply-adds of H'H
    exponentials: float  # float32, in the cache
    exponentials_wide: float  # float64
    bandwidth: float  # bytes read and written by a copy beyond the cache

    def fastest(self, other: Rates) -> Rates:
        """Return the larger of each: other work on the machine only lowers them."""
        return Rates(*map(max, astuple(self), astuple(other)))

    def evaluate(self, values: float, columns: int) -> float:
        """Return the least seconds of kernel values: their products and their exponentials."""
        return values * ((columns + 2) / self.products + 1 / self.exponentials)


def best(call: Callable[[], object], seconds: float = 1.0) -> float:
    """Return the least seconds of a call, of as many as there is time for."""
    found, until = [], time.perf_counter() + seconds
    while not found or time.perf_counter() < until:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def on_all_cores(task: Callable[[int], object], items: int) -> None:
    """Run a task on threads that share the cores."""
    Lanes(list).run(range(items), lambda _, item: task(item))


def measured_rates(functions: int = 2000) -> Rates:
    """Measure this machine."""
    rng, cores = np.random.default_rng(0), available_cores()
    H = rng.random((2048, functions), dtype=np.float32)
    out = np.empty((functions, functions), dtype=np.float32)
    products = H.shape[0] * functions**2 / best(lambda: np.matmul(H.T, H, out=out))
    exponentials = []
    for dtype in (np.float32, np.float64):
        values = -10 * rng.random((cores, 2**16)).astype(dtype)
        results = np.empty_like(values)

        def repeat(core: int, values: Any = values, results: Any = results) -> None:
            for _ in range(16):
                np.exp(values[core], out=results[core])

        exponentials.append(16 * values.size / best(lambda r=repeat: on_all_cores(r, cores)))
    source, target = np.ones(2**24), np.empty(2**24)
    bandwidth = 2 * source.nbytes / best(lambda: np.copyto(target, source))
    return Rates(products, *exponentials, bandwidth)


@dataclass(frozen=True)
class Stage:
    """Seconds of a part of a fit, and the work that bounds it."""

    name: str
    seconds: float
    bound: str = ""
    least: Callable[[Rates], float] | None = None


def stages(rows: int, landmarks: int) -> list[Stage]:
    """Return the stages of a fit, and the prediction of as many rows as the last."""
    X, y, new = twenty_columns(rows, rows)
    kernel, basis = Gaussian(4.0), Landmarks(landmarks)
    model = KernelRegressor(kernel, basis, dtype="float32", random_state=0, **PLAIN).fit(X, y)
    seconds, plan, fitted = model.fit_.seconds, model.fit_.plan, model.basis_
    block = X[: plan.block_rows]
    buffers = [np.empty((len(block), fitted.size), dtype=np.float32) for _ in range(plan.lanes)]
    totals = [np.empty((fitted.size,) * 2, dtype=np.float32) for _ in range(plan.lanes)]

    def of_rows(task: Callable[[int], object]) -> float:
        """Return the seconds of a task on all rows, from a block a lane."""
        each = best(lambda: on_all_cores(task, plan.lanes))
        return each * rows / (plan.lanes * len(block))

    evaluate = of_rows(lambda lane: fitted.evaluate(block, buffers[lane]))
    both = of_rows(lambda lane: fitted.orthogonalized(block, buffers[lane]))
    sums = of_rows(lambda lane: np.matmul(buffers[lane].T, buffers[lane], out=totals[lane]))
    values, columns = rows * fitted.size, X.shape[1]
    of_values = {"bound": "exp", "least": lambda rates: rates.evaluate(values, columns)}
    moments = [
        Stage("evaluate kernel values", evaluate, **of_values),
        Stage("orthogonalize", max(0.0, both - evaluate)),
        Stage("sum H'H", sums, "SYRK", lambda rates: values * fitted.size / rates.products),
    ]
    left = seconds["moments"] - sum(one.seconds for one in moments)
    reading = Stage("read, and all else of the pass", max(0.0, left), "memory",
                    lambda rates: X.nbytes / rates.bandwidth)  # fmt: skip
    basis_stage, *others = [Stage(n, took) for n, took in seconds.items() if n != "moments"]
    predict = Stage("predict as many rows", best(lambda: model.predict(new)), **of_values)
    return [basis_stage, *moments, reading, *others, predict]


def table_of(found: list[Stage], rates: Rates) -> Table:
    """Return the table of one fit."""
    total = sum(one.seconds for one in found[:-1])
    table = Table(["stage", "seconds", "share of the fit", "at the limit", "reached", "bound by"])
    for one in found:
        share = "" if one is found[-1] else f"{one.seconds / total:.0%}"
        limit = ["", ""]
        if one.least is not None and one.seconds > 0:
            least = one.least(rates)
            limit = [f"{least:.2f} s", f"{least / one.seconds:.0%}"]
        table.add([one.name, f"{one.seconds:.2f} s", share, *limit, one.bound])
    return table


def run(fits: tuple[tuple[int, int], ...] = FITS, page: Path = PAGE) -> list[object]:
    rates = measured_rates()
    found = [stages(rows, landmarks) for rows, landmarks in fits]
    rates = rates.fastest(measured_rates())
    machine = Table(["rate of all cores", ""])
    machine.add(["SYRK, float32", f"{rates.products / 1e9:.0f} G multiply-adds a second"])
    machine.add(["exp, float32", f"{rates.exponentials / 1e9:.2f} G a second"])
    machine.add(["exp, float64", f"{rates.exponentials_wide / 1e9:.2f} G a second"])
    machine.add(["memory, copying", f"{rates.bandwidth / 1e9:.1f} GB a second"])
    about = (
        f"Measured by `python -m benchmarks roofline` on {joblib.cpu_count()} cores; other work on "
        f"the machine makes shares uncertain, and may put them beyond 100%."
    )
    parts: list[object] = [about, machine]
    for (rows, landmarks), all_stages in zip(fits, found, strict=True):
        parts.append(f"A fit of {rows:,} rows of 20 columns, {landmarks:,} landmarks, in float32:")
        parts.append(table_of(all_stages, rates))
    write_text(page, "\n\n".join(map(str, parts)) + "\n")
    return parts
