"""What each system would need for a problem, and what error to expect.

The sizes of the papers (:mod:`mercer.rates`) are powers of n, known up to constants. Beside them
stand sizes from the measured surface of errors: the fewest functions and the most shards whose
predicted error is within 2 percent of the best. Seconds, memory, bytes and errors are for the
latter.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, astuple, dataclass, replace
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, FullKernel, Landmarks, RandomFeatures
from mercer.plan import Plan, Sized, make_plan
from mercer.plan.cost import Speeds
from mercer.plan.moments_or_products import product_plan
from mercer.plan.plan import dual_memory
from mercer.rates import SYSTEMS
from mercer.request import Request
from mercer.solvers import PreconditionedCG
from mercer.theory.learning_surface import Estimate
from mercer.theory.study import Study
from mercer.theory.system_costs import COSTS, Cluster, Sizes

#: An error within this factor of the best counts as equal.
EQUAL = 1.02
#: Sizes that are compared: each is larger than the one before by this factor.
STEP = 1.25
#: The most functions of a forecast.
MOST_FUNCTIONS = 50_000
#: Shards of an average where the number of workers does not say.
SHARDS = 10
#: Rounds of the combinations that take rounds.
ROUNDS = 8
#: The family and the combination of a planned fit, by the form of its system.
FORMS = {
    "moments": ("landmarks", "sum"),
    "products": ("landmarks", "products"),
    "kernel matrix": ("full", "full"),
    "kernel products": ("full", "full products"),
}


@dataclass(frozen=True)
class Shape:
    """A system.

    Attributes
    ----------
    family : str
        "full", "landmarks" or "random features".
    combination : str
        A key of :data:`mercer.theory.system_costs.COSTS`.
    statement : str or None
        The theorem with its sizes, a key of :data:`mercer.rates.SYSTEMS`.
    """

    family: str
    combination: str
    statement: str | None = None

    @property
    def full(self) -> bool:
        """Whether there is a function for every row."""
        return self.family == "full"

    @property
    def measured_family(self) -> str:
        """The family whose errors were measured: the landmarks for the full kernel."""
        return "landmarks" if self.full else self.family

    @property
    def depends_on_shards(self) -> bool:
        """Whether a fit in one place has shards too."""
        return self.combination in ("average", "rounds")

    @property
    def averaged(self) -> bool:
        """Whether the error depends on the number of shards."""
        return self.combination == "average"


#: The systems of a forecast, by the names of :data:`mercer.recipes.RECIPES` where they have one.
SHAPES: dict[str, Shape] = {
    "KRR": Shape("full", "full", "KRR"),
    "KRR-Nystroem": Shape("landmarks", "sum", "DNystroem"),
    "FALKON": Shape("landmarks", "products", "DNystroem"),
    "Nystroem KCGM": Shape("landmarks", "sum", "Nystroem KCGM"),
    "KRR-RF": Shape("random features", "sum", "KRR-RF"),
    "DKRR": Shape("full", "average", "DKRR"),
    "DC-NY": Shape("landmarks", "average", "DC-NY"),
    "DNystroem": Shape("landmarks", "average", "DNystroem"),
    "DNystroem leverage": Shape("landmarks", "average", "DNystroem, leverage"),
    "DKRR-RF": Shape("random features", "average", "DKRR-RF"),
    "conjugate rounds": Shape("landmarks", "rounds"),
}


def predicted_error(
    study: Study, shape: Shape, n_rows: float, functions: float, rows_each: float = np.inf
) -> Estimate:
    """Return the error rate of classes, or the root mean squared error in the units of y.

    ``rows_each`` is the rows of a shard of an average; infinite where shards change nothing.
    """
    found = study.stated.at(n_rows, functions, shape.measured_family)
    more = 0.0
    if np.isfinite(rows_each):
        more = study.added("full" if shape.full else "shared", rows_each)
    values = [value + more for value in astuple(found)]
    if study.rate_surface is None:
        values = [float(np.sqrt(study.spread * value)) for value in values]
    return Estimate(*values)


@dataclass(frozen=True)
class SystemForecast:
    """What one system needs.

    Attributes
    ----------
    name : str
        The system.
    functions, shards, rounds : int
        M, m and rounds that the forecast is for.
    most_shards : int or None
        The most shards with the same error, as measured; None if any number has it.
    paper_functions, paper_shards : float or None
        The sizes of the paper, up to constants; None if it has none or does not cover the problem.
    memory : float
        Bytes of the largest process, besides its rows.
    sent : float
        Bytes that a shard sends.
    seconds, cluster_seconds : float
        On this machine, and on the cluster.
    error : Estimate
        Root mean squared error in the units of y, or the error rate of classes.
    note : str
        What the paper does not cover, or why there is no forecast.
    """

    name: str
    functions: int
    shards: int
    rounds: int
    most_shards: int | None
    paper_functions: float | None
    paper_shards: float | None
    memory: float
    sent: float
    seconds: float
    cluster_seconds: float
    error: Estimate
    note: str = ""


@dataclass(frozen=True)
class Forecast:
    """A forecast for a number of rows: the problem, and what each system needs.

    ``recommended`` is the fastest system on the cluster whose error is within 2 percent of the
    best and that fits the memory limit.
    """

    study: Study
    n_rows: int
    n_features: int
    outputs: int
    cluster: Cluster
    speeds: Speeds
    search_seconds: float
    systems: tuple[SystemForecast, ...]
    memory_limit: int
    classes: bool

    @property
    def recommended(self) -> SystemForecast:
        """The fastest system that is nearly as good as any."""
        possible = [one for one in self.systems if one.memory <= self.memory_limit]
        possible = possible or list(self.systems)
        best = min(one.error.value for one in possible)
        good = [one for one in possible if one.error.value <= EQUAL * best]
        return min(good, key=lambda one: one.cluster_seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as numbers and text, for JSON."""
        study = self.study
        return {
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "sample": study.n_rows,
            "workers": self.cluster.workers,
            "network": self.cluster.network,
            "exponents": {
                "gamma": asdict(study.gamma),
                "alpha": asdict(study.supremum),
                "r": asdict(study.r),
                "rate": asdict(study.rate),
                "capacity_law": study.capacity.gamma.verdict,
            },
            "noise": asdict(study.surface.noise),
            "penalty": study.alpha(self.n_rows),
            "misfit": study.surface.misfit,
            "search_seconds": self.search_seconds,
            "systems": [asdict(one) for one in self.systems],
            "recommended": self.recommended.name,
        }


