"""Sizes and stopping levels by theory: exponents of the rows, estimated before a fit.

``n_components="theory"`` is the fewest functions that a theorem asks for, a power of n up to
constants; ``StopAtDiscrepancy(zeta="auto")`` has a threshold with the same exponents.
"""

from __future__ import annotations

from dataclasses import replace

from sklearn.base import clone

from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.solvers import IterativeSolver, StopAtDiscrepancy
from mercer.theory import study_rows
from mercer.theory.study import Study

#: Rows and functions of the study: fewer than for a plan, as only exponents are asked for.
SAMPLE, FUNCTIONS = 4000, 300


def resolved(request: Request, rows: RowSet) -> tuple[Request, Study | None]:
    """Return the request with numbers where the exponents of the rows decide, and the study."""
    basis, solver = request.asked_basis(), request.solver
    by_theory = basis is not None and basis.by_theory
    rule = solver.rule() if isinstance(solver, IterativeSolver) else None
    open_rule = isinstance(rule, StopAtDiscrepancy) and rule.open
    if not (by_theory or open_rule):
        return request, None
    study = study_rows(rows, request, sample=SAMPLE, n_components=FUNCTIONS)
    exponents = study.exponents
    if by_theory:
        assert basis is not None
        size = basis.theory_size(rows.n_rows, exponents)
        request = replace(request, basis=basis.resized(size))
    if open_rule:
        assert isinstance(rule, StopAtDiscrepancy)
        stop = rule.known(exponents.r, exponents.gamma)
        request = replace(request, solver=clone(solver).set_params(stop=stop))
    return request, study
