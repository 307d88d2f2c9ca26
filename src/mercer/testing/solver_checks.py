"""Checks of a solver: what it needs, that it solves, and that it is the same over shards."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.bases import Landmarks
from mercer.contracts import Array, Status
from mercer.estimators import KernelRegressor
from mercer.kernels import Gaussian
from mercer.solvers import BaseSolver, StopAfter, check_fits
from mercer.systems import DirectSystem, MatrixSystem
from mercer.systems.iterated import lengths
from mercer.testing.assertions import (
    largest,
    named,
    require,
    require_close,
    require_same,
    unit_square,
)

#: What a solver can need of a system (see ``mercer.contracts.System``).
NEEDS = ("matrix", "steps", "products")
#: Relative to the largest value: rounding, and how close fits over shards come.
ROUNDING, SHARDS = 1e-8, 1e-8
#: The penalty, and the steps that an iterative solver may make.
ALPHA, STEPS = 1e-2, 300
#: How much of the residual may be left then.
LEFT = 1e-2


def check_solver(solver: BaseSolver) -> None:
    """Check that a solver keeps what :class:`mercer.solvers.BaseSolver` promises.

    Runs every function of ``SOLVER_CHECKS``; the first property that fails raises.

    Parameters
    ----------
    solver : BaseSolver
        The solver, with parameters; it stays as it is.

    Raises
    ------
    AssertionError
        It says which property failed, and by how much.

    Examples
    --------
    >>> from mercer.solvers import KCGM
    >>> check_solver(KCGM())
    """
    for check in SOLVER_CHECKS:
        check(solver)


def small_system() -> tuple[Array, Array]:
    """Return a symmetric positive definite matrix (8, 8) and right-hand sides (8, 2)."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((8, 8))
    return root @ root.T / 8 + 0.1 * np.eye(8), rng.standard_normal((8, 2))


def check_parameters(solver: BaseSolver) -> None:
    """``needs`` is one that systems offer; clones and pickles have the same parameters."""
    name, shown = named(solver), repr(solver.get_params())
    require(
        solver.needs in NEEDS,
        f"needs of {name} must be one of {NEEDS}, got {solver.needs!r}; see "
        f"mercer.contracts.System",
    )
    for what, copy in (("clone", clone(solver)), ("pickle", pickle.loads(pickle.dumps(solver)))):
        require(
            repr(copy.get_params()) == shown,
            f"a {what} of {name} must have its parameters {shown}, got {copy.get_params()!r}; "
            f"__init__ must store its arguments under their own names, and nothing else",
        )
    solver.check()


def check_refuses_misfits(solver: BaseSolver) -> None:
    """A system that does not offer what the solver needs is refused, by name."""

    class Nothing:
        offers: frozenset[str] = frozenset()

        def coefficients(self, value: Array) -> tuple[Array, Array]:
            return value, value[0]

    try:
        check_fits(solver, Nothing())
    except ValueError as error:
        require(
            named(solver) in str(error),
            f"the refusal of a system must name {named(solver)}, got {error}; leave it to "
            f"mercer.solvers.check_fits",
        )
        return
    raise AssertionError(
        f"{named(solver)} must be refused for a system that offers nothing, got no error; set needs"
    )


def check_solve(solver: Any) -> None:
    """``solve`` is linear in b, column by column, and reports its residual; A and b stay."""
    if solver.needs != "matrix":
        return
    A, b = small_system()

    def solved(right: Array, alpha: float = ALPHA) -> Any:
        return solver.solve(DirectSystem(A.copy(), right, solver.cuts_off), alpha)

    name, found = named(solver), solved(b.copy())
    require(
        isinstance(found.status, Status) and found.status.succeeded,
        f"solve of {name} must succeed on a well-conditioned system, got {found.status}; see "
        f"mercer.contracts.Status",
    )
    value = found.value
    require_close(
        solved(-2.0 * b).value,
        -2.0 * value,
        ROUNDING * largest(value),
        f"solve of {name} must be linear in b",
        "a spectral filter depends on A and alpha only",
    )
    require_close(
        solved(b[:, :1]).value,
        value[:, :1],
        ROUNDING * largest(value),
        f"solve of {name} must treat each column of b on its own",
        "one output must not depend on the others",
    )
    wanted = DirectSystem(A, b, solver.cuts_off).residual(value, ALPHA)
    require_close(
        found.residuals[-1:],
        [wanted],
        ROUNDING,
        f"the last of residuals of {name} must be the relative residual of its solution",
        "use system.residual(value, alpha)",
    )
    system = DirectSystem(A.copy(), b.copy(), solver.cuts_off)
    solver.solve(system, ALPHA)
    for what, left, before in (("A", system.A, A), ("b", system.b, b)):
        require_same(left, before, f"solve of {name} must leave {what} alone", "work on a copy")
    require_close(
        solved(b, 1e-12).value,
        np.linalg.solve(A, b),
        1e-6 * largest(value),
        f"solve of {name} must come to A^-1 b as alpha goes to 0",
        "less penalty is less bias",
    )


