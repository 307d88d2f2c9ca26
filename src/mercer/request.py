"""What a fit is asked for, beside its rows: one frozen record that every step reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, as_basis
from mercer.contracts import Array, Progress, Seeds, StepProgress, Targets
from mercer.kernels import Gaussian, Kernel
from mercer.selection import GCV, Criterion
from mercer.solvers import BaseSolver


@dataclass(frozen=True)
class OneStream:
    """All draws from one generator, one after another: a fit in one place."""

    rng: np.random.Generator

    def basis(self) -> np.random.Generator:
        """Return the generator."""
        return self.rng

    features = solve = basis

    def rows(self) -> int:
        """Draw the base of the folds' seeds."""
        return int(self.rng.integers(2**63))


@dataclass(frozen=True)
class ByPurpose:
    """A generator for each purpose: the same on every engine, and after a restart.

    ``basis_seed`` is the user's own; with it functions are those of a fit in one place.
    """

    seed: int
    basis_seed: int | None = None

    def of(self, *purpose: int) -> np.random.Generator:
        """Return the generator of a purpose."""
        return np.random.default_rng([self.seed, *purpose])

    def basis(self) -> np.random.Generator:
        """Return the generator that functions are drawn with."""
        return self.of(0) if self.basis_seed is None else np.random.default_rng(self.basis_seed)

    def features(self) -> np.random.Generator:
        """Return the generator that chooses among candidates."""
        return self.of(4)

    def rows(self) -> int:
        """Return the seed itself: shards mix in their numbers."""
        return self.seed

    def solve(self) -> np.random.Generator:
        """Return the generator of whatever the choice of alpha or the solver draws."""
        return self.of(1)

    def shard(self, number: int) -> OneStream:
        """Return the draws of a fit to one shard."""
        return OneStream(self.of(2, number))


@dataclass(frozen=True)
class Request:
    """What a fit is asked for.

    Attributes
    ----------
    targets : Targets
        Encodes y.
    kernel : Kernel
        Its parameters may still have to be taken from data.
    basis : object or "auto"
        As the user gave it.
    solver : BaseSolver or None
        None lets the cost model choose between moments and products.
    alpha, alphas, criterion
        The penalty; None chooses it from the path by the criterion.
    intercept : bool
        Whether a constant is fitted.
    dtype, memory_limit
        As the user gave them.
    needs_sums : bool
        Whether the basis must be one whose sums over rows add: for further rows, queries, shards,
        or rows without labels.
    combination, rounds
        How shards are combined (:mod:`mercer.combine`).
    seeds : Seeds
        Where random draws come from.
    progress : Progress or None
        Is called as work is done.
    previous : Fit or None
        A fit of the same rows to go on from.
    """

    targets: Targets
    kernel: Kernel = field(default_factory=Gaussian)
    basis: Any = "auto"
    solver: BaseSolver | None = None
    alpha: float | None = None
    alphas: Array | None = None
    criterion: Criterion = field(default_factory=GCV)
    intercept: bool = True
    dtype: str = "auto"
    memory_limit: Any = "auto"
    needs_sums: bool = False
    combination: Any = None
    rounds: int = 8
    seeds: Seeds = field(default_factory=lambda: OneStream(np.random.default_rng()))
    progress: Progress | None = None
    previous: Any = None

    @property
    def open_alpha(self) -> bool:
        """Whether alpha is to be chosen by the criterion."""
        return self.alpha is None and not (self.solver and self.solver.regularized_by_steps)

    @property
    def outputs(self) -> int:
        """k, the columns of y."""
        return self.targets.outputs

    @property
    def units(self) -> Array:
        """Squares of the units that targets are kept in; shape (k,)."""
        return np.asarray(self.targets.scale**2)

    @property
    def _rule(self) -> Any:
        """The rule that chooses the number of steps; None where alpha regularizes."""
        return None if self.solver is None else self.solver.rule()

    @property
    def folds(self) -> int:
        """In how many pieces sums over rows are kept."""
        if self._rule is not None:
            return int(self._rule.folds)
        return self.criterion.folds if self.alpha is None else 1

    @property
    def held_out(self) -> float | None:
        """The share of rows in the second of two pieces; None deals them evenly."""
        return None if self._rule is None else self._rule.held_out

    @property
    def reads_twice(self) -> bool:
        """Whether the choice of alpha reads the rows a second time."""
        return self.criterion.second_pass and self.alpha is None

    @property
    def chooses_by(self) -> tuple[str, str]:
        """What looks at other rows to choose, and what to use that does not."""
        if self._rule is not None:
            return f"the rule '{self._rule.label}'", "stop=StopAfter(steps)"
        return self.criterion.label, "selection='gcv' or a number for alpha"

    @property
    def shard_dtype(self) -> str:
        """The precision of shards' own problems: float64 unless another is asked for.

        Shards with fewer rows than functions have directions that float32 would fill with noise.
        """
        return "float64" if self.dtype == "auto" else self.dtype

    def asked_basis(self) -> BasisTransformer | None:
        """Return the basis that was asked for; None for "auto"."""
        if isinstance(self.basis, str) and self.basis == "auto":
            return None
        return as_basis(self.basis)

    def step_progress(self, stage: str = "solve", unit: str = "steps") -> StepProgress | None:
        """Return what reports each step of a solver."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total, note: progress(stage, done, total, unit, note)
