"""The speeds of this machine, from a measurement of about half a second."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from mercer.contracts import Rows
from mercer.engines import available_cores, blas_threads
from mercer.kernels import Kernel
from mercer.plan.cost import Speeds

#: Rows, functions and repetitions of the measurement; the fastest repetition counts, because other
#: programs only slow it down.
ROWS, FUNCTIONS, REPEATS = 4096, 512, 3


def measured_speeds(kernel: Kernel, sample: Rows) -> Speeds:
    """Return the speeds of this machine for a kernel, on rows like those of ``sample``.

    The seconds for a kernel value include its columns, so ``column`` is 0.
    """
    rng = np.random.default_rng(0)
    X = sample[rng.integers(sample.shape[0], size=ROWS)]
    block = kernel.fitted(sample).against(X[:FUNCTIONS], "float32")
    H = np.empty((ROWS, FUNCTIONS), dtype=np.float32)
    c = rng.standard_normal((FUNCTIONS, 1)).astype(np.float32)
    total = np.zeros((FUNCTIONS, FUNCTIONS))
    A = np.cov(rng.standard_normal((FUNCTIONS, 2 * FUNCTIONS)))

    def add_outer() -> None:
        np.add(total, H.T @ H, out=total)

    with blas_threads(available_cores()):
        evaluate = _fastest(lambda: block(X, H))
        outer = _fastest(add_outer)
        narrow = _fastest(lambda: H.T @ (H @ c))
        factor = _fastest(lambda: eigh(A, driver="evd", check_finite=False))
    work = ROWS * FUNCTIONS
    return Speeds(
        outer=work * FUNCTIONS / outer,
        factor=6.0 * FUNCTIONS**3 / factor,
        narrow=2 * work / narrow,
        value=evaluate / work,
        column=0.0,
    )


def _fastest(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few calls, after one to warm up."""
    call()
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return max(min(found), 1e-9)