def check_iterates(solver: Any) -> None:
    """``iterates`` yields steps 1, 2, ... with their residuals, towards the solution."""
    if solver.needs != "steps":
        return
    name, (A, b) = named(solver), small_system()
    system = MatrixSystem(A, b, ALPHA)
    start = lengths(system, b, b)
    firsts: list[Array] = []
    found = []
    for iterate in islice(solver.iterates(system), STEPS):
        found.append(iterate)
        firsts.append(iterate.value.copy())
    steps = [iterate.step for iterate in found]
    require(
        steps == list(range(1, len(found) + 1)) and bool(steps),
        f"iterates of {name} must count their steps from 1, got {steps[:5]}; one iterate a step",
    )
    for iterate, first in zip(found, firsts, strict=True):
        require_same(
            iterate.value,
            first,
            f"step {iterate.step} of {name} must not be changed by later steps",
            "make a new array in every step",
        )
        left = b - system.apply(iterate.value, iterate.value)
        require_close(
            iterate.residuals,
            lengths(system, left, left),
            1e-6 * largest(start),
            f"residuals of step {iterate.step} of {name} must be ||(A + alpha) v - b||, by column",
            "use mercer.systems.iterated.lengths of the residual",
        )
    rest = largest(found[-1].residuals) / largest(start)
    require(
        rest <= LEFT,
        f"{name} must come to the solution, with at most {LEFT:g} of the residual left after "
        f"{len(found)} steps, got {rest:.3g}; a step must not be longer than 1 / ||A||",
    )
    scaled = list(islice(solver.iterates(MatrixSystem(A, -2.0 * b, ALPHA)), 3))
    require_close(
        scaled[-1].value,
        -2.0 * found[len(scaled) - 1].value,
        ROUNDING * largest(found[len(scaled) - 1].value),
        f"iterates of {name} must scale with b",
        "no constant may be added to what is relative to b",
    )


def check_fit(solver: BaseSolver) -> None:
    """A fit ends with a status that it gives a reason for; over three shards it is the same."""
    copy = clone(solver)
    if "stop" in copy.get_params():
        copy.set_params(stop=StopAfter(10))
    if "tolerance" in copy.get_params():
        copy.set_params(tolerance=1e-10)
    X, new = unit_square(80), unit_square(20, seed=1)
    y = np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2
    basis = Landmarks(sampling=X[:15])
    model = KernelRegressor(
        Gaussian(0.3), basis, alpha=ALPHA, solver=copy, random_state=0, dtype="float64"
    )
    whole = model.fit(X, y).predict(new)
    require(
        bool(np.isfinite(whole).all()),
        f"predictions of a fit with {named(solver)} must be finite, got {whole[:5]}; "
        f"return the best iterate with Status.BREAKDOWN where it breaks down",
    )
    parts = clone(model).set_params(shards=3).fit(X, y).predict(new)
    require_close(
        parts,
        whole,
        SHARDS * largest(whole),
        f"predictions with {named(solver)} over three shards must be those of one place",
        "a solver may see the system only",
    )


#: All checks of a solver, each called as ``check(solver)``: to parametrize a test with.
SOLVER_CHECKS: list[Callable[..., None]] = [
    check_parameters,
    check_refuses_misfits,
    check_solve,
    check_iterates,
    check_fit,
]
