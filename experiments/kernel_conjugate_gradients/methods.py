"""The methods that are compared, as estimators of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.kernel_conjugate_gradients.problem import GAMMA, RATE, ZETA
from mercer import (
    KCGM,
    FullKernel,
    KernelRegressor,
    Landmarks,
    Sketch,
    Sobolev,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
)

#: The name of ridge regression among the methods, which takes no steps.
RIDGE = "ridge"
#: Steps of the full kernel, which has no m to bound them.
CLASSIC_STEPS = 32
#: Rules that choose the number of steps from the data alone.
RULES: dict[str, Any] = {
    "5 folds": StopByFolds(5),
    "discrepancy": StopAtDiscrepancy(zeta=ZETA, gamma=GAMMA),
}
#: What all methods have in common.
SETTINGS: dict[str, Any] = {
    "fit_intercept": False,
    "dtype": "float64",
    "metric": None,
    "scale": None,
}
#: Alphas of ridge regression, in units of n^(-2/3).
FACTORS = [2.0 ** (half / 2) for half in range(-8, 9)]


def root(n: int, power: int) -> int:
    """Return the cube root of ``n^power``, rounded up, without rounding errors.

    >>> [root(n, 1) for n in (32, 64, 512, 1024)], [root(n, 2) for n in (32, 64, 512, 1024)]
    ([4, 4, 8, 11], [11, 16, 64, 102])
    """
    found = 1
    while found**3 < n**power:
        found += 1
    return found


@dataclass(frozen=True)
class Method:
    """A basis for kernel conjugate gradients: from its size and a seed, and how large it is."""

    label: str
    make: Callable[[int, int], Any]
    size: Callable[[int], int]
    most_steps: int | None = None

    def steps(self, n: int) -> int:
        """Return how many steps are made: m, as in the paper, unless that is too many."""
        return min(self.size(n), self.most_steps or n)

    def estimator(self, n: int, seed: int) -> KernelRegressor:
        """Return the method for n rows, with its whole path of steps."""
        return KernelRegressor(
            Sobolev(),
            self.make(self.size(n), seed),
            solver=KCGM(StopAfter(self.steps(n))),
            random_state=seed,
            **SETTINGS,
        )


def sketch(kind: str) -> Callable[[int, int], Any]:
    """Return a maker of sketches of a kind."""
    return lambda m, seed: Sketch(m, kind=kind, random_state=seed)


def sketch_size(n: int) -> int:
    """Return m of the sketches."""
    return root(n, 1)


def landmark_size(n: int) -> int:
    """Return m of plain Nystroem."""
    return root(n, 2)


def full_size(n: int) -> int:
    """Return n: there is a function at every row."""
    return n


METHODS: dict[str, Method] = {
    "sketched": Method("sketched, Hadamard", sketch("hadamard"), sketch_size),
    "dct": Method("sketched, DCT", sketch("dct"), sketch_size),
    "gaussian": Method("sketched, Gaussian", sketch("gaussian"), sketch_size),
    "rademacher": Method("sketched, Rademacher", sketch("rademacher"), sketch_size),
    "nystroem": Method("plain Nystroem", lambda m, s: Landmarks(m, random_state=s), landmark_size),
    "classic": Method(
        "classic, full kernel", lambda m, seed: FullKernel(), full_size, CLASSIC_STEPS
    ),
}


def ridge(n: int, factor: float | None) -> KernelRegressor:
    """Return exact ridge regression with ``alpha = factor n^(-2/3)``, or by GCV for None."""
    alpha = "auto" if factor is None else factor * n**-RATE
    return KernelRegressor(Sobolev(), FullKernel(), alpha, selection="gcv", **SETTINGS)
