"""What is solved and how it is run: frozen records that every step of a fit reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from mercer.bases import BasisTransformer, as_generator
from mercer.contracts import Array, Penalty, Progress, StepProgress, Targets
from mercer.kernels import Gaussian, Kernel
from mercer.leaving_out import LeaveOut
from mercer.selection import AutoSelection, Criterion
from mercer.solvers import BaseSolver


@dataclass(frozen=True)
class Seeds:
    """One generator for each purpose: no draw depends on those before it, nor on where rows are.

    ``seed`` decides all draws. With ``functions``, a seed of the user, a basis draws the same
    functions as by itself.

    >>> a, b = Seeds.of(5), Seeds.of(5)
    >>> _ = a.solve().random()
    >>> a.rows() == b.rows(), a.basis().random() == np.random.default_rng(5).random()
    (True, True)
    """

    seed: int
    functions: int | None = None

    @classmethod
    def of(cls, random_state: object, functions: object = None) -> Seeds:
        """Return the seeds of a ``random_state``; a basis may have one of its own."""
        functions = random_state if functions is None else functions
        rng = as_generator(functions if random_state is None else random_state)
        own = int(functions) if isinstance(functions, Integral) else None
        return cls(int(rng.integers(2**63)), own)

    def basis(self) -> np.random.Generator:
        """Return the generator that draws the functions."""
        return self._of(0) if self.functions is None else np.random.default_rng(self.functions)

    def solve(self) -> np.random.Generator:
        """Return the generator used by the choice of alpha and by the solver."""
        return self._of(1)

    def shard(self, number: int) -> Seeds:
        """Return the seeds of a fit to one shard."""
        return Seeds.of(self._of(2, number))

    def cut(self) -> np.random.Generator:
        """Return the generator that deals rows to shards."""
        return self._of(3)

    def features(self) -> np.random.Generator:
        """Return the generator that selects features from candidates."""
        return self._of(4)

    def rows(self) -> int:
        """Return the seed that deals rows to folds, by their numbers."""
        return int(self._of(5).integers(2**63))

    def search(self) -> int:
        """Return the seed of the search for kernel and metric."""
        return self.seed

    def _of(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is solved: the parameters of a fit, before any row is read.

    Attributes
    ----------
    kernel : Kernel
        The kernel; its parameters may still have to be estimated from data.
    basis : BasisTransformer or None
        The functions, unfitted; None is "auto".
    solver : BaseSolver or None
        None lets the cost model choose between moments and products.
    alpha, alphas, criterion
        The penalty, one or an array with one of each output; if None, it is chosen from the path by
        the criterion.
    alpha_per_target : bool
        Whether an open alpha is chosen for each output.
    intercept : bool
        Whether to fit an intercept.
    dtype : str
        As given by the user.
    combination, rounds
        How shards are combined (:mod:`mercer.combine`).
    ranks : bool
        Whether the loss is over pairs of rows.
    """

    kernel: Kernel = field(default_factory=Gaussian)
    basis: BasisTransformer | None = None
    solver: BaseSolver | None = None
    alpha: Penalty | None = None
    alphas: Array | None = None
    alpha_per_target: bool = False
    criterion: Criterion = field(default_factory=AutoSelection)
    intercept: bool = True
    dtype: str = "auto"
    combination: Any = None
    rounds: int = 8
    ranks: bool = False

    def with_alpha_times(self, ratio: float) -> Self:
        """Return this with its penalties multiplied by a number, and steps to match.

        >>> Problem(alpha=0.5).with_alpha_times(2.0).alpha
        1.0
        """
        if ratio == 1.0:
            return self
        return replace(
            self,
            alpha=None if self.alpha is None else self.alpha * ratio,
            alphas=None if self.alphas is None else self.alphas * ratio,
            solver=None if self.solver is None else self.solver.scaled(ratio),
        )

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
    def by_output(self) -> bool:
        """Whether each output has an alpha of its own."""
        return self.alpha_per_target if self.alpha is None else np.ndim(self.alpha) > 0

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


@dataclass(frozen=True)
class Request(Problem):
    """What a fit is asked for: a problem with its targets, and how it is run.

    Attributes
    ----------
    targets : Targets
        Encodes y.
    basis_reason : str
        Why the basis is what it is, in the words of a summary.
    memory_limit : int, float or str
        As given by the user.
    needs_sums : bool
        Whether the fit needs moments, which can be added: for partial_fit, queries, shards, or
        unlabelled rows.
    seeds : Seeds
        What is drawn at random.
    progress : Progress or None
        Called to report progress.
    previous : Fit or None
        A fit of the same rows to resume.
    leave_out : LeaveOut or None
        Whether rows are left out after the fit, for intervals and calibration.
    """

    targets: Targets
    basis_reason: str = field(default="requested", kw_only=True)
    memory_limit: int | float | str = field(default="auto", kw_only=True)
    needs_sums: bool = field(default=False, kw_only=True)
    seeds: Seeds = field(default_factory=lambda: Seeds.of(None), kw_only=True)
    progress: Progress | None = field(default=None, kw_only=True)
    previous: Any = field(default=None, kw_only=True)
    leave_out: LeaveOut | None = field(default=None, kw_only=True)

    def dealing(self, n_rows: int) -> tuple[int, float | None]:
        """Return the number of folds of sums over rows, and the share outside the first."""
        if self.folds > 1 or self.leave_out is None:
            return self.folds, self.held_out
        return self.leave_out.dealing(n_rows)

    @property
    def outputs(self) -> int:
        """k, the columns of y."""
        return self.targets.outputs

    @property
    def units(self) -> Array:
        """Squared scale of each target column; shape (k,)."""
        return np.asarray(self.targets.scale**2)

    @property
    def error_units(self) -> Array:
        """What squared errors are multiplied by: (k,), or (k, k) to keep outputs apart."""
        return np.diag(self.units) if self.by_output else self.units

    def step_progress(self, stage: str = "solve", unit: str = "steps") -> StepProgress | None:
        """Return a callback that reports each step of a solver."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total, note: progress(stage, done, total, unit, note)
