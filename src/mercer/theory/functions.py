"""Functions whose sums over rows are taken, in float64: errors and residuals are differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.bases import BasisTransformer
from mercer.contracts import Reading
from mercer.plan import make_plan
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.solvers import Ridge


def functions_for_sums(
    rows: RowSet, request: Request, basis: BasisTransformer, rng: np.random.Generator
) -> tuple[BasisTransformer, Reading]:
    """Return a basis fitted to the rows, and how a pass without folds reads them."""
    asked = replace(
        request,
        basis=basis,
        solver=Ridge(),
        alpha=0.0,
        dtype="float64",
        needs_sums=True,
        previous=None,
    )
    plan = make_plan(rows, asked)
    fitted = plan.basis.fit_source(
        rows,  # type: ignore[arg-type]
        request.kernel,
        rng,
        "float64",
    )
    return fitted, replace(plan.reading, folds=1, held_out=None)
