"""Rounds of communication, of two vectors each, that converge to the solution for all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, FullKernel
from mercer.combine.combination import (
    Combination,
    chosen_alpha,
    named,
    refuse_local_basis,
    shard_plan,
)
from mercer.contracts import Array, Solution, Status, StepProgress
from mercer.engines import ThreadEngine
from mercer.fit import fit_basis
from mercer.moments.by_fold import share_coordinates
from mercer.plan import Plan, human_bytes
from mercer.request import Problem, Request
from mercer.result import Clock, Fit
from mercer.rows.rowset import RowSet
from mercer.sampling.pooled_kernel import kernel_of_rows
from mercer.solvers.conjugate_gradients import conjugate_gradients
from mercer.systems import FunctionSystem, MeanOfShards, MeanSystem
from mercer.systems.function_space import function_shard_of, points_of
from mercer.systems.mean_of_shards import shares_of, side_of, system_of
from mercer.validation import (
    MemoryLimitError,
    check_choice,
    check_count,
    check_number,
)

#: Pairs of rows in different shards are omitted.
WITHIN = "within_shards"


class Rounds(Combination):
    """Base class: iterations for ``H g = b``, with ``H = sum_j (W_j / W) H_j`` over shards.

    Parameters
    ----------
    rounds : int or None
        Number of rounds; None means the estimator's ``rounds``.
    tolerance : float
        Stop earlier if the global gradient, relative to the gradient at zero, is below this.
    start : "average" or "zero"
        Starting point: the average of the shards' models, or zero.
    pairs : "all" or "within_shards"
        Which pairs a ranking counts. "all" leads to the ranking of all rows. "within_shards" omits
        pairs of rows in different shards, even if they are of the same query; the shares of shards
        are then those of their pairs, ``W_j^2 / sum_k W_k^2`` without queries (*Distributed Least
        Square Ranking with Random Features*, algorithm 1). The full kernel without queries only
        has the latter.
    """

    def __init__(
        self,
        rounds: int | None = None,
        tolerance: float = 1e-10,
        start: str = "average",
        pairs: str = "all",
    ) -> None:
        self.rounds = rounds
        self.tolerance = tolerance
        self.start = start
        self.pairs = pairs

    def check(self) -> None:
        """Validate the parameters."""
        if self.rounds is not None:
            check_count(self.rounds, f"rounds of {type(self).__name__}")
        check_number(self.tolerance, f"tolerance of {type(self).__name__}", above=0.0)
        check_choice(self.start, f"start of {type(self).__name__}", ["average", "zero"])
        check_choice(self.pairs, f"pairs of {type(self).__name__}", ["all", WITHIN])

    #: Whether rounds can run in function space, where shards exchange their rows.
    in_function_space = False

    @property
    def keeps_queries_whole(self) -> bool:
        """Whether all rows of a query must be in one shard: if all its pairs count."""
        return self.pairs != WITHIN

    def check_request(self, problem: Problem) -> None:
        """Raise ValueError for solvers other than ridge and for an unsupported basis."""
        basis = problem.basis
        exact = self.in_function_space and basis is not None and basis.dual
        if self.pairs == WITHIN and not problem.ranks:
            raise ValueError(
                f"pairs={WITHIN!r} is for rankings, which have pairs of rows: use a KernelRanker, "
                f"or pairs='all'"
            )
        if not exact:
            refuse_local_basis(self, problem)
        elif problem.intercept and not problem.ranks:
            raise ValueError(
                "rounds with the full kernel cannot fit an intercept: use fit_intercept=False, or "
                "basis='landmarks' or 'random_features'"
            )
        elif problem.alpha == 0:
            raise ValueError("rounds with the full kernel need a positive alpha, got 0")
        solver = problem.solver
        if solver is not None and (solver.needs != "matrix" or solver.cuts_off):
            raise ValueError(
                "rounds solve the ridge problem of all rows: use solver='ridge' with "
                f"combine={named(self)!r}, or combine='average' or 'sum' for other solvers"
            )

    def fit(self, rows: RowSet, request: Request) -> Fit:
        """Run rounds that converge to the solution for all rows."""
        clock = Clock()
        local = self.has_local_basis(request)
        self._check_pairs(rows, request, local)
        plan = shard_plan(rows, replace(request, alpha=request.alpha or 0.0), local)
        if not local:
            _check_memory(rows, plan)
        with clock.stage("choose alpha"):
            request, path = chosen_alpha(rows, request, plan)
        if self.pairs == WITHIN:  # shards are centered by their own means: no constant is left
            request = replace(request, intercept=False)
        make = self._in_function_space if local else self._in_coordinates
        system, basis, functions = make(rows, request, plan, clock)
        with clock.stage("rounds"):
            limit = self.rounds or request.rounds
            solution = self.run(system, limit, request.step_progress("rounds", "rounds"))
        coefficients, constant = model_of_rounds(functions, solution.value, request)
        assert request.alpha is not None
        return self._record(
            rows,
            request,
            plan,
            clock,
            basis=basis,
            coefficients=coefficients,
            intercept=constant,
            solution=solution,
            residual_square=system.residual_square(solution, request.alpha),
            total_weight=system.weight,
            weight=system.weight,
            **path,
        )

    def _check_pairs(self, rows: RowSet, request: Request, local: bool) -> None:
        """Raise ValueError if the pairs of a ranking cannot be counted as asked."""
        within, targets = self.pairs == WITHIN, request.targets
        if within and max(fact.rows for fact in rows.facts) < 2:
            raise ValueError(
                f"pairs={WITHIN!r} needs two rows in one shard, but all {len(rows.facts)} shards "
                f"have a single row: use fewer shards, or pairs='all'"
            )
        if local and targets.ranks and targets.pairs is None and not within:
            raise ValueError(
                f"rounds with the full kernel cannot count pairs of rows in different shards: use "
                f"combine={type(self).__name__}(pairs={WITHIN!r}), basis='landmarks' or "
                f"'random_features', or pass qid"
            )

    def _in_coordinates(
        self, rows: RowSet, request: Request, plan: Plan, clock: Clock
    ) -> tuple[Any, BasisTransformer, BasisTransformer]:
        """Return the mean of the shards' systems, and the basis, here and as shards have it."""
        plan = replace(plan, may_widen=False)
        with clock.stage("basis"):
            basis = fit_basis(rows, request, plan)
            shared, functions = share_coordinates(rows, basis)
        with clock.stage("moments"):
            held = rows.hold(
                system_of,
                request.targets,
                shared,
                rows.reading(replace(plan.reading, folds=1, held_out=None)),
                request.alpha,
                request.intercept,
                self.pairs == WITHIN,
            )
            sides = held.map(
                side_of, self.start == "average", label="moments", record="right-hand sides"
            )
        return MeanSystem(held, sides, request.intercept), basis, functions

    def _in_function_space(
        self, rows: RowSet, request: Request, plan: Plan, clock: Clock
    ) -> tuple[Any, BasisTransformer, BasisTransformer]:
        """Return the mean of the systems with the exact kernel; all shards get all points."""
        with clock.stage("basis"):
            kernel = kernel_of_rows(rows, request.kernel, 0, request.seeds.rows)
            points = np.vstack(rows.map(points_of, label="points", record="points"))
        targets, alpha = request.targets, request.alpha
        assert isinstance(alpha, float)
        with clock.stage("shards"):
            held = rows.hold(
                function_shard_of,
                targets,
                kernel,
                rows.share(points, "points"),
                rows.slices,
                alpha,
                self.pairs == WITHIN,
            )
            sides = held.map(
                side_of, self.start == "average", label="shards", record="right-hand sides"
            )
        system = FunctionSystem(held, sides, shares_of(sides), alpha)
        basis = FullKernel().of_points(points, kernel)
        return system, basis, basis

    def run(
        self, system: MeanOfShards, rounds: int, progress: StepProgress | None = None
    ) -> Solution:
        """Return the solution after the rounds; ``residuals`` are relative gradients."""
        raise TypeError(f"{type(self).__name__} does not define run()")

    def _ended(self, solution: Solution, rounds: int, gradients: list[float]) -> Solution:
        """Return the final status: completing the requested rounds is a success."""
        final = gradients[-1]
        reason = f"{self.label}: {solution.steps} of them, to a relative gradient of {final:.1e}"
        status = solution.status
        if status is Status.ITERATION_LIMIT or solution.steps >= rounds:
            status = Status.STOPPED_EARLY if final > self.tolerance else Status.CONVERGED
        return replace(solution, status=status, reason=reason, residuals=np.array(gradients))


