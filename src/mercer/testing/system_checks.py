"""Checks of a system: whatever it offers, by matrix, steps or products, is one linear system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.contracts import Array
from mercer.systems.iterated import inner
from mercer.testing.assertions import largest, named, require, require_close

#: What a system can offer.
OFFERS = frozenset({"matrix", "steps", "products"})
#: Relative to the largest value: rounding of a product, and of a solve.
ROUNDING, SOLVED = 1e-9, 1e-6


def check_system(system: Any, alpha: float = 1e-2) -> None:
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


def solution_of(system: Any, alpha: float) -> Array:
    """Return the solution by Cholesky, or by the spectrum where that refuses."""
    value = system.cholesky(alpha)
    found: Array = system.by_spectrum(alpha) if value is None else value
    return found


def check_offers(system: Any, alpha: float = 1e-2) -> None:
    """``offers`` names what solvers know of, and something."""
    offers = getattr(system, "offers", None)
    require(
        isinstance(offers, frozenset) and bool(offers) and offers <= OFFERS,
        f"offers of {named(system)} must be a frozenset of some of {sorted(OFFERS)}, got "
        f"{offers!r}; name what solvers can use",
    )


def check_matrix(system: Any, alpha: float = 1e-2) -> None:
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


def check_coefficients(system: Any, alpha: float = 1e-2) -> None:
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


def check_steps(system: Any, alpha: float = 1e-2) -> None:
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
        ROUNDING * largest(scale) * max(1.0, largest(left) / largest(scale)),
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


def check_products(system: Any, alpha: float = 1e-2) -> None:
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
            ROUNDING * largest(image_u, image_v) * len(U),
            f"{what} of {name} must be linear",
            "it may keep nothing from one call to the next",
        )
        require_close(
            inner(U, image_v),
            inner(V, image_u),
            ROUNDING * largest(image_u, image_v) * len(U) * largest(U, V),
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
