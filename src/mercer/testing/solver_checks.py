"""Checks of a solver and of a system: what one needs and the other offers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from mercer.bases import Landmarks
from mercer.contracts import Array, Status
from mercer.estimators import KernelRegressor
from mercer.kernels import Gaussian
from mercer.solvers import BaseSolver, StopAfter, check_fits
from mercer.systems import DirectSystem, MatrixSystem
from mercer.systems.iterated import inner, lengths
from mercer.testing.assertions import (
    largest,
    named,
    predictions_over_shards,
    require,
    require_close,
    require_copies,
    require_same,
    unit_square,
)

#: A ``mercer.contracts.System`` with the methods of what it offers.
AnySystem: TypeAlias = Any
#: What a solver can need of a system (see ``mercer.contracts.System``).
NEEDS = ("matrix", "steps", "products")
#: Relative to the largest value: rounding, and how close fits over shards come.
ROUNDING, SHARDS = 1e-8, 1e-8
#: The penalty, and the steps that an iterative solver may make.
ALPHA, STEPS = 1e-2, 300
#: How much of the residual may be left then.
LEFT = 1e-2
#: Of a system, relative to the largest value: rounding of a product, and of a solve.
EXACT, SOLVED = 1e-9, 1e-6


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
    require(
        solver.needs in NEEDS,
        f"needs of {named(solver)} must be one of {NEEDS}, got {solver.needs!r}; see "
        f"mercer.contracts.System",
    )
    require_copies(solver)


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
    X = unit_square(80)
    basis = Landmarks(sampling=X[:15])
    model = KernelRegressor(
        Gaussian(0.3), basis, alpha=ALPHA, solver=copy, random_state=0, dtype="float64"
    )
    whole, parts = predictions_over_shards(model, X, unit_square(20, seed=1))
    require(
        bool(np.isfinite(whole).all()),
        f"predictions of a fit with {named(solver)} must be finite, got {whole[:5]}; "
        f"return the best iterate with Status.BREAKDOWN where it breaks down",
    )
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


def check_system(system: AnySystem, alpha: float = 1e-2) -> None:
    """Check that a system keeps what :class:`mercer.contracts.System` promises.

    Runs every function of ``SYSTEM_CHECKS``; the first property that fails raises. What a system
    does not offer is not asked for.

    Parameters
    ----------
    system : System
        The system of some rows.
    alpha : float
        A penalty that makes it well conditioned; one that is made for products has its own.

    Raises
    ------
    AssertionError
        It says which property failed, and by how much.

    Examples
    --------
    >>> from mercer.systems import KernelMatrixSystem
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> check_system(KernelMatrixSystem(K, np.array([[1.0], [3.0]]), np.ones(2), intercept=True))
    """
    for check in SYSTEM_CHECKS:
        check(system, alpha)


def solution_of(system: AnySystem, alpha: float) -> Array:
    """Return the solution by Cholesky, or by the spectrum where that refuses."""
    value = system.cholesky(alpha)
    found: Array = system.by_spectrum(alpha) if value is None else value
    return found


def check_offers(system: AnySystem, alpha: float = 1e-2) -> None:
    """``offers`` names what solvers know of, and something."""
    offers = getattr(system, "offers", None)
    require(
        isinstance(offers, frozenset) and bool(offers) and offers <= set(NEEDS),
        f"offers of {named(system)} must be a frozenset of some of {sorted(NEEDS)}, got "
        f"{offers!r}; name what solvers can use",
    )


def check_matrix(system: AnySystem, alpha: float = 1e-2) -> None:
    """Cholesky and spectrum agree, and both solve ``(A + alpha) v = b``."""
    if "matrix" not in system.offers or system.cutoff:
        return
    value, name = solution_of(system, alpha), named(system)
    for what, found in (("cholesky", value), ("by_spectrum", system.by_spectrum(alpha))):
        left = system.residual(found, alpha)
        require(
            left <= SOLVED,
            f"{what}({alpha:g}) of {name} must solve the system, got a relative residual of "
            f"{left:.3g} where {SOLVED:g} is allowed; alpha is added to A, against the mean loss",
        )
    require_close(
        system.by_spectrum(alpha),
        value,
        SOLVED * largest(value),
        f"by_spectrum({alpha:g}) of {name} must be cholesky({alpha:g})",
        "both solve the same system, in the same coordinates",
    )


def check_coefficients(system: AnySystem, alpha: float = 1e-2) -> None:
    """``coefficients(v)`` are (M, k) numbers and an intercept (k,), all finite."""
    if not hasattr(system, "coefficients"):
        return  # a plain matrix is of no basis
    by_matrix = "matrix" in system.offers
    value = solution_of(system, alpha) if by_matrix else system.precondition(system.b)
    c, constant = system.coefficients(value)
    shape = np.shape(constant)
    require(
        np.ndim(c) == 2 and shape == (c.shape[1],),
        f"coefficients(v) of {named(system)} must have shapes (M, k) and (k,), got {np.shape(c)} "
        f"and {shape}; one column an output",
    )
    require(
        bool(np.isfinite(c).all() and np.isfinite(constant).all()),
        f"coefficients(v) of {named(system)} must be finite, got {c.ravel()[:5]} and "
        f"{constant}; they are a change of coordinates",
    )


def check_steps(system: AnySystem, alpha: float = 1e-2) -> None:
    """``at(alpha)`` is self-adjoint in its inner product, and has the solution of the matrix."""
    if "steps" not in system.offers:
        return
    found, name = system.at(alpha), named(system)
    U, V = (np.random.default_rng(seed).standard_normal(found.b.shape) for seed in (0, 1))
    GU, GV = found.metric(U), found.metric(V)
    left, right = inner(GU, found.apply(V, GV)), inner(GV, found.apply(U, GU))
    scale = np.sqrt(inner(GU, U) * inner(GV, V))
    require_close(
        left,
        right,
        EXACT * largest(scale) * max(1.0, largest(left) / largest(scale)),
        f"at(alpha) of {name} must be self-adjoint: <u, Av> = <Au, v>",
        "metric(v) must be the inner product in which A is symmetric",
    )
    squares = inner(GU, found.apply(U, GU))
    require(
        bool(np.all(squares > 0)),
        f"at(alpha) of {name} must be positive definite for alpha = {alpha:g}, got <u, Au> = "
        f"{squares.min():.3g}; alpha must be added to A",
    )
    if "matrix" in system.offers and not system.cutoff:
        value = solution_of(system, alpha)
        require_close(
            found.apply(value, found.metric(value)),
            found.b,
            SOLVED * largest(found.b),
            f"the solution by cholesky({alpha:g}) of {name} must solve at({alpha:g})",
            "b and A of both must be in the same coordinates",
        )


def check_products(system: AnySystem, alpha: float = 1e-2) -> None:
    """``product`` is linear, symmetric and positive, and so is ``precondition``."""
    if "products" not in system.offers:
        return
    name, shape = named(system), system.b.shape
    U, V = (np.random.default_rng(seed).standard_normal(shape) for seed in (0, 1))
    actions: list[tuple[str, Callable[[Array], Array]]] = [
        ("product", lambda W: np.asarray(system.product(W, exact=True))),
        ("precondition", lambda W: np.asarray(system.precondition(W))),
    ]
    for what, act in actions:
        image_u, image_v = act(U), act(V)
        require_close(
            act(U - 2.0 * V),
            image_u - 2.0 * image_v,
            EXACT * largest(image_u, image_v) * len(U),
            f"{what} of {name} must be linear",
            "it may keep nothing from one call to the next",
        )
        require_close(
            inner(U, image_v),
            inner(V, image_u),
            EXACT * largest(image_u, image_v) * len(U) * largest(U, V),
            f"{what} of {name} must be symmetric: u'Av = v'Au",
            "the same weights must be on both sides of the product",
        )
        squares = inner(U, image_u)
        require(
            bool(np.all(squares > 0)),
            f"{what} of {name} must be positive definite, got u'Au = {squares.min():.3g}; alpha "
            f"must be added, and no sign lost",
        )


#: All checks of a system, each called as ``check(system, alpha)``: to parametrize a test with.
SYSTEM_CHECKS: list[Callable[..., None]] = [
    check_offers,
    check_matrix,
    check_coefficients,
    check_steps,
    check_products,
]