class ConjugateRounds(Rounds):
    """Conjugate gradients for ``H g = b``, preconditioned by ``sum_j (W_j / W) H_j^-1``.

    The communication is that of Newton rounds, two vectors per round, but the step along each
    direction is optimal, and directions are conjugate. The rounds converge for any number of
    shards, and in fewer rounds.
    """

    label = "conjugate rounds"
    alias = "conjugate"

    def run(
        self, system: MeanOfShards, rounds: int, progress: StepProgress | None = None
    ) -> Solution:
        """Return the solution after the rounds."""
        start = system.start if np.any(system.start) else None
        found = conjugate_gradients(system, self.tolerance, rounds, start, progress)
        # The preconditioned right-hand side is computed first, as the scale of residuals.
        gradients = system.gradients[0 if start is None else 1 :]
        return self._ended(found, rounds, gradients or [0.0])


def model_of_rounds(basis: BasisTransformer, value: Array, request: Request) -> tuple[Array, Array]:
    """Return coefficients (M, k) and intercept (k,) for the solution of rounds."""
    constant = np.zeros(request.outputs)
    if basis.dual:  # in function space: coefficients of the points, no intercept
        return value, constant
    if request.intercept:  # the last coordinate
        value, constant = value[:-1], value[-1]
    return basis.coefficients(basis.whitener().coefficients(value)), constant


def _check_memory(rows: RowSet, plan: Plan) -> None:
    """Raise an error if the factors of all shards do not fit into the memory limit."""
    shards = len(rows.items)
    needed = 8 * plan.size**2 * (shards + 2)
    if isinstance(rows.engine, ThreadEngine) and needed > plan.memory_limit:
        raise MemoryLimitError(
            f"rounds keep a matrix for each of {shards} shards, about "
            f"{human_bytes(needed)} in this process, over the memory_limit of "
            f"{human_bytes(plan.memory_limit)}: use combine='sum', fewer shards or functions, "
            f"or a cluster"
        )
