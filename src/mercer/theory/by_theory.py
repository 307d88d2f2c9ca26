"""Sizes and stopping levels by theory: exponents of the rows, estimated before a fit.

``n_components="theory"`` is the fewest functions that a theorem asks for, a power of n up to
constants; ``StopAtDiscrepancy(zeta="auto")`` has a threshold with the same exponents.
"""

from __future__ import annotations

from dataclasses import replace

from sklearn.base import clone

from mercer.bases.basis import WORST_CASE
from mercer.rates import Exponents
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.solvers import IterativeSolver, StopAtDiscrepancy
from mercer.theory import Study, study_rows
from mercer.theory.study import FEWEST

#: Rows and functions of the study: fewer than for a plan, as only exponents are asked for.
SAMPLE, FUNCTIONS = 4000, 300
#: The least capacity exponent: theorems leave out 0.
SMALLEST = 0.01


def resolved(
    request: Request, rows: RowSet, study: Study | None = None, n_rows: int | None = None
) -> Request:
    """Return the request with numbers where the exponents of the rows decide.

    Rankings, and rows that are too few for an estimate, have the exponents of the worst case.
    ``study`` is one that is there already, and ``n_rows`` those of the fit if it will have more.
    """
    basis, solver = request.basis, request.solver
    by_theory = basis is not None and basis.by_theory
    rule = solver.rule() if isinstance(solver, IterativeSolver) else None
    open_rule = isinstance(rule, StopAtDiscrepancy) and rule.open
    if not (by_theory or open_rule):
        return request
    exponents, how = WORST_CASE, "the worst case"
    if rows.n_rows >= FEWEST and not (request.targets.ranks or request.kernel.pairwise):
        exponents, how = estimated(rows, request, study), "estimated"
    if by_theory:
        assert basis is not None
        size = basis.theory_size(n_rows or rows.n_rows, exponents)
        reason = f"by theory for r = {exponents.r:.2g} and gamma = {exponents.gamma:.2g}, {how}"
        request = replace(request, basis=basis.resized(size), basis_reason=reason)
    if open_rule:
        assert isinstance(rule, StopAtDiscrepancy)
        stop = rule.known(exponents.r, exponents.gamma)
        request = replace(request, solver=clone(solver).set_params(stop=stop))
    return request


def estimated(rows: RowSet, request: Request, study: Study | None) -> Exponents:
    """Return the exponents of the rows, from a study of some of them."""
    if study is None:
        default = replace(request, basis=None, solver=None, alpha=None)
        study = study_rows(rows, default, sample=SAMPLE, n_components=FUNCTIONS)
    found = study.exponents if study.spread > 0 else WORST_CASE  # a constant y has none
    gamma = max(found.gamma, SMALLEST)
    return Exponents(found.r, gamma, max(found.alpha, gamma))
