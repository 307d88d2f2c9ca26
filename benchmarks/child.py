"""One fit in a fresh process: its peak memory is its own. ``python -m benchmarks.child``."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from experiments.scaffold.timing import answer, fresh, peak_bytes

from benchmarks.data import BANDWIDTH, FIT_ONLY, covtype, kin40k, nystroem_ridge


@contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """Note seconds, also of the processor, and bytes before and at the peak, of what is done."""
    found: dict[str, Any] = {"before": peak_bytes()}
    start, used = time.perf_counter(), time.process_time()
    yield found
    found["seconds"] = time.perf_counter() - start
    found["processor"] = time.process_time() - used
    found["peak"] = peak_bytes()


@contextmanager
def own_memory(every: float = 0.02) -> Iterator[list[int]]:
    """Note the bytes of this process again and again, without pages of files.

    Pages of a memory map count as resident until the system wants them back, so that the peak of a
    fit grows with its file however little the fit itself needs.
    """
    found, done = [anonymous_bytes()], threading.Event()

    def watch() -> None:
        while not done.wait(every):
            found.append(anonymous_bytes())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()


def anonymous_bytes() -> int:
    """Return the resident bytes that belong to no file; 0 where nobody tells."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def covtype_fit(
    method: str, landmarks: int, rows: int, alpha: float, **settings: Any
) -> dict[str, Any]:
    """Fit covtype by one method; return seconds, test error, steps and bytes."""
    from mercer import Gaussian, KernelRegressor, Landmarks, PreconditionedCG

    data = covtype(rows)
    if method == "scikit-learn":
        model = nystroem_ridge(landmarks, alpha, rows)
    else:
        solver = "ridge" if method == "moments" else PreconditionedCG(keep=settings.pop("keep"))
        model = KernelRegressor(
            Gaussian(BANDWIDTH),
            Landmarks(landmarks),
            alpha,
            solver=solver,
            random_state=0,
            **FIT_ONLY,
            **settings,
        )
    with measured() as found:
        model.fit(data.X, data.Y)
    steps = getattr(model, "n_iter_", 0) if method == "products" else 0
    return found | {"error": data.error(model.predict(data.X_test)), "steps": steps}


def kin40k_fit(
    rows: int, alpha: float, bandwidth: float, rank: int | None, max_steps: int, tolerance: float
) -> dict[str, Any]:
    """Fit the full kernel of kin40k by products; return seconds, residual, steps and bytes."""
    X, y = kin40k()
    solver = {"tolerance": tolerance, "max_steps": max_steps, "preconditioner": rank}
    return exact_fit(X[:rows], y[:rows], alpha, bandwidth, solver)


def covtype_exact(
    rows: int, alpha: float, bandwidth: float, tolerance: float, memory_limit: str
) -> dict[str, Any]:
    """Fit the full kernel of covtype, its commonest class against all others, by products."""
    data = covtype(rows)
    y = data.Y[:, np.argmax(data.Y.sum(axis=0))]
    solver = {"tolerance": tolerance, "max_steps": 200}
    return exact_fit(data.X, y, alpha, bandwidth, solver, memory_limit=memory_limit)


def exact_fit(
    X: np.ndarray,
    y: np.ndarray,
    alpha: float,
    bandwidth: float,
    solver: dict[str, Any],
    **settings: Any,
) -> dict[str, Any]:
    """Fit the full kernel by products; return seconds, the true residual, steps and bytes."""
    from mercer import Gaussian, KernelRegressor, PreconditionedCG

    rows, kernel = len(X), Gaussian(bandwidth)
    model = KernelRegressor(
        kernel,
        "full",
        alpha,
        solver=PreconditionedCG(**solver),
        fit_intercept=False,
        random_state=0,
        **FIT_ONLY,
        **settings,
    )
    with measured() as found:
        model.fit(X, y)
    left = y - alpha * rows * model.dual_coef_[:, 0]
    for start in range(0, rows, 500):
        block = slice(start, start + 500)
        left[block] -= kernel(X[block], X) @ model.dual_coef_[:, 0]
    return found | {
        "residual": float(np.linalg.norm(left) / np.linalg.norm(y)),
        "steps": model.n_iter_,
        "status": model.fit_.solution.status.name,
    }


def table_fit(path: str, landmarks: int) -> dict[str, Any]:
    """Fit a table in a file; return seconds, also of its columns, and bytes."""
    from mercer import Gaussian, KernelRegressor, Landmarks

    model = KernelRegressor(
        Gaussian("median"),
        Landmarks(landmarks),
        metric=None,
        scale="standard",
        memory_limit="400MB",
        random_state=0,
    )
    with measured() as found:
        model.fit(path, "y")
    total = sum(model.fit_.seconds.values())
    return found | {"columns": found["seconds"] - total}