@dataclass(frozen=True)
class Forecaster:
    """Forecasts for ``n_rows`` rows like those that were studied.

    Parameters
    ----------
    study : Study
        What was measured.
    request : Request
        The parameters of the fit; its kernel has numeric parameters.
    n_rows, n_features : int
        The sizes of the fit.
    speeds : Speeds
        Of this machine, and of every worker.
    cluster : Cluster
        The workers.
    memory_limit : int
        Bytes.
    """

    study: Study
    request: Request
    n_rows: int
    n_features: int
    _: KW_ONLY
    speeds: Speeds
    cluster: Cluster
    memory_limit: int

    def forecast(self, plan: Plan | None = None, search_seconds: float = 0.0) -> Forecast:
        """Return the forecast of all systems, and of a planned fit."""
        families = ("full", *self.study.surface.families)
        systems = [
            self.system(name, shape) for name, shape in SHAPES.items() if shape.family in families
        ]
        if plan is not None:
            systems.insert(0, self.planned(plan))
        return Forecast(
            self.study,
            self.n_rows,
            self.n_features,
            self.request.outputs,
            self.cluster,
            self.speeds,
            search_seconds,
            tuple(systems),
            self.memory_limit,
            self.study.rate_surface is not None,
        )

    def planned(self, plan: Plan) -> SystemForecast:
        """Return the forecast of a fit as the estimator would run it in one place."""
        family, combination = FORMS[plan.form]
        if family == "landmarks" and hasattr(plan.basis, "orthogonal"):
            family = "random features"
        if family not in ("full", *self.study.surface.families):
            family = "landmarks"
        shape = Shape(family, combination)
        return self._of("this estimator", shape, plan.size, 1, None, [plan.reason])

    def system(self, name: str, shape: Shape) -> SystemForecast:
        """Return the forecast of a system by its name."""
        notes: list[str] = []
        functions = self.n_rows if shape.full else self.affordable(shape)
        limit: int | None = None
        several = self.cluster.workers > 1
        shards = self.cluster.workers if several else SHARDS
        if shape.combination == "full" or (not several and not shape.depends_on_shards):
            shards = 1
        if shape.averaged:
            limit = self._most_shards(shape, functions)
            shards = max(1, min(shards, limit))
            if shards < self.cluster.workers:
                notes.append(f"more than {limit:,} shards would raise the error")
        return self._of(name, shape, functions, shards, limit, notes)

    def affordable(self, shape: Shape) -> int:
        """Return the fewest functions with nearly the error of the most that memory allows."""
        most = min(self.n_rows, MOST_FUNCTIONS)
        while most > 100 and self._memory(shape, self._sizes(shape, most)) > self.memory_limit:
            most = int(0.8 * most)
        sizes = _grid(100, most)
        errors = [self._stated(shape, size) for size in sizes]
        limit = self._tolerance * errors[-1]
        return next(size for size, error in zip(sizes, errors, strict=True) if error <= limit)

    def _most_shards(self, shape: Shape, functions: int) -> int:
        """Return the most shards whose average is nearly as good as one fit."""
        room = (self._tolerance - 1.0) * self._stated(shape, functions)
        kind = "full" if shape.full else "shared"
        added = ((m, self.study.added(kind, self.n_rows / m)) for m in _grid(1, self.n_rows))
        return max((m for m, more in added if more <= room), default=1)

    @property
    def _tolerance(self) -> float:
        """The factor within which errors count as equal: squared errors have twice the room."""
        return EQUAL if self.study.rate_surface is not None else EQUAL**2

    def _stated(self, shape: Shape, functions: int) -> float:
        return self.study.stated.at(self.n_rows, functions, shape.measured_family).value

    def _memory(self, shape: Shape, sizes: Sizes) -> float:
        """Return the bytes of the largest process, besides its rows."""
        rows = int(np.ceil(sizes.rows_each if sizes.full else sizes.n_rows))
        sized = Sized(rows, sizes.n_features)
        if sizes.full and "products" not in shape.combination:
            return float(dual_memory(sized))
        bases: dict[str, BasisTransformer] = {
            "full": FullKernel(),
            "landmarks": Landmarks(sizes.functions),
            "random features": RandomFeatures(sizes.functions),
        }
        request = replace(self.request, basis=bases[shape.family], alpha=0.0, memory_limit=2.0**62)
        if "products" in shape.combination:
            solver = PreconditionedCG(keep=not shape.full)
            return float(
                product_plan(sized, replace(request, solver=solver, needs_sums=False)).memory
            )
        return float(make_plan(sized, replace(request, needs_sums=not shape.full)).memory)

    def _sizes(self, shape: Shape, functions: int, shards: int = 1) -> Sizes:
        rounds = ROUNDS if shape.combination == "rounds" else 0
        common = self.n_rows, self.n_features, self.request.outputs
        return Sizes(*common, functions, shards, rounds, shape.full)

    def _of(
        self,
        name: str,
        shape: Shape,
        functions: int,
        shards: int,
        limit: int | None,
        notes: list[str],
    ) -> SystemForecast:
        stated = None
        if shape.statement is not None:
            stated = SYSTEMS[shape.statement].at(self.n_rows, self.study.exponents)
            if stated.not_covered:
                notes.append(f"not covered by {stated.statement}")
        sizes = self._sizes(shape, functions, shards)
        cost = COSTS[shape.combination]
        seconds, sent = cost(sizes, self.speeds, Cluster())
        cluster_seconds, _ = cost(sizes, self.speeds, self.cluster)
        memory = self._memory(shape, sizes)
        if memory > self.memory_limit:
            notes.append("over the memory limit")
        each = sizes.rows_each if shape.averaged else np.inf
        return SystemForecast(
            name,
            functions,
            shards,
            sizes.rounds,
            limit,
            None if stated is None else stated.size,
            None if stated is None else stated.partitions,
            memory,
            sent,
            seconds,
            cluster_seconds,
            predicted_error(self.study, shape, self.n_rows, functions, each),
            "; ".join(dict.fromkeys(notes)),
        )


def _grid(first: int, last: int) -> list[int]:
    """Return growing sizes from the first to the last."""
    sizes, size = [], float(first)
    while size < last:
        sizes.append(int(size))
        size = max(size + 1, size * STEP)
    return [*sizes, max(1, last)]
