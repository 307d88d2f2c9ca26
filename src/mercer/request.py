"""The parameters of a fit: one frozen record that every step reads."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, as_basis
from mercer.contracts import Array, Penalty, Progress, Seeds, StepProgress, Targets
from mercer.kernels import Gaussian, Kernel
from mercer.selection import AutoSelection, Criterion
from mercer.solvers import BaseSolver


@dataclass(frozen=True)
class OneStream:
    """All draws come from one generator, in sequence: used for a fit in one place."""

    rng: np.random.Generator

    def basis(self) -> np.random.Generator:
        """Return the generator."""
        return self.rng

    features = solve = basis

    def rows(self) -> int:
        """Draw the base of the shards' seeds."""
        return int(self.rng.integers(2**63))

    def search(self) -> int:
        """Return a seed from a copy, so that functions are drawn as they are without a search."""
        return OneStream(deepcopy(self.rng)).rows()


@dataclass(frozen=True)
class ByPurpose:
    """One generator per purpose: the same on every engine, and after a restart.

    ``basis_seed`` is the user's seed; with it, functions match those of a fit in one place.
    """

    seed: int
    basis_seed: int | None = None

    def of(self, *purpose: int) -> np.random.Generator:
        """Return the generator for a purpose."""
        return np.random.default_rng([self.seed, *purpose])

    def basis(self) -> np.random.Generator:
        """Return the generator that draws the functions."""
        return self.of(0) if self.basis_seed is None else np.random.default_rng(self.basis_seed)

    def features(self) -> np.random.Generator:
        """Return the generator that selects features from candidates."""
        return self.of(4)

    def rows(self) -> int:
        """Return the seed itself, to which shards add their numbers."""
        return self.seed

    def search(self) -> int:
        """Return the seed of the search for a metric: with the user's seed, as in one place."""
        return OneStream(self.of(5) if self.basis_seed is None else self.basis()).rows()

    def solve(self) -> np.random.Generator:
        """Return the generator used by the choice of alpha and by the solver."""
        return self.of(1)

    def shard(self, number: int) -> OneStream:
        """Return the seeds of a fit to one shard."""
        return OneStream(self.of(2, number))


@dataclass(frozen=True)
class LeaveOut:
    """How rows are left out after a fit, to be predicted by models without them.

    ``folds`` is the number of models. About half of the rows are left out, but at least ``few`` and
    at most ``sample``. ``scale`` is whether intervals are wanted, which need the local scale of
    errors. With ``one_row`` every row is left out by itself. ``tolerance`` is how well the change
    of a model has to be known where it is found in steps.

    >>> LeaveOut().dealing(1000), LeaveOut().dealing(8000), LeaveOut().dealing(1_000_000)
    ((10, None), (9, 0.5), (9, 0.02))
    """

    folds: int = 8
    sample: int = 20_000
    few: int = 4000
    scale: bool = False
    one_row: bool = False
    tolerance: float = 0.2

    @classmethod
    def for_scores(cls) -> LeaveOut:
        """Return how a map of scores leaves rows out: it has few parameters, so few are enough.

        >>> LeaveOut.for_scores().dealing(1000), LeaveOut.for_scores().dealing(10_000)
        ((10, None), (3, 0.2))
        """
        return cls(folds=2, sample=5000, few=2000)

    def dealing(self, n_rows: int) -> tuple[int, float | None]:
        """Return the number of folds, and the share of rows outside the first if that one stays."""
        if self.one_row:
            return 1, None
        if n_rows <= self.few:
            return max(1, min(10, n_rows)), None
        # The fewer rows a model leaves out, the more it is like that of all rows.
        share = 0.5 if self.folds > 2 else 0.2
        return self.folds + 1, min(self.sample, max(self.few, int(share * n_rows))) / n_rows


