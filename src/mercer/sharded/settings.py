"""What a fit over shards is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.combine import Combination
from mercer.contracts import Array
from mercer.fit import Solver
from mercer.kernels import Kernel
from mercer.result import Targets
from mercer.selection import Criterion


@dataclass(frozen=True)
class Settings:
    """What a fit over shards is asked for, beside its rows."""

    targets: Targets
    kernel: Kernel
    basis: Any  # as the user gave it
    solver: Solver
    combination: Combination
    rounds: int
    alpha: float | None
    alphas: Array | None
    criterion: Criterion
    intercept: bool
    dtype: str
    memory_limit: Any
    pieces: int
    held_out: float | None
    seed: int
    basis_seed: int | None = (
        None  # the user's own; with it functions are those of a fit in one place
    )

    def basis_rng(self) -> np.random.Generator:
        """Return the generator that the shared functions are drawn with."""
        return self.rng(0) if self.basis_seed is None else np.random.default_rng(self.basis_seed)

    def rng(self, *purpose: int) -> np.random.Generator:
        """Return a generator for one purpose: the same on every engine, and after a restart."""
        return np.random.default_rng([self.seed, *purpose])

    @property
    def local_dtype(self) -> str:
        """The precision of shards' own problems: float64 unless another is asked for.

        Shards with fewer rows than functions have directions that float32 would fill with noise.
        """
        return "float64" if self.dtype == "auto" else self.dtype
