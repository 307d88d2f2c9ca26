"""The base class of combinations, and the exact sum, the same fit as with all rows in one place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator

from mercer.bases import BasisTransformer, Landmarks
from mercer.fit import fit
from mercer.growth import fit_growing
from mercer.plan import Plan, Sized, make_plan, plan_fit
from mercer.plan.cost import PILOT, pilot_of_shards
from mercer.request import Problem, Request
from mercer.result import Clock, Fit, check_precision
from mercer.rows.rowset import RowSet
from mercer.solvers import Ridge


class Combination(BaseEstimator):
    """A method that fits one model to shards. It is independent of the engine."""

    #: Its name in summaries.
    label = ""
    #: Whether every shard has its own functions instead of a shared basis.
    local_basis = False
    #: Whether the model depends on how many shards there are.
    depends_on_shards = True

    @property
    def keeps_queries_whole(self) -> bool:
        """Whether all rows of a query must be in one shard."""
        return False

    def check(self) -> None:
        """Validate the parameters."""

    def check_request(self, problem: Problem) -> None:
        """Raise ValueError, before the fit starts, if the combination cannot serve the problem."""

    def fit(self, rows: RowSet, request: Request) -> Fit:
        """Fit one model to the rows of all shards."""
        raise TypeError(f"{type(self).__name__} does not define fit()")

    def _record(
        self, rows: RowSet, request: Request, plan: Plan, clock: Clock, **model: Any
    ) -> Fit:
        """Return the record of a fit; ``model`` is the result of the combination."""
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

    def has_local_basis(self, problem: Problem) -> bool:
        """Return whether shards have their own functions: by parameter, or by the kind of basis."""
        return self.local_basis or (problem.basis is not None and problem.basis.local)


def refuse_local_basis(combination: Combination, problem: Problem) -> None:
    """Raise ValueError if the basis depends on the rows of a shard."""
    basis = problem.basis
    if basis is not None and basis.local:
        raise ValueError(
            f"combine={named(combination)!r} needs functions that all shards share, but "
            f"{type(basis).__name__} depends on the rows of each shard: use "
            f"combine='average', or basis='landmarks' or 'random_features'"
        )


def named(combination: Combination) -> str:
    """Return the name of a combination, for messages."""
    return getattr(combination, "alias", type(combination).__name__)


def chosen_alpha(rows: RowSet, request: Request, plan: Plan) -> tuple[Request, dict[str, Any]]:
    """Return the request with a numeric alpha that suits all rows, and how it was chosen.

    A shard by itself would choose an alpha that suits fewer rows, so a pilot fit, an exact sum with
    fewer functions, uses all of them. Its sums are at most about a quarter of those of all
    functions. The error of averaged models on held-out rows would take vectors only, but where
    shards have hardly more rows than functions, holding some out makes their models much worse,
    so that alpha is too large; and where shards differ, it says little about a fit of all rows.
    """
    if request.alpha is not None:
        return request, {}
    if request.solver is not None and request.solver.regularized_by_steps:
        return replace(request, alpha=0.0), {}
    basis = plan.basis
    if basis.local or basis.scores_at_alpha:
        chosen: BasisTransformer = Landmarks(min(PILOT, rows.n_rows))
    else:
        chosen = basis.resized(min(rows.n_rows, pilot_of_shards(plan.size)))
    smaller = replace(request, basis=chosen, solver=Ridge(), needs_sums=True)
    pilot = fit(rows, smaller, (make_plan(rows, smaller), Ridge()))
    path = {"alphas": pilot.alphas, "scores": pilot.scores}
    return replace(request, alpha=pilot.alpha), path


def shard_plan(rows: RowSet, request: Request, local: bool) -> Plan:
    """Return the plan for shared functions, or for the local functions of the largest shard."""
    request = replace(request, dtype=request.shard_dtype, alpha=request.alpha or 0.0)
    if local:
        largest = max(fact.rows for fact in rows.facts)
        return plan_fit(Sized(largest, rows.n_features), replace(request, needs_sums=False))[0]
    if request.solver is not None and request.solver.needs == "products":
        return plan_fit(
            Sized(rows.n_rows, rows.n_features, rows.one_place), replace(request, needs_sums=False)
        )[0]
    return make_plan(rows, replace(request, needs_sums=True))


class ExactSum(Combination):
    """The exact solution for all rows, for any number of shards.

    .. math:: S = \\sum_j S_j, \\qquad t = \\sum_j t_j

    Moments are sums over rows, so those of the shards add up to those of all rows, and one solve
    remains. Each shard sends its moments once, M ((M + 1) / 2 + k + 2) numbers and a few more: S is
    symmetric, so it is sent as a triangle. For a solve by products a shard sends one vector per
    step instead. A fit in one place is the sum over one shard.
    """

    label = "exact sum of moments"
    alias = "sum"
    depends_on_shards = False

    def check_request(self, problem: Problem) -> None:
        """Raise ValueError for a local basis; the exact kernel can be solved by products."""
        basis, solver = problem.basis, problem.solver
        by_products = solver is not None and solver.needs == "products"
        if not (basis is not None and basis.dual and by_products):
            refuse_local_basis(self, problem)

    def fit(self, rows: RowSet, request: Request) -> Fit:
        """Fit one model to the rows of all shards."""
        found = fit_growing(rows, request)
        if rows.one_place:
            return found
        by_products = "products" in found.plan.form
        label = "exact sum of products" if by_products else self.label
        return replace(found, combination=label)
