"""One fit in a fresh process: its peak memory is its own. ``python -m benchmarks.child``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np


def peak_bytes() -> int:
    """Return the largest resident size of this process so far."""
    from mercer.engines.memory import peak_memory

    peak = peak_memory()
    if peak is None:
        raise OSError("this system does not report the peak memory of a process")
    return peak


def covtype_fit(
    method: str, landmarks: int, rows: int, alpha: float, **settings: Any
) -> dict[str, Any]:
    """Fit covtype by one method; return seconds, test error, steps and bytes."""
    from benchmarks.data import BANDWIDTH, covtype
    from mercer import Gaussian, KernelRegressor, Landmarks, PreconditionedCG

    data = covtype(rows)
    before = peak_bytes()
    start = time.perf_counter()
    if method == "scikit-learn":
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline

        model: Any = make_pipeline(
            Nystroem(gamma=0.5 / BANDWIDTH**2, n_components=landmarks, random_state=0),
            Ridge(alpha=alpha * rows),
        )
    else:
        solver = "ridge" if method == "moments" else PreconditionedCG(keep=settings.pop("keep"))
        model = KernelRegressor(
            Gaussian(BANDWIDTH),
            Landmarks(landmarks),
            alpha,
            solver=solver,
            random_state=0,
            **settings,
        )
    model.fit(data.X, data.Y)
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    steps = getattr(model, "n_iter_", 0) if method == "products" else 0
    error = data.error(model.predict(data.X_test))
    return {"seconds": seconds, "error": error, "steps": steps, "before": before, "peak": peak}


def kin40k_fit(
    rows: int, alpha: float, bandwidth: float, rank: int | None, max_steps: int, tolerance: float
) -> dict[str, Any]:
    """Fit the full kernel of kin40k by products; return seconds, residual, steps and bytes."""
    from mercer import Gaussian, KernelRegressor, PreconditionedCG
    from mercer.systems.by_kernel_products import KernelProducts

    X, y = kin40k()
    X, y = X[:rows], y[:rows]
    before = peak_bytes()
    start = time.perf_counter()
    solver = PreconditionedCG(tolerance, max_steps, rank)
    model = KernelRegressor(
        Gaussian(bandwidth), "full", alpha, solver=solver, fit_intercept=False, random_state=0
    )
    model.fit(X, y)
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    products = KernelProducts(model.kernel_, X, "float64")
    left = y[:, None] - products.product(model.coef_, True) - alpha * rows * model.coef_
    return {
        "seconds": seconds,
        "residual": float(np.linalg.norm(left) / np.linalg.norm(y)),
        "steps": model.n_iter_,
        "status": model.fit_.solution.status.name,
        "before": before,
        "peak": peak,
    }


def kin40k() -> tuple[np.ndarray, np.ndarray]:
    """Return kin40k, standardized."""
    from mercer.datasets import load_real

    data = load_real("kin40k")
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    return (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()


def run_child(task: str, **settings: Any) -> dict[str, Any]:
    """Run one of the above in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.child", task, json.dumps(settings)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    told = {k: round(v, 4) if isinstance(v, float) else v for k, v in found.items()}
    print(f"  {task} {settings}: {told}", flush=True)
    return dict(found)


if __name__ == "__main__":
    tasks = {"covtype_fit": covtype_fit, "kin40k_fit": kin40k_fit}
    print(json.dumps(tasks[sys.argv[1]](**json.loads(sys.argv[2]))))
