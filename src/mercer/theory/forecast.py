"""What each system would need for a problem, and what error to expect.

The sizes of the papers (:mod:`mercer.rates`) are powers of n, known up to constants. Beside them
stand sizes from the measured surface of errors: the fewest functions and the most shards whose
predicted error is within 2 percent of the best. Seconds, memory, bytes and errors are for the
latter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer.plan import Plan
from mercer.plan.cost import Speeds
from mercer.rates import SYSTEMS
from mercer.request import Request
from mercer.theory.learning_surface import Estimate
from mercer.theory.shapes import SHAPES, Shape
from mercer.theory.sizing import (
    EQUAL,
    enough_functions,
    memory_of,
    most_shards,
    predicted_error,
)
from mercer.theory.study import Study
from mercer.theory.system_costs import COSTS, Cluster, Sizes

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

    def __init__(
        self,
        study: Study,
        request: Request,
        n_rows: int,
        n_features: int,
        *,
        speeds: Speeds,
        cluster: Cluster,
        memory_limit: int,
    ) -> None:
        self.study, self.request = study, request
        self.n_rows, self.n_features = n_rows, n_features
        self.speeds, self.cluster, self.memory_limit = speeds, cluster, memory_limit

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
            limit = most_shards(self.study, shape, self.n_rows, functions)
            shards = max(1, min(shards, limit))
            if shards < self.cluster.workers:
                notes.append(f"more than {limit:,} shards would raise the error")
        return self._of(name, shape, functions, shards, limit, notes)

    def affordable(self, shape: Shape) -> int:
        """Return enough functions, as far as their memory fits the limit."""
        most = min(self.n_rows, MOST_FUNCTIONS)
        while most > 100 and self._memory(shape, most) > self.memory_limit:
            most = int(0.8 * most)
        return enough_functions(self.study, shape.family, self.n_rows, most)

    def _memory(self, shape: Shape, functions: int, shards: int = 1) -> float:
        return memory_of(self.request, shape, self._sizes(shape, functions, shards))

    def _sizes(self, shape: Shape, functions: int, shards: int) -> Sizes:
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
        memory = self._memory(shape, functions, shards)
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
