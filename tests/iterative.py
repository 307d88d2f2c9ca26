"""Models with iterative solvers: every solver, both forms, every rule."""

from __future__ import annotations

from typing import Any

import pytest

from cases import PLAIN, rows
from mercer import (
    KCGM,
    GradientDescent,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    StopAfter,
    StopAtDiscrepancy,
    StopByFolds,
    StopOnHeldOut,
)
from pairs import over_pairs

#: name -> a new solver with a rule
SOLVERS = {
    "kcgm": lambda stop="kfold", **more: KCGM(stop, **more),
    "plain": lambda stop="kfold", **more: GradientDescent(stop, **more),
    "accelerated": lambda stop="kfold", **more: GradientDescent(stop, accelerated=True, **more),
}
BASES = {
    "dual": lambda: "full",
    "primal": lambda: Landmarks(sampling=rows(12, seed=7)),
}
RULES = {
    "steps": StopAfter(4),
    "discrepancy": StopAtDiscrepancy(),
    "held out": StopOnHeldOut(),
    "folds": StopByFolds(3),
}
over_solvers = pytest.mark.parametrize("solver", SOLVERS)
over_bases = pytest.mark.parametrize("basis", BASES)
over_rules = pytest.mark.parametrize("rule", RULES)
over_all = over_pairs(solver=SOLVERS, basis=BASES, rule=RULES)
KERNEL = LaplacianL1("median")
#: Rows to predict.
NEW = rows(12, seed=9)


def model_of(
    solver: str,
    basis: str,
    stop: Any = "kfold",
    kernel: Any = KERNEL,
    kind: Any = KernelRegressor,
    **more: Any,
) -> Any:
    """An unfitted model."""
    made = SOLVERS[solver](stop, **more)
    return kind(kernel, BASES[basis](), solver=made, random_state=0, **PLAIN)
