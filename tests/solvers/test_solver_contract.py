"""Every solver and every form of a system passes the public checks."""

import numpy as np
import pytest

import mercer.fit
from cases import rows, targets, weights
from mercer import KernelRegressor, Landmarks, PreconditionedCG, RandomFeatures
from mercer.forms import FORMS
from mercer.solvers import SOLVERS, CutOff, GradientDescent, Ridge
from mercer.systems import DirectSystem
from mercer.testing import SOLVER_CHECKS, SYSTEM_CHECKS
from pairs import over_each

PARTICULAR = {
    "cholesky": lambda: Ridge("cholesky"),
    "eigen": lambda: Ridge("eigen"),
    "accelerated": lambda: GradientDescent(accelerated=True),
    "exact_pcg": lambda: PreconditionedCG(tolerance=1e-10),
}
ALL = {**SOLVERS, **PARTICULAR}
every_check = pytest.mark.parametrize("check", SYSTEM_CHECKS, ids=lambda check: check.__name__)


@pytest.mark.parametrize("check", SOLVER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ALL)
def test_a_solver_passes(name, check):
    check(ALL[name]())


def systems_of(monkeypatch, **settings):
    """Fit, and return the systems that were built on the way."""
    found = []
    for form, build in FORMS.items():
        monkeypatch.setitem(FORMS, form, lambda work, b=build: found.append(b(work)) or found[-1])
    assert mercer.fit.FORMS is FORMS
    X = rows()
    settings = {"alpha": 1e-2, "random_state": 0, "dtype": "float64", **settings}
    KernelRegressor("laplacian_l1", **settings).fit(X, targets(X, 2), weights())
    return found


@over_each(
    basis=["full", Landmarks(10), RandomFeatures(12)],
    solver=["ridge", "pcg"],
    intercept=[True, False],
    shards=[None, 3],
)
def test_the_system_of_a_fit_passes(basis, solver, intercept, shards, monkeypatch):
    solver = "pcg" if shards and basis == "full" else solver
    settings = {"basis": basis, "solver": solver, "fit_intercept": intercept, "shards": shards}
    (system,) = systems_of(monkeypatch, **settings)
    for check in SYSTEM_CHECKS:
        check(system, 1e-2)


@pytest.mark.parametrize("solver", ["ridge", "pcg"])
@pytest.mark.parametrize("basis", ["full", "landmarks"])
def test_every_form_passes(basis, solver, monkeypatch):
    (system,) = systems_of(monkeypatch, basis=basis, solver=solver)
    assert system.offers
    for check in SYSTEM_CHECKS:
        check(system, 1e-2)


@every_check
@pytest.mark.parametrize("cutoff", [False, True])
def test_a_plain_matrix_passes(check, cutoff):
    A, b = np.diag([1.0, 0.5, 0.1]), np.ones((3, 2))
    system = DirectSystem(A, b, cutoff)
    assert CutOff().solve(DirectSystem(A, b, cutoff=True), 0.2).value[2].tolist() == [0.0, 0.0]
    check(system, 1e-2)
