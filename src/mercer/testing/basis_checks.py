"""Checks of a basis: functions, their Gram matrix, and the coordinates that whiten it."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
from sklearn.base import clone

from mercer.bases import BasisTransformer
from mercer.contracts import Array
from mercer.estimators import KernelRegressor
from mercer.kernels import Gaussian, Kernel
from mercer.rows import ArraySource
from mercer.testing.assertions import (
    FITTED,
    NEW,
    fitted,
    largest,
    named,
    new_rows,
    normal_numbers,
    predictions_over_shards,
    require,
    require_blocks,
    require_close,
    unit_square,
)
from mercer.testing.gradient_checks import check_gradients

#: Relative to the largest value: rounding in float64, where functions are nearly dependent, and in
#: float32; and how close fits over shards and in one place come.
ROUNDING, DEPENDENT, SINGLE, SHARDS = 1e-10, 1e-6, 1e-5, 1e-8


def check_basis(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """Check that a basis keeps what :class:`mercer.bases.BasisTransformer` promises.

    Runs every function of ``BASIS_CHECKS``; the first property that fails raises. Clones of the
    basis are fitted to 100 rows of the unit square.

    Parameters
    ----------
    basis : BasisTransformer
        The basis, with parameters; it stays as it is.
    kernel : Kernel or None
        The kernel that it is fitted with; None takes a Gaussian.

    Raises
    ------
    AssertionError
        It says which property failed, and by how much.

    Examples
    --------
    >>> from mercer.bases import Landmarks
    >>> check_basis(Landmarks(n_components=20))
    """
    for check in BASIS_CHECKS:
        check(basis, kernel)


def gram_of(basis: BasisTransformer) -> Array:
    """Return the Gram matrix, the identity where ``gram()`` is None."""
    gram = basis.gram()
    return np.eye(basis.size) if gram is None else gram


def check_evaluate(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """``evaluate`` in blocks is that of all rows, a column for each of ``size``; it fills out."""
    found, X, name = fitted(basis, kernel), new_rows(), named(basis)
    whole = found.evaluate(X)
    require(
        whole.shape == (NEW, found.size) and found.size > 0,
        f"evaluate(X) of {name} must have shape {(NEW, found.size)}, a column for each of size, "
        f"got {whole.shape}; size is known once the basis is fitted",
    )
    require(
        str(whole.dtype) == found.precision_,
        f"evaluate(X) of {name} must have the dtype precision_ = {found.precision_}, got "
        f"{whole.dtype}; precision_ says what blocks are evaluated in",
    )
    close = ROUNDING * largest(whole)
    require_blocks(found.evaluate, X, whole, close, f"evaluate of {name}")
    out = np.full(whole.shape, np.nan)
    require(
        found.evaluate(X, out) is out,
        f"evaluate(X, out) of {name} must return out, got another array; write the values into it",
    )
    require_close(
        out,
        whole,
        close,
        f"evaluate(X, out) of {name} must fill out with h(x)",
        "write every value",
    )


def check_gram(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """``gram()`` is symmetric positive semi-definite, and ``penalty(c)`` is its product with c."""
    found, name = fitted(basis, kernel), named(basis)
    gram, c = gram_of(found), normal_numbers(found.size)
    require(
        gram.shape == (found.size, found.size) and gram.dtype == np.float64,
        f"gram() of {name} must be None or float64 of shape {(found.size, found.size)}, got "
        f"{gram.dtype} of shape {gram.shape}; one row and column a function",
    )
    require_close(
        gram,
        gram.T,
        ROUNDING * largest(gram),
        f"gram() of {name} must be symmetric",
        "its entries are inner products <h_i, h_j>",
    )
    values = np.linalg.eigvalsh(gram)
    require(
        bool(values[0] >= -ROUNDING * values[-1]),
        f"gram() of {name} must be positive semi-definite, got the eigenvalue {values[0]:.3g} "
        f"where the largest is {values[-1]:.3g}; its entries are inner products <h_i, h_j>",
    )
    for exact in (False, True):
        require_close(
            found.penalty(c, exact),
            gram @ c,
            ROUNDING * largest(gram @ c) * found.size,
            f"penalty(c, exact={exact}) of {name} must be gram() @ c",
            "where gram() is None the penalty is c itself",
        )


def check_whitener(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """``whitener()`` turns the penalty of the orthogonalized functions into the identity."""
    found, name = fitted(basis, kernel), named(basis)
    size, white = found.size, found.whitener()
    upper = np.zeros((size, size))
    for start in range(0, size, 7):
        rows = slice(start, min(start + 7, size))
        upper[rows, start:] = found.orthogonalized_gram(rows)
    gram = np.triu(upper) + np.triu(upper, 1).T
    # Functions that are nearly dependent lose digits, as many as the condition has.
    values = np.linalg.eigvalsh(gram)
    lost = 10 * np.finfo(float).eps * values[-1] / max(values[0], 1e-30)
    require_close(
        white.matrix(gram),
        np.eye(size),
        min(1e-2, DEPENDENT + lost),
        f"whitener().matrix of {name} must turn the Gram matrix of its orthogonalized functions "
        f"into the identity",
        "whitener() takes L of Gamma = L L', and None where Gamma is the identity",
    )
    c, t = normal_numbers(size), normal_numbers(size)[::-1]
    left, right = white.coefficients(c), white.vectors(t)
    require_close(
        left.T @ t,
        c.T @ right,
        DEPENDENT * largest(left) * largest(t),
        f"whitener().vectors of {name} must be the transpose of whitener().coefficients",
        "one multiplies with R', the other with R",
    )
    h, plain = found.coefficients(c), gram_of(found)
    norms = np.einsum("ij,ij->j", c, gram @ c)
    require_close(
        np.einsum("ij,ij->j", h, plain @ h),
        norms,
        DEPENDENT * largest(norms) + 1e-12 * largest(h) ** 2 * largest(plain),
        f"coefficients of {name} must stand for a function of the same norm, by gram() and by "
        f"orthogonalized_gram()",
        "with c = D'g the one matrix is D Gamma D' for the other",
    )


def check_orthogonalized(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """Orthogonalized functions span the same space; coefficients and vectors are transposes."""
    found, X, name = fitted(basis, kernel), new_rows(), named(basis)
    H, c = found.evaluate(X), normal_numbers(found.size)
    values = found.orthogonalized(X)
    require(
        values.shape == H.shape,
        f"orthogonalized(X) of {name} must have shape {H.shape}, as evaluate(X), got "
        f"{values.shape}; it is a change of coordinates",
    )
    h = found.coefficients(c)
    require_close(
        H @ h,
        values @ c,
        ROUNDING * largest(values) + 1e-13 * largest(h) * largest(H) * len(h),
        f"coefficients of {name} must give the same function in evaluate() as in orthogonalized()",
        "coefficients(c) multiplies with the matrix whose transpose makes orthogonalized values",
    )
    w = normal_numbers(NEW)
    sums = found.vectors(H.T @ w)
    require_close(
        sums,
        values.T @ w,
        ROUNDING * largest(sums) * found.size,
        f"vectors of {name} must turn sums of evaluate() into sums of orthogonalized()",
        "vectors is the transpose of coefficients",
    )
    close = ROUNDING * largest(values)
    require_blocks(found.orthogonalized, X, values, close, f"orthogonalized of {name}")


def check_without_whitener(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """``without_whitener()`` has the same functions, evaluated and orthogonalized."""
    found, X = fitted(basis, kernel), new_rows()
    light = found.without_whitener()
    for what in ("evaluate", "orthogonalized"):
        wanted = getattr(found, what)(X)
        require_close(
            getattr(light, what)(X),
            wanted,
            ROUNDING * largest(wanted),
            f"{what} of without_whitener() of {named(basis)} must be that of the basis",
            "leave out only what sums over rows do not need",
        )


def check_transform(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """Inner products of ``transform`` are ``h(x)' Gamma^-1 h(x')``."""
    found, X = fitted(basis, kernel), new_rows()
    H, Z = found.evaluate(X), found.transform(X)
    values, vectors = np.linalg.eigh(gram_of(found))
    kept = values > 1e-13 * values[-1]
    half = (H @ vectors[:, kept]) / np.sqrt(values[kept])
    wanted = half @ half.T
    require_close(
        Z @ Z.T,
        wanted,
        10 * DEPENDENT * largest(wanted),
        f"inner products of transform(X) of {named(basis)} must be h(x)' Gamma^-1 h(x')",
        "gram() must be that of the functions that evaluate() returns",
    )


def check_float32(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """A basis fitted in float32 evaluates in it, close to float64, which ``widen`` turns to."""
    found, X, rows = clone(basis), new_rows(), ArraySource(unit_square(FITTED))
    found.fit_source(rows, kernel or Gaussian(0.3), np.random.default_rng(0), "float32")
    single = found.evaluate(X)
    require(
        str(single.dtype) == found.precision_,
        f"evaluate(X) of {named(basis)} must have the dtype precision_ = {found.precision_}, got "
        f"{single.dtype}; set precision_ in fit_source()",
    )
    found.widen()
    double = found.evaluate(X)
    require(
        double.dtype == np.float64,
        f"evaluate(X) of {named(basis)} must be float64 after widen(), got {double.dtype}; what "
        f"was prepared in float32 must be prepared anew",
    )
    require_close(
        single,
        double,
        SINGLE * largest(double),
        f"evaluate of {named(basis)} in float32 must be close to float64",
        "compute in float64 what cancels, and convert the values at the end",
    )


def check_parameters(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """A fit leaves parameters as they are; a clone of what is fitted is not; a pickle is."""
    found, X, name = fitted(basis, kernel), new_rows(), named(basis)
    shown = repr(clone(found).get_params())
    require(
        repr(found.get_params()) == shown,
        f"fit of {name} must leave its parameters {shown} alone, got {found.get_params()!r}; keep "
        f"what is learned in attributes with a trailing underscore",
    )
    left = [key for key in vars(clone(found)) if key.endswith("_") and not key.startswith("_")]
    require(
        not left,
        f"a clone of a fitted {name} must not be fitted, got {left}; __init__ only stores",
    )
    wanted = found.transform(X)
    require_close(
        pickle.loads(pickle.dumps(found)).transform(X),
        wanted,
        0.0,
        f"a pickled {name} must transform alike",
        "keep arrays, and rebuild functions in __setstate__",
    )


def check_shards(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """A fit over three shards is the fit in one place, for functions that shards share."""
    X = unit_square(FITTED)
    # Shards resolve the kernel first, in one place the basis does: draws would not be the same.
    resolved = (kernel or Gaussian(0.3)).fitted(X)
    copy = clone(basis)
    if "random_state" in copy.get_params():
        copy.set_params(random_state=0)
    drawn = clone(copy).fit_source(ArraySource(X), resolved, np.random.default_rng(0), "float64")
    if basis.local or drawn.has_candidates:  # a choice among candidates has a generator of its own
        return
    model = KernelRegressor(
        resolved,
        copy,
        alpha=1e-3,
        metric=None,
        scale=None,
        random_state=0,
        dtype="float64",
        shuffle=False,
    )
    whole, parts = predictions_over_shards(model, X, new_rows())
    require_close(
        parts,
        whole,
        SHARDS * largest(whole),
        f"predictions with {named(basis)} over three shards must be those of one place",
        "choose functions with the generator that fit_source() is given and rows from "
        "source.take(), or set local = True",
    )


#: All checks of a basis, each called as ``check(basis, kernel)``: to parametrize a test with.
BASIS_CHECKS: list[Callable[..., None]] = [
    check_evaluate,
    check_gram,
    check_whitener,
    check_orthogonalized,
    check_without_whitener,
    check_transform,
    check_float32,
    check_parameters,
    check_shards,
    check_gradients,
]
