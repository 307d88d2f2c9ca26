"""What all combinations share: parameters as scikit-learn reads them, checked before any work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator

from mercer.bases import Landmarks
from mercer.fit import fit
from mercer.plan import Plan, Sized, make_plan, plan_fit
from mercer.plan.cost import PILOT
from mercer.request import Request
from mercer.result import Clock, Fit, check_precision
from mercer.rows.rowset import RowSet
from mercer.solvers import Ridge


class Combination(BaseEstimator):
    """A way from what shards know to one model. It never sees who runs the shards."""

    #: How summaries name it.
    label = ""
    #: Whether every shard has functions of its own, rather than all the same.
    local_basis = False
    #: Whether the model depends on how many shards there are.
    depends_on_shards = True
    #: Whether the rows of a query must be in one shard.
    keeps_queries_whole = False

    def check(self) -> None:
        """Refuse invalid parameters."""

    def check_request(self, request: Request) -> None:
        """Refuse, before any work, a request that this combination cannot meet."""

    def fit(self, rows: RowSet, request: Request) -> Fit:
        """Fit one model to the rows of all shards."""
        raise TypeError(f"{type(self).__name__} does not define fit()")

    def _record(
        self, rows: RowSet, request: Request, plan: Plan, clock: Clock, **model: Any
    ) -> Fit:
        """Return the record of a fit; ``model`` holds what the combination has found."""
        assert request.alpha is not None
        found = Fit(
            plan=plan,
            alpha=request.alpha,
            n_rows=rows.n_rows,
            seconds=clock.seconds,
            combination=self.label,
            communication=rows.sent,
            **model,
        )
        return check_precision(found)

    def has_local_basis(self, request: Request) -> bool:
        """Whether shards have functions of their own: as asked for, or by the kind of basis."""
        asked = request.asked_basis()
        return self.local_basis or (asked is not None and asked.local)


def refuse_local_basis(combination: Combination, request: Request) -> None:
    """Refuse functions that are made of the rows of a shard."""
    asked = request.asked_basis()
    if asked is not None and asked.local:
        raise ValueError(
            f"combine={named(combination)!r} needs functions that all shards share, and "
            f"{type(asked).__name__} is made of the rows of a shard: use "
            f"combine='average', or basis='landmarks' or 'random_features'"
        )


def named(combination: Combination) -> str:
    """Return the name that a combination goes by, for messages."""
    return getattr(combination, "alias", type(combination).__name__)


def chosen_alpha(rows: RowSet, request: Request, plan: Plan) -> tuple[Request, dict[str, Any]]:
    """Return the request with alpha in numbers, one that suits all rows, and how it was chosen.

    Shards on their own would choose one that suits fewer rows: a pilot, an exact sum with few
    functions, looks at all of them.
    """
    if request.alpha is not None:
        return request, {}
    if request.solver is not None and request.solver.regularized_by_steps:
        return replace(request, alpha=0.0), {}
    size = min(PILOT, rows.n_rows)
    basis = plan.basis
    chosen = Landmarks(size) if basis.local else basis.resized(min(size, plan.size))
    asked = replace(request, basis=chosen, solver=Ridge(), needs_sums=True)
    pilot = fit(rows, asked, (make_plan(rows, asked), Ridge()))
    path = {"alphas": pilot.alphas, "scores": pilot.scores}
    return replace(request, alpha=pilot.alpha), path


def shard_plan(rows: RowSet, request: Request, local: bool) -> Plan:
    """Return the plan of functions that all shards share, or of the largest shard's own."""
    asked = replace(request, dtype=request.shard_dtype, alpha=request.alpha or 0.0)
    if local:
        largest = max(fact.rows for fact in rows.facts)
        return plan_fit(Sized(largest, rows.n_features), replace(asked, needs_sums=False))[0]
    if asked.solver is not None and asked.solver.needs == "products":
        return plan_fit(Sized(rows.n_rows, rows.n_features), replace(asked, needs_sums=False))[0]
    return make_plan(rows, replace(asked, needs_sums=True))