def file_fit(path: str, target: str, landmarks: int, limit: str) -> dict[str, Any]:
    """Fit rows of a file; return seconds, bytes, and the bytes that the plan had foreseen."""
    import mercer

    with measured() as found:
        basis = mercer.Landmarks(landmarks)
        settings = {"alpha": 1e-6, "memory_limit": limit, "random_state": 0, **FIT_ONLY}
        model = mercer.KernelRegressor(mercer.Gaussian("median"), basis, **settings)
        model.fit(mercer.open_rows(path, target))
    return found | {"estimate": model.fit_.plan.memory}


def linear_fit(path: str, target: str, landmarks: int, limit: str) -> dict[str, Any]:
    """Fit rows of a file, and predict them; return seconds of both and by stage, and bytes."""
    import mercer

    settings = {"memory_limit": limit, "random_state": 0, **FIT_ONLY}
    model = mercer.KernelRegressor(mercer.Gaussian(4.0), mercer.Landmarks(landmarks), **settings)
    with own_memory() as memory, measured() as found:
        model.fit(mercer.open_rows(path, target))
    start, used = time.perf_counter(), time.process_time()
    model.predict(mercer.open_rows(path))
    found["predict"] = time.perf_counter() - start
    found["predict processor"] = time.process_time() - used
    return found | {"own": max(memory) - memory[0], "stages": model.fit_.seconds}


def wide_fit(method: str, kind: str, rows: int, columns: int, landmarks: int) -> dict[str, Any]:
    """Fit rows of very many columns and predict them; return seconds and bytes."""
    from benchmarks.wide_data import ALPHA, wide_rows

    X, y, distance = wide_rows(kind, rows, columns)
    held = [X] if kind == "dense" else [X.data, X.indices, X.indptr]
    if method == "scikit-learn":
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline

        basis = Nystroem(gamma=0.5 / distance**2, n_components=landmarks, random_state=0)
        model: Any = make_pipeline(basis, Ridge(ALPHA * rows))
    else:
        from mercer import Gaussian, KernelRegressor, Landmarks

        model = KernelRegressor(
            Gaussian(distance), Landmarks(landmarks), ALPHA, random_state=0, **FIT_ONLY
        )
    with measured() as found:
        model.fit(X, y)
    start = time.perf_counter()
    model.predict(X)
    found["predict"] = time.perf_counter() - start
    return found | {"data": sum(array.nbytes for array in held)}


def public_fit(path: str, target: str, model: Any) -> dict[str, Any]:
    """Fit a model that is described by its public name to the rows of a file."""
    import mercer
    from benchmarks.worker import made

    with measured() as found:
        made(model).fit(mercer.open_rows(path, target))
    return found


def pool_fit(task: str, path: str, features: int, budget: int) -> dict[str, Any]:
    """Fit a regression to a memory map, or score it as a pool; return bytes and all seconds."""
    import mercer

    pool = np.load(path, mmap_mode="r")
    settings: dict[str, Any] = {
        "kernel": mercer.Gaussian(6.0),
        "basis": mercer.RandomFeatures(features, random_state=0),
        "alpha": 1e-4,
        "random_state": 0,
    }
    with measured() as found:
        if task == "moments":
            model = mercer.KernelRegressor(**settings, **FIT_ONLY, solver="ridge")
            model.fit(pool, pool[:, 0])
            stages = model.fit_.seconds
        else:
            stages = mercer.ImportanceLabeller(**settings, budget=budget).fit(pool).seconds_
    return found | {"stages": stages}


def wide_file(path: str) -> dict[str, Any]:
    """Open a text file and read it in one pass; return bytes, and seconds of the processor."""
    from mercer import open_rows

    with measured() as found:
        started = time.process_time()
        source = open_rows(path)
        opened = time.process_time()
        rows = sum(block.n_rows for block in source.blocks(source.n_rows))
        passed = time.process_time()
    return found | {"rows": rows, "open": opened - started, "pass": passed - opened}


def run_child(task: str, /, **settings: Any) -> dict[str, Any]:
    """Run one of the above in a fresh process, and tell of it."""
    found: dict[str, Any] = fresh("benchmarks.child", task, settings)
    told = {k: round(v, 4) if isinstance(v, float) else v for k, v in found.items()}
    print(f"  {task} {settings}: {told}", flush=True)
    return found


if __name__ == "__main__":
    tasks = (covtype_fit, kin40k_fit, covtype_exact, file_fit, table_fit, public_fit, pool_fit)
    answer({one.__name__: one for one in (*tasks, wide_file, linear_fit, wide_fit)})
