"""Checks of a kernel: symmetric, positive semi-definite, the same in blocks and in float32."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from mercer.contracts import Precision, Rows
from mercer.kernels import Kernel
from mercer.testing.assertions import (
    largest,
    named,
    require,
    require_blocks,
    require_close,
    require_copy,
    require_same,
    rows_for,
    values_between,
)
from mercer.testing.gradient_checks import check_gradient

#: Relative to the largest value: how far rounding moves values at rows that coincide (a square root
#: makes 1e-8 of 1e-16), at others, and in float32; and eigenvalues, relative to the largest.
COINCIDENT, ROUNDING, SINGLE, NEGATIVE = 1e-6, 1e-10, 4e-6, 1e-11
#: Random features that are averaged, and the rows they are averaged at.
FEATURES, FEATURE_ROWS = 20_000, 6


def check_kernel(kernel: Kernel, X: Rows | None = None) -> None:
    """Check that a kernel keeps what :class:`mercer.kernels.Kernel` promises.

    Runs every function of ``KERNEL_CHECKS``; the first property that fails raises.

    Parameters
    ----------
    kernel : Kernel
        The kernel, with parameters.
    X : array of shape (n, d) or None
        Some ten rows that it is meant for; distinct. None takes 40 rows of the unit square (for a
        kernel that is pairwise, their matrix of Gaussian kernel values).

    Raises
    ------
    AssertionError
        It says which property failed, and by how much.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> check_kernel(Matern(nu=1.5))
    """
    for check in KERNEL_CHECKS:
        check(kernel, X)


def check_symmetric(kernel: Kernel, X: Rows | None = None) -> None:
    """``K(x, z) = K(z, x)``, and ``kernel(X)`` is exactly symmetric."""
    rows = rows_for(kernel, X)
    values = kernel.fitted(rows).against(rows)(rows)
    require_close(
        values,
        values.T,
        COINCIDENT * largest(values),
        f"K(x, z) of {named(kernel)} must be K(z, x)",
        "X and Z must enter against(Z)(X) in the same way",
    )
    square = kernel(rows)
    require_same(
        square,
        square.T,
        f"{named(kernel)}(X) must be exactly symmetric",
        "leave __call__ to the class Kernel",
    )
    require_close(
        square,
        values,
        COINCIDENT * largest(values),
        f"{named(kernel)}(X) must be against(X)(X)",
        "leave __call__ to the class Kernel",
    )


def check_positive_semi_definite(kernel: Kernel, X: Rows | None = None) -> None:
    """No eigenvalue of ``kernel(X)`` is below zero, but for rounding."""
    values = np.linalg.eigvalsh(kernel(rows_for(kernel, X)))
    allowed = NEGATIVE * largest(values)
    require(
        bool(values[0] >= -allowed),
        f"the matrix {named(kernel)}(X) must be positive semi-definite, got the eigenvalue "
        f"{values[0]:.3g} where the largest is {values[-1]:.3g}; check the formula, and the range "
        f"of its parameters",
    )


def check_diagonal(kernel: Kernel, X: Rows | None = None) -> None:
    """``diag(X)`` is the diagonal of ``K(X, X)``."""
    rows = rows_for(kernel, X)
    fitted = kernel.fitted(rows)
    wanted = np.diagonal(fitted.against(rows)(rows))
    require_close(
        fitted.diag(rows),
        wanted,
        COINCIDENT * largest(wanted),
        f"diag(X) of {named(kernel)} must be the diagonal of K(X, X)",
        "diag() must use the same formula and parameters as against()",
    )


def check_blocks(kernel: Kernel, X: Rows | None = None) -> None:
    """``against(Z)`` in blocks of any size is ``against(Z)`` of all rows; it fills ``out``."""
    fitted, left, right = values_between(kernel, rows_for(kernel, X))
    roundings: dict[Precision, float] = {"float64": ROUNDING, "float32": SINGLE}
    for precision, rounding in roundings.items():
        block = fitted.against(right, precision)
        whole = block(left)
        name, close = f"{named(kernel)}.against(Z, {precision!r})", rounding * largest(whole)
        require_blocks(block, left, whole, close, name, own="two rows")
        out = np.full(whole.shape, np.nan, dtype=precision)
        require(
            block(left, out) is out,
            f"{name}(X, out) must return out, got another array; write the values into out",
        )
        require_close(
            out, whole, close, f"{name}(X, out) must fill out with K(X, Z)", "write every value"
        )


def check_float32(kernel: Kernel, X: Rows | None = None) -> None:
    """``against(Z, "float32")`` returns float32 values close to float64, also where x = z."""
    rows = rows_for(kernel, X)
    fitted = kernel.fitted(rows)
    wanted = fitted.against(rows)(rows)
    require(
        wanted.dtype == np.float64,
        f"{named(kernel)}.against(Z) must return float64, got {wanted.dtype}; its precision is "
        f"'float64' unless told otherwise",
    )
    for given in (rows, rows.astype(np.float32)):
        found = fitted.against(rows, "float32")(given)
        require(
            found.dtype == np.float32,
            f"{named(kernel)}.against(Z, 'float32') must return float32, got {found.dtype}; "
            f"convert the values at the end",
        )
    require_close(
        fitted.against(rows, "float32")(rows),
        wanted,
        SINGLE * largest(wanted),
        f"{named(kernel)} in float32 must be close to float64",
        "compute in float64 what cancels, such as distances, and convert the values at the end",
    )


def check_parameters(kernel: Kernel, X: Rows | None = None) -> None:
    """A clone has the same parameters and values; ``fitted`` leaves the kernel as it is."""
    rows, shown = rows_for(kernel, X), repr(kernel.get_params())
    copy = clone(kernel)
    require_copy(copy, kernel, "clone")
    again = copy.set_params(**copy.get_params(deep=False))
    require(
        again is copy,
        f"set_params of {named(kernel)} must return the kernel, got {named(again)}; leave it to "
        f"the class Kernel",
    )
    wanted = kernel(rows)
    require_close(
        copy(rows),
        wanted,
        ROUNDING * largest(wanted),
        f"a clone of {named(kernel)} must have the same values",
        "values may depend on parameters only, and all of them on parameters",
    )
    fitted = kernel.fitted(rows)
    require(
        repr(kernel.get_params()) == shown,
        f"fitted(X) of {named(kernel)} must leave its parameters {shown} alone, got "
        f"{kernel.get_params()!r}; change a clone and return that",
    )
    require(
        not fitted.needs_rows,
        f"fitted(X) of {named(kernel)} must have numbers for parameters, got "
        f"{fitted.get_params()!r}; resolve those that are taken from data",
    )


def check_pickles(kernel: Kernel, X: Rows | None = None) -> None:
    """A kernel can be sent to another process, before and after ``fitted``."""
    rows = rows_for(kernel, X)
    for sent in (kernel, kernel.fitted(rows)):
        restored = pickle.loads(pickle.dumps(sent))
        require_same(
            restored(rows),
            sent(rows),
            f"a pickled {named(kernel)} must have the same values",
            "keep what it needs in its parameters",
        )


def check_input_unchanged(kernel: Kernel, X: Rows | None = None) -> None:
    """Evaluating a kernel writes neither to X nor to Z, which may be read-only."""
    for writable in (True, False):
        rows, others = rows_for(kernel, X), rows_for(kernel, X)
        before = rows.copy()
        rows.flags.writeable = others.flags.writeable = writable
        try:
            fitted = kernel.fitted(rows)
            fitted.against(others)(rows)
            fitted.diag(rows)
            kernel(rows)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise AssertionError(
                f"{named(kernel)} must not write to X or Z, got {error}; work on a copy"
            ) from error
        for found in (rows, others):
            require_same(
                found,
                before,
                f"{named(kernel)} must leave X and Z as they are",
                "work on a copy, or out of place",
            )


def check_sparse(kernel: Kernel, X: Rows | None = None) -> None:
    """Sparse rows have the values of dense ones, if the kernel accepts them."""
    if not kernel.accepts_sparse or kernel.pairwise:
        return
    rows = rows_for(kernel, X)
    rows[np.abs(rows) < np.median(np.abs(rows))] = 0.0
    fitted, left, right = values_between(kernel, np.unique(rows, axis=0))
    wanted = fitted.against(right)(left)
    thin: tuple[tuple[Any, Any], ...] = (
        (sparse.csr_array(left), right),
        (sparse.csr_array(left), sparse.csr_array(right)),
        (sparse.csr_matrix(left), sparse.csr_matrix(right)),
    )
    for some, others in thin:
        require_close(
            fitted.against(others)(some),
            wanted,
            ROUNDING * largest(wanted),
            f"{named(kernel)} of sparse rows must be that of dense ones",
            "set accepts_sparse = False, or use mercer.kernels.kernel.dense",
        )
    square = kernel(left)
    require_close(
        kernel(sparse.csr_array(left)),
        square,
        COINCIDENT * largest(square),
        f"{named(kernel)}(X) of sparse rows must be that of dense ones",
        "look at fitted() and diag(): they are given sparse rows too",
    )


def check_random_features(kernel: Kernel, X: Rows | None = None) -> None:
    """Products of random features average to the kernel, if it has some.

    A kernel without raises ValueError in ``feature_map``, as the class Kernel does.
    """
    if kernel.pairwise:
        return
    rows = rows_for(kernel, X)[:FEATURE_ROWS]
    fitted, wanted = kernel.fitted(rows), kernel(rows)
    for orthogonal in (False, True):
        try:
            features = fitted.feature_map(
                FEATURES, rows.shape[1], np.random.default_rng(0), orthogonal
            )
        except ValueError:
            continue
        psi = features(rows, "float64")
        require(
            psi.shape == (len(rows), features.size),
            f"features of {named(kernel)} must have shape {(len(rows), features.size)}, one column "
            f"for each of size, got {psi.shape}; size is how many there are",
        )
        products = psi[:, None, :] * psi[None, :, :]
        error = np.abs(products.mean(axis=-1) - wanted)
        allowed = 5 * products.std(axis=-1) / np.sqrt(features.size)
        allowed += 1e-12 * largest(wanted)
        at = np.unravel_index(int(np.argmax(error / allowed)), error.shape)
        require(
            bool(error[at] <= allowed[at]),
            f"products of {features.size} random features of {named(kernel)} (orthogonal="
            f"{orthogonal}) must average to K, got {products.mean(axis=-1)[at]:.4g} instead of "
            f"{wanted[at]:.4g} at {tuple(map(int, at))}, over five standard errors off "
            f"({allowed[at]:.2g}); check the law of the frequencies and the factor sqrt(2)",
        )
        single = features(rows, "float32", np.empty(psi.shape, dtype=np.float32))
        require_close(
            single,
            psi,
            SINGLE * largest(psi),
            f"features of {named(kernel)} in float32 must be close to float64",
            "compute the argument of the cosine in float64",
        )


#: All checks of a kernel, each called as ``check(kernel, X)``: to parametrize a test with.
KERNEL_CHECKS: list[Callable[..., None]] = [
    check_input_unchanged,
    check_parameters,
    check_diagonal,
    check_symmetric,
    check_positive_semi_definite,
    check_blocks,
    check_float32,
    check_pickles,
    check_sparse,
    check_random_features,
    check_gradient,
]