@dataclass(frozen=True)
class Request:
    """The parameters of a fit.

    Attributes
    ----------
    targets : Targets
        Encodes y.
    kernel : Kernel
        The kernel; its parameters may still have to be estimated from data.
    basis : object or "auto"
        As given by the user.
    solver : BaseSolver or None
        None lets the cost model choose between moments and products.
    alpha, alphas, criterion
        The penalty, one or an array with one of each output; if None, it is chosen from the path by
        the criterion.
    alpha_per_target : bool
        Whether an open alpha is chosen for each output.
    intercept : bool
        Whether to fit an intercept.
    dtype, memory_limit
        As given by the user.
    needs_sums : bool
        Whether the fit needs moments, which can be added: for partial_fit, queries, shards, or
        unlabelled rows.
    combination, rounds
        How shards are combined (:mod:`mercer.combine`).
    seeds : Seeds
        The sources of randomness.
    progress : Progress or None
        Called to report progress.
    previous : Fit or None
        A fit of the same rows to resume.
    leave_out : LeaveOut or None
        Whether rows are left out after the fit, for intervals and calibration.
    """

    targets: Targets
    kernel: Kernel = field(default_factory=Gaussian)
    basis: Any = "auto"
    basis_reason: str = "requested"
    solver: BaseSolver | None = None
    alpha: Penalty | None = None
    alphas: Array | None = None
    alpha_per_target: bool = False
    criterion: Criterion = field(default_factory=AutoSelection)
    intercept: bool = True
    dtype: str = "auto"
    memory_limit: Any = "auto"
    needs_sums: bool = False
    combination: Any = None
    rounds: int = 8
    seeds: Seeds = field(default_factory=lambda: OneStream(np.random.default_rng()))
    progress: Progress | None = None
    previous: Any = None
    leave_out: LeaveOut | None = None

    def dealing(self, n_rows: int) -> tuple[int, float | None]:
        """Return the number of folds of sums over rows, and the share outside the first."""
        if self.folds > 1 or self.leave_out is None:
            return self.folds, self.held_out
        return self.leave_out.dealing(n_rows)

    @property
    def open_alpha(self) -> bool:
        """Whether alpha has to be chosen by the criterion."""
        return self.alpha is None and not (self.solver and self.solver.regularized_by_steps)

    @property
    def counts_rows(self) -> bool:
        """Whether the choice of alpha or steps depends on the number of rows."""
        if self._rule is not None:
            return bool(self._rule.counts_rows)
        return self.open_alpha and self.criterion.counts_rows

    @property
    def outputs(self) -> int:
        """k, the columns of y."""
        return self.targets.outputs

    @property
    def units(self) -> Array:
        """Squared scale of each target column; shape (k,)."""
        return np.asarray(self.targets.scale**2)

    @property
    def by_output(self) -> bool:
        """Whether each output has an alpha of its own."""
        return self.alpha_per_target if self.alpha is None else np.ndim(self.alpha) > 0

    @property
    def error_units(self) -> Array:
        """What squared errors are multiplied by: (k,), or (k, k) to keep outputs apart."""
        return np.diag(self.units) if self.by_output else self.units

    @property
    def _rule(self) -> Any:
        """The rule that chooses the number of steps; None if alpha regularizes."""
        return None if self.solver is None else self.solver.rule()

    @property
    def folds(self) -> int:
        """Number of folds in which sums over rows are kept."""
        if self._rule is not None:
            return int(self._rule.folds)
        return self.criterion.folds if self.alpha is None else 1

    @property
    def held_out(self) -> float | None:
        """The share of rows in the second of two folds; None means folds of equal size."""
        return None if self._rule is None else self._rule.held_out

    @property
    def reads_twice(self) -> bool:
        """Whether the choice of alpha needs a second pass over the rows."""
        return self.criterion.second_pass and self.alpha is None

    @property
    def chooses_by(self) -> tuple[str, str]:
        """The name of the held-out criterion or rule, and an alternative that needs no folds."""
        if self._rule is not None:
            return f"the rule '{self._rule.label}'", "stop=StopAfter(steps)"
        return self.criterion.label, "selection='gcv' or a number for alpha"

    @property
    def shard_dtype(self) -> str:
        """The precision of the local problems of shards: float64 unless set by the user.

        In shards with fewer rows than functions, float32 would fill the empty directions with
        noise.
        """
        return "float64" if self.dtype == "auto" else self.dtype

    def asked_basis(self) -> BasisTransformer | None:
        """Return the basis given by the user; None for "auto"."""
        if isinstance(self.basis, str) and self.basis == "auto":
            return None
        return as_basis(self.basis)

    def step_progress(self, stage: str = "solve", unit: str = "steps") -> StepProgress | None:
        """Return a callback that reports each step of a solver."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total, note: progress(stage, done, total, unit, note)
