"""One fit over shards, from the driver: what is asked of shards, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, FullKernel, Landmarks, RandomFeatures, as_basis
from mercer.combine import (
    Average,
    Communication,
    FunctionSystem,
    LocalModel,
    MeanSystem,
    Rounds,
    add_folds,
    averaged,
    count_numbers,
)
from mercer.contracts import Array, Engine, Precision
from mercer.engines import ThreadEngine
from mercer.fit import Solver, choose_and_solve, iterate
from mercer.kernels import Kernel
from mercer.kernels.bandwidth import SAMPLE
from mercer.moments import Moments, PartialMoments
from mercer.passes import candidate_plan
from mercer.result import Clock, Fit, Progress, judged
from mercer.selection import Plan, PrimalProblem, plan_fit
from mercer.selection.cost import PILOT
from mercer.selection.plan import human_bytes, make_plan
from mercer.sharded.bandwidth import pooled_kernel, spread_of
from mercer.sharded.settings import Settings
from mercer.sharded.tasks import (
    answer_of,
    function_shard_of,
    function_side_of,
    model_of,
    moments_of,
    points_of,
    right_of,
    system_of,
)
from mercer.solvers import IterativeSolver, PreconditionedCG, Ridge
from mercer.sources.shards import ShardedSource
from mercer.validation import MemoryLimitError


class Run:
    """One fit: what its steps share."""

    def __init__(
        self,
        source: ShardedSource,
        settings: Settings,
        clock: Clock,
        told: Communication,
        progress: Progress | None,
    ) -> None:
        self.source, self.settings, self.clock = source, settings, clock
        self.told, self.progress = told, progress
        self.engine: Engine = source.engine
        self._chosen: dict[str, Any] = {}  # what a pilot found of alpha

    def fit(self) -> Fit:
        """Fit by the combination that was asked for."""
        combination = self.settings.combination
        if isinstance(combination, Average):
            return self._average(combination)
        if isinstance(combination, Rounds):
            local = _is_local(self.settings.basis)
            return self._function_rounds(combination) if local else self._rounds(combination)
        return self._sum()

    # -- one basis for all

    def _basis(self, plan: Plan, precision: Precision, may_widen: bool) -> BasisTransformer:
        """Choose the functions that all shards share."""
        source, settings = self.source, self.settings
        with self.clock.stage("basis"):
            rng = settings.basis_rng()
            basis = plan.basis.fit_source(source, self._kernel(plan), rng, precision, may_widen)
            self._settle(basis, plan)
        # Landmarks that are rows, or all rows that they were chosen among.
        chosen = getattr(basis, "_n_read", 0) or count_numbers(getattr(basis, "indices_", None))
        sent = -(-chosen * source.n_features // self.told.shards)
        if sent:
            self.told.record("landmarks", to_shard=0, from_shard=sent)
        return basis

    def _settle(self, basis: BasisTransformer, plan: Plan) -> None:
        """Choose among the candidates of a basis by sums over all shards."""
        if not basis.unsettled:
            return
        narrow = replace(candidate_plan(plan, basis), lanes=1)
        (sums,) = self.engine.reduce(
            moments_of,
            add_folds,
            self.source.shards,
            self.settings.targets,
            self._shared(basis),
            narrow,
            self.settings.seed,
            basis.needs_gram,
            label="features",
        )
        self.told.record("scores of candidates", to_shard=0, from_shard=count_numbers(sums))
        moments = sums.moments if isinstance(sums, PartialMoments) else sums
        basis.settle(moments, self.settings.rng(4))

    def _shared(self, basis: BasisTransformer) -> Any:
        """Send functions to all shards."""
        self.told.record("basis", to_shard=_size_of(basis), from_shard=0)
        return self.engine.share(basis)

    def _kernel(self, plan: Plan) -> Kernel:
        """Resolve parameters that are taken from data, by what shards find in theirs."""
        kernel, basis = self.settings.kernel, plan.basis
        enough = (
            isinstance(basis, Landmarks)
            and isinstance(basis.sampling, str)
            and basis.sampling == "uniform"
            and not basis.dual
            and plan.size >= min(SAMPLE, self.source.n_rows)
        )
        if enough or not kernel.needs_rows:
            return kernel  # landmarks are a sample of the rows already
        parts = self.engine.map(
            spread_of, self.source.shards, kernel, self.settings.seed, label="bandwidth"
        )
        self.told.record("bandwidth", to_shard=0, from_shard=count_numbers(parts[0]))
        return pooled_kernel(kernel, parts)

    def _moments(self, basis: BasisTransformer, plan: Plan) -> list[Moments]:
        """Add the moments of all shards."""
        with self.clock.stage("moments"):
            sums: list[Any] = self.engine.reduce(
                moments_of,
                add_folds,
                self.source.shards,
                self.settings.targets,
                self._shared(basis.lean()),  # shards sum, and solve nothing
                replace(plan, lanes=1),
                self.settings.seed,
                label="moments",
            )
        self.told.record("moments", to_shard=0, from_shard=count_numbers(sums))
        return [part.moments if isinstance(part, PartialMoments) else part for part in sums]

    def _plan(self, basis: Any, dtype: str, pieces: int) -> Plan:
        settings = self.settings
        plan = make_plan(
            self.source,
            settings.kernel,
            basis,
            dtype=dtype,
            memory_limit=settings.memory_limit,
            outputs=settings.targets.outputs,
            folds=pieces,
            held_out=settings.held_out,
            fixed_basis=True,
        )
        return replace(
            plan,
            reason=plan.reason.replace("landmarks, whose sums over rows add", "landmarks: shared"),
        )

    # -- exact sums

    def _sum(self) -> Fit:
        settings = self.settings
        plan = self._plan(settings.basis, settings.dtype, settings.pieces)
        return self._summed(plan, settings.solver, settings.alpha)

    def _summed(self, plan: Plan, solver: Solver, alpha: float | None) -> Fit:
        """Solve the sum of the shards' moments."""
        settings, clock = self.settings, self.clock
        basis = self._basis(plan, plan.precision, plan.may_widen)
        direct = Ridge() if isinstance(solver, (IterativeSolver, PreconditionedCG)) else solver

        def solved() -> tuple[PrimalProblem, dict[str, Any]]:
            folds = self._moments(basis, plan)
            problem = PrimalProblem(
                folds, basis, direct, settings.intercept, settings.targets.scale**2
            )
            rng = settings.rng(1)
            if isinstance(solver, IterativeSolver):
                return problem, iterate(problem, clock, solver, alpha, rng, self.progress)
            return problem, choose_and_solve(
                problem, clock, alpha, settings.alphas, settings.criterion, rng
            )

        problem, result = solved()
        hidden = problem.hidden(result["solution"])
        if hidden and plan.may_widen:
            basis.widen()
            (problem, result), hidden = solved(), 0
        found = Fit(
            **result,
            basis=basis,
            plan=plan,
            n_rows=self.source.n_rows,
            folds=list(problem.folds),
            weight=problem.total.weight,
        )
        return judged(found, hidden)

    # -- averages

    def _average(self, combination: Average) -> Fit:
        local = combination.local_basis or _is_local(self.settings.basis)
        plan = self._plan_of_average(local)
        settings = self._with_alpha(plan)
        if not isinstance(settings.solver, IterativeSolver):
            settings = replace(settings, pieces=1)  # folds were for the choice of alpha
        shared: BasisTransformer | None = None
        task_plan: Plan | None = None
        if local:
            with self.clock.stage("basis"):
                settings = replace(settings, kernel=self._kernel(plan))
        else:
            shared = self._basis(plan, plan.precision, may_widen=False)
            task_plan = replace(plan, lanes=1, may_widen=False, folds=settings.pieces)
        with self.clock.stage("shards"):
            models: list[LocalModel] = self.engine.map(
                model_of,
                self.source.shards,
                self.engine.share(settings),
                None if shared is None else self._shared(shared),
                task_plan,
                label="shards",
            )
        self.told.record("models", to_shard=0, from_shard=max(map(count_numbers, models)))
        coefficients, constant, points, solution = averaged(models)
        basis = shared
        if points is not None:
            basis = FullKernel().of_points(points, settings.kernel)
        assert basis is not None
        assert settings.alpha is not None
        weight = sum(model.weight for model in models)
        found = Fit(
            basis=basis,
            plan=plan,
            coefficients=coefficients,
            intercept=constant,
            solution=solution,
            alpha=settings.alpha,
            total_weight=weight,
            weight=weight,
            n_rows=self.source.n_rows,
            **self._chosen,
        )
        return judged(found)

    def _plan_of_average(self, local: bool) -> Plan:
        """Return the plan of the shared basis, or of the largest shard's own."""
        settings = self.settings
        dtype = settings.local_dtype
        if local or isinstance(settings.solver, PreconditionedCG):
            largest = max(fact.rows for fact in self.source.facts)
            rows = largest if local else self.source.n_rows
            plan, _ = plan_fit(
                _Sized(rows, self.source.n_features),  # type: ignore[arg-type]
                settings.kernel,
                settings.basis,
                settings.solver,
                open_alpha=False,
                dtype=dtype,
                memory_limit=settings.memory_limit,
                outputs=settings.targets.outputs,
                folds=settings.pieces,
                held_out=settings.held_out,
            )
            return plan
        return self._plan(settings.basis, dtype, settings.pieces)

    # -- rounds

    def _rounds(self, combination: Rounds) -> Fit:
        settings = self.settings
        plan = self._plan(settings.basis, settings.local_dtype, 1)
        self._check_memory(plan)
        settings = self._with_alpha(plan)
        assert settings.alpha is not None
        basis = self._basis(plan, plan.precision, may_widen=False)
        engine = self.engine
        with self.clock.stage("moments"):
            systems = engine.hold(
                system_of,
                self.source.shards,
                settings.targets,
                self._shared(basis),
                replace(plan, lanes=1, may_widen=False),
                settings.alpha,
                settings.intercept,
            )
            from_average = combination.start == "average"
            sides = engine.map(right_of, systems, from_average, label="moments")
        self.told.record("right-hand sides", to_shard=0, from_shard=count_numbers(sides[0]))

        def ask(question: str, V: Array) -> Sequence[Array]:
            answers = engine.map(answer_of, systems, question, V, light=True)
            self.told.record(
                question, to_shard=count_numbers(V), from_shard=count_numbers(answers[0])
            )
            return answers

        weights = np.array([weight for weight, *_ in sides])
        models = [model for *_, model in sides] if from_average else None
        system = MeanSystem(weights, [side for _, side, _ in sides], ask, models)
        with self.clock.stage("rounds"):
            solution = combination.run(
                system, combination.rounds or settings.rounds, self._round_progress()
            )
        value = solution.value
        constant = np.zeros(settings.targets.outputs)
        if settings.intercept:
            value, constant = value[:-1], value[-1]
        found = Fit(
            basis=basis,
            plan=plan,
            coefficients=basis.coefficients(basis.whitener().coefficients(value)),
            intercept=constant,
            solution=solution,
            alpha=settings.alpha,
            total_weight=float(weights.sum()),
            weight=float(weights.sum()),
            n_rows=self.source.n_rows,
            **self._chosen,
        )
        return judged(found)

    def _function_rounds(self, combination: Rounds) -> Fit:
        """Make rounds with the exact kernel: the points of all shards go to all."""
        engine, source = self.engine, self.source
        plan = self._plan_of_average(local=True)
        settings = self._with_alpha(plan)
        alpha = settings.alpha
        assert alpha is not None
        with self.clock.stage("basis"):
            settings = replace(settings, kernel=self._kernel(plan))
            parts = engine.map(points_of, source.shards, label="points")
            points = np.vstack(parts)
        columns = source.n_features
        most = max(len(part) for part in parts)
        self.told.record("points", to_shard=len(points) * columns, from_shard=most * columns)
        ends = np.cumsum([len(part) for part in parts])
        starts = dict(zip(source.numbers, [0, *ends[:-1].tolist()], strict=True))
        with self.clock.stage("shards"):
            systems = engine.hold(
                function_shard_of,
                source.shards,
                engine.share(settings),
                engine.share(points),
                starts,
                alpha,
            )
            from_average = combination.start == "average"
            sides = engine.map(function_side_of, systems, from_average, label="shards")
        self.told.record("right-hand sides", to_shard=0, from_shard=count_numbers(sides[0]))

        def ask(question: str, V: Array) -> Sequence[Array]:
            answers = engine.map(answer_of, systems, question, V)
            self.told.record(
                question, to_shard=count_numbers(V), from_shard=count_numbers(answers[0])
            )
            return answers

        weights = np.array([weight for weight, *_ in sides])
        targets = settings.targets
        whole = targets.pairs is not None  # queries are not cut: their weights know their pairs
        shares = weights if whole else np.array([targets.share(weight) for weight in weights])
        models = [model for *_, model in sides] if from_average else None
        system = FunctionSystem(
            shares / shares.sum(), [side for _, side, _ in sides], models, ask, alpha
        )
        with self.clock.stage("rounds"):
            solution = combination.run(
                system,  # type: ignore[arg-type]
                combination.rounds or settings.rounds,
                self._round_progress(),
            )
        found = Fit(
            basis=FullKernel().of_points(points, settings.kernel),
            plan=plan,
            coefficients=solution.value,
            intercept=np.zeros(targets.outputs),
            solution=solution,
            alpha=alpha,
            total_weight=float(weights.sum()),
            weight=float(weights.sum()),
            n_rows=source.n_rows,
            **self._chosen,
        )
        return judged(found)

    def _check_memory(self, plan: Plan) -> None:
        """Refuse rounds in this process whose factors do not fit: each shard keeps one."""
        if not isinstance(self.engine, ThreadEngine):
            return
        needed = 8 * plan.size**2 * (len(self.source.shards) + 2)
        if needed > plan.memory_limit:
            raise MemoryLimitError(
                f"rounds keep a matrix for each of {len(self.source.shards)} shards, about "
                f"{human_bytes(needed)} in this process, over the memory_limit of "
                f"{human_bytes(plan.memory_limit)}: use combine='sum', fewer shards or functions, "
                f"or a cluster"
            )

    def _round_progress(self) -> Callable[[int, int, str], None] | None:
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total, note: progress("rounds", done, total, "rounds", note)

    # -- alpha

    def _with_alpha(self, plan: Plan) -> Settings:
        """Return the settings with alpha in numbers: one that suits all rows, from a pilot."""
        settings = self.settings
        if settings.alpha is not None:
            return settings
        if isinstance(settings.solver, IterativeSolver):
            return replace(settings, alpha=0.0)
        with self.clock.stage("choose alpha"):
            size = min(PILOT, self.source.n_rows)
            resizable = isinstance(plan.basis, (Landmarks, RandomFeatures)) and not plan.basis.dual
            chosen = plan.basis.resized(min(size, plan.size)) if resizable else Landmarks(size)
            pilot = Run(self.source, settings, Clock(), self.told, self.progress)
            found = pilot._summed(
                pilot._plan(chosen, settings.dtype, settings.pieces), Ridge(), None
            )
        self._chosen = {"alphas": found.alphas, "scores": found.scores}
        return replace(settings, alpha=found.alpha)


@dataclass(frozen=True)
class _Sized:
    """As many rows and columns as a plan needs to know of."""

    n_rows: int
    n_features: int


def _is_local(basis: Any) -> bool:
    return not (isinstance(basis, str) and basis == "auto") and as_basis(basis).local


def _size_of(basis: BasisTransformer) -> int:
    """Return how many numbers it takes to send a basis."""
    state: dict[str, Any] = basis.__getstate__()  # type: ignore[assignment]
    return sum(count_numbers(value) for name, value in state.items() if name != "_n_read")
