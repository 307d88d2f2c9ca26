"""Grow the number of landmarks until more of them would hardly lower the error.

Landmarks are drawn once, in random order, and a model of M functions has the first M of them: each
size is a uniform sample, and contains all smaller ones. Sizes double from 250 on. Every size is
fitted to all rows, since a sample of rows needs fewer functions than all of them, and the scores
that choose its alpha say how good it is (:mod:`mercer.selection.size_path`). One size costs
``n M^2``, so all smaller sizes together cost at most a third of the last one.

The largest size may be solved by products, which give no scores: the size before chooses its alpha.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from mercer.contracts import Array, Penalty
from mercer.fit import Solved, fit, fit_basis, leave_rows_out, solve_rows
from mercer.kernels.bandwidth import SAMPLE
from mercer.kernels.kernel import dense
from mercer.plan import FULL_ROWS, Plan, fit_seconds, make_plan, plan_fit, product_plan
from mercer.plan.cost import PILOT
from mercer.plan.plan import Shape
from mercer.request import Request
from mercer.result import Clock, Fit
from mercer.rows.rowset import RowSet
from mercer.sampling import random_order
from mercer.selection import AutoSelection, SizePath
from mercer.solvers import BaseSolver, Ridge
from mercer.solving import Outcome
from mercer.systems import MomentSystem
from mercer.validation import MemoryLimitError

#: The first number of landmarks.
FIRST = 250
#: Why a size is what it is.
GROWN = f"grown from {FIRST}"
#: The largest size is not tried after one that has nearly as many landmarks.
CLOSE = 1.5
#: Further landmarks depend on those that are there if most of a size do, and it has hardly more
#: functions than the size before: few rows of a table of categories are distinct.
MORE_FUNCTIONS = 1.05
#: If more than this share of the first rows are copies, more rows are looked at for each landmark.
COPIES, POOL = 0.05, 4
#: Below this alpha, products would take too many steps, and functions depend on each other so much
#: that more of them hardly help: the largest size is then one that moments can solve.
SMALLEST_ALPHA = 1e-8


def fit_growing(rows: RowSet, request: Request) -> Fit:
    """Fit one model to all rows; if its number of landmarks is left open, grow it.

    Parameters
    ----------
    rows : RowSet
        The rows.
    request : Request
        The parameters of the fit.
    """
    if not leaves_open(rows, request):
        return fit(rows, request)
    if request.previous is not None:  # it has grown already
        known = request.previous.plan
        again = replace(request, basis=clone(known.basis), basis_reason=known.reason)
        return replace(fit(rows, again), sizes=request.previous.sizes)
    summed = request if rows.one_place else replace(request, leave_out=None)
    plan, solver = plan_fit(rows, summed)
    if not can_grow(plan, solver):
        return fit(rows, request, (plan, solver))
    return Growth(rows, request, summed, plan, solver).run()


def leaves_open(rows: Shape, request: Request) -> bool:
    """Return whether the number of landmarks is open; few rows are all landmarks by default."""
    basis = request.basis
    return rows.n_rows > FULL_ROWS if basis is None else basis.grows


def can_grow(plan: Plan, solver: BaseSolver) -> bool:
    """Return whether there are smaller sizes than the planned one, and scores to compare them by.

    The full kernel has no size, and steps have no scores.
    """
    fixed = plan.basis.dual or solver.regularized_by_steps
    return not fixed and len(sizes_up_to(plan.size)) > 1


def planned_growth(rows: Shape, request: Request, error_of: Callable[[int], float]) -> Plan:
    """Return the plan of the size that a fit would grow to if errors were as forecast.

    ``error_of`` is the error of a size, relative to that without functions.
    """
    last, solver = plan_fit(rows, request)
    if not (leaves_open(rows, request) and can_grow(last, solver)):
        return last
    path = SizePath(largest=last.size, spread=1.0, squared=hasattr(request.targets, "classes"))
    for size in sizes_up_to(last.size):
        path = path.grown(size, error_of(size), 0.0)
        if path.is_enough:
            break
    plan = last
    if size < last.size:
        small = last.basis.resized(size)
        smaller = replace(request, basis=small, solver=Ridge(), basis_reason=GROWN)
        plan = make_plan(rows, smaller)
    return replace(plan, reason=with_next_doubling(rows, request, plan, path))


def with_next_doubling(rows: Shape, request: Request, plan: Plan, path: SizePath) -> str:
    """Return the reason of a plan, and what twice as many functions would gain and cost."""
    double = 2 * plan.size
    if double > rows.n_rows or len(path.measured) < 2:
        return plan.reason
    doubled = replace(request, basis=plan.basis.resized(double))
    try:
        larger, _ = plan_fit(rows, doubled)
    except MemoryLimitError:
        return plan.reason
    ratio = fit_seconds(rows, larger, doubled) / fit_seconds(rows, plan, doubled)
    return (
        f"{plan.reason}; {double:,} would lower the error by about {path.gain(double):.1%} for "
        f"{ratio:.1f} times the time"
    )


def sizes_up_to(largest: int) -> list[int]:
    """Return the sizes to try.

    >>> sizes_up_to(4000), sizes_up_to(2600), sizes_up_to(200)
    ([250, 500, 1000, 2000, 4000], [250, 500, 1000, 2600], [200])
    """
    sizes, size = [], FIRST
    while CLOSE * size <= largest:
        sizes.append(size)
        size *= 2
    return [*sizes, largest]


@dataclass
class Growth:
    """The state of a fit that grows: the largest plan, and what was measured so far.

    Parameters
    ----------
    rows : RowSet
        The rows.
    request, summed : Request
        The parameters of the fit, and those that sizes are planned with.
    last : Plan
        The plan of the largest size.
    solver : BaseSolver
        Its solver.
    """

    rows: RowSet
    request: Request
    summed: Request
    last: Plan
    solver: BaseSolver

    def run(self) -> Fit:
        """Fit growing sizes; return the last."""
        path = SizePath(squared=hasattr(self.request.targets, "classes"))
        order = self._draw()
        size, clock, widened, functions = FIRST, Clock(), False, 0
        scored: Outcome | None = None  # the last one with scores, which chooses alpha for products
        while True:
            self._report(size)
            start = time.perf_counter()
            plan, solver = self._planned(size, widened)
            alpha = self.request.alpha
            if alpha is None and plan.form != "moments":
                assert scored is not None
                alpha = scored.alpha
            clock = Clock(sum(clock.seconds.values()))
            with clock.stage("basis"):
                basis = fit_basis(self.rows, self.request, plan, np.sort(order[:size]))
            solved = solve_rows(self.rows, self.request, (plan, solver), basis, alpha, clock)
            if isinstance(solved.system, MomentSystem):
                scored = solved.outcome
                spread = float(np.sum(solved.system.target_square @ solved.system.units))
                self._limit(scored.alpha)
                path = replace(path, largest=max(size, self.last.size), spread=spread)
                widened = plan.precision == "float32" and basis.precision_ == "float64"
            path = path.grown(size, self._error(solved), time.perf_counter() - start)
            depend = basis.size < size / 2 and basis.size <= MORE_FUNCTIONS * functions
            if path.is_enough or depend:
                break
            functions = basis.size
            size = self._following(path)
            del solved  # before the next one takes memory
        assert scored is not None
        found = leave_rows_out(self._as_asked(solved, clock))
        reason = with_next_doubling(self.rows, self.summed, found.plan, path)
        if depend:
            reason = f"{plan.reason}; further ones depend on these"
        plan = replace(found.plan, reason=reason)
        alphas, scores = scored.alphas, scored.scores
        return replace(found, plan=plan, sizes=path, alphas=alphas, scores=scores)

    def _draw(self) -> Array:
        """Draw rows in random order, and estimate the kernel's parameters from the first ones.

        Where rows are copies of others, as in a table of categories, those come last.
        """
        rows, kernel = self.rows, self.request.kernel
        least = min(SAMPLE, rows.n_rows)
        size = max(self.last.size, least)
        order = random_order(rows.n_rows, size, self.request.seeds.basis())
        if kernel.pairwise:
            return order
        sample = self._taken(order[:least])
        if kernel.needs_rows:
            kernel = kernel.fitted(sample)
            self.request = replace(self.request, kernel=kernel)
            self.summed = replace(self.summed, kernel=kernel)
        if len(np.unique(sample, axis=0)) > (1 - COPIES) * least:
            return order
        order = random_order(rows.n_rows, POOL * size, self.request.seeds.basis())
        pool, first = self._taken(order), np.zeros(len(order), dtype=bool)
        places = np.argsort(np.argsort(order))  # taken rows are in increasing order
        first[np.unique(pool[places], axis=0, return_index=True)[1]] = True
        return np.concatenate([order[first], order[~first]])[:size]

    def _taken(self, indices: Array) -> Array:
        """Return rows in increasing order, from their shards."""
        found = dense(self.rows.take(np.sort(indices)))
        if self.rows.sent is not None:
            self.rows.sent.record("bandwidth", 0, -(-found.size // self.rows.sent.shards))
        return found

    def _planned(self, size: int, widened: bool) -> tuple[Plan, BaseSolver]:
        """Return the plan of a size, and its solver."""
        if size == self.last.size:
            plan, solver = replace(self.last, pilot=None), self.solver
        else:
            solver = self.solver if self.solver.needs == "matrix" else Ridge()
            small = self.last.basis.resized(size)
            smaller = replace(self.summed, basis=small, solver=solver, basis_reason=GROWN)
            if smaller.alpha is not None:  # its error is measured all the same
                smaller = replace(smaller, alpha=None, criterion=AutoSelection())
            plan = make_plan(self.rows, smaller)
        if widened and plan.form == "moments":  # so would these functions be
            plan = replace(plan, precision="float64")
        return plan, solver

    def _error(self, solved: Solved) -> float:
        """Return the mean squared error on left-out rows; NaN if it is not known."""
        outcome, alpha = solved.outcome, solved.outcome.alpha
        if not isinstance(solved.system, MomentSystem):
            return float("nan")
        if outcome.scores is not None:
            assert outcome.alphas is not None
            return outcome.scores.at(outcome.alphas, alpha)
        if solved.work.plan.size == self.last.size:  # nothing depends on it
            return float("nan")
        rng, alphas = self.request.seeds.solve(), np.unique(alpha)
        return AutoSelection().score(solved.system, alphas, rng).at(alphas, alpha)

    def _limit(self, alpha: Penalty) -> None:
        """Plan the largest size by moments if products would take too many steps."""
        automatic = self.request.solver is None and self.last.form == "products"
        if automatic and np.min(alpha) < SMALLEST_ALPHA:
            self.last, self.solver = plan_fit(self.rows, replace(self.summed, solver=Ridge()))

    def _following(self, path: SizePath) -> int:
        """Return the next size: the largest one if smaller ones are no cheaper, or not enough."""
        size, largest = int(path.sizes[-1]), self.last.size
        following = next(one for one in sizes_up_to(largest) if one > size)
        if self.last.form != "products" or size < PILOT:
            return following
        # Products need no smaller sizes than the one that chooses alpha.
        plan, _ = self._planned(following, widened=False)
        dearer, most = (fit_seconds(self.rows, one, self.summed) for one in (plan, self.last))
        return largest if most <= dearer or not path.suffices(following) else following

    def _as_asked(self, solved: Solved, clock: Clock) -> Solved:
        """Solve the last size once more by products, if the user asked for that."""
        solver, plan = self.request.solver, solved.work.plan
        if solver is None or solver.needs != "products" or plan.form == "products":
            return solved
        alpha = solved.outcome.alpha
        small = plan.basis.resized(plan.size)
        request = replace(self.summed, basis=small, alpha=alpha, basis_reason=plan.reason)
        planned = replace(product_plan(self.rows, request), basis=plan.basis)
        basis = solved.work.basis
        return solve_rows(self.rows, self.request, (planned, solver), basis, alpha, clock)

    def _report(self, size: int) -> None:
        if self.request.progress is not None:
            self.request.progress("size", 0, 0, "functions", f"{size:,} functions")
