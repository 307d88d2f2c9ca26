"""Checks of gradients, of a kernel or a basis: they equal finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from mercer.bases import BasisTransformer
from mercer.contracts import Array, Rows
from mercer.kernels import Kernel
from mercer.testing.assertions import (
    fitted,
    largest,
    named,
    new_rows,
    normal_numbers,
    require,
    require_close,
    require_error,
    require_same,
    rows_for,
    values_between,
)

#: Steps of finite differences, relative to the spread of a column.
STEP = 1e-6
#: Relative to the largest value: what finite differences err by, and float32, and rounding.
DIFFERENCES, SINGLE, ROUNDING = 1e-5, 1e-4, 1e-10


def differences(function: Callable[[Array], Array], X: Array) -> Array:
    """Return central finite differences of a function with values (rows, k), as (k, rows, d).

    >>> differences(lambda X: X**2, np.array([[1.0], [3.0]])).round(4)
    array([[[2.],
            [6.]]])
    """
    columns = []
    for column, spread in enumerate(np.ptp(X, axis=0)):
        upper, lower = X.copy(), X.copy()
        upper[:, column] += STEP * (spread if spread > 0 else 1.0)
        lower[:, column] -= STEP * (spread if spread > 0 else 1.0)
        width = (upper - lower)[:, column, None]
        columns.append(((function(upper) - function(lower)) / width).T)
    return np.stack(columns, axis=-1)


def inner_rows(X: Array) -> Array:
    """Return rows that are not the first or last in any column, where a kernel may end."""
    inner = X[np.all((X.min(axis=0) < X) & (X.max(axis=0) > X), axis=1)]
    return inner if len(inner) > 2 else X


def require_refusal(gradient: Callable[[], object], call: str) -> None:
    """Raise unless a part without a gradient says so by a ValueError."""
    require_error(
        gradient,
        ValueError,
        f"{call} must raise ValueError where has_gradient is False, got a result; set "
        f"has_gradient = True",
    )


def check_gradient(kernel: Kernel, X: Rows | None = None) -> None:
    """``gradient(Z)(X, C, weight)`` is that of finite differences, if the kernel has one."""
    fitted_kernel, left, right = values_between(kernel, rows_for(kernel, X))
    name = f"gradient(Z)(X, C) of {named(kernel)}"
    if not fitted_kernel.has_gradient:
        require_refusal(lambda: fitted_kernel.gradient(right), f"gradient(Z) of {named(kernel)}")
        return
    left, values = inner_rows(left.astype(np.float64)), fitted_kernel.against(right)
    C, weight = normal_numbers(len(right)), 1.0 + normal_numbers(len(left), len(right), seed=3)
    block, before = fitted_kernel.gradient(right), weight.copy()
    wanted, plain = differences(lambda rows: values(rows) @ C, left), block(left, C)
    hint = "its shape is (outputs, rows, columns), and derivatives are those in x"
    require_close(
        plain,
        wanted,
        DIFFERENCES * largest(wanted),
        f"{name} must be that of finite differences",
        hint,
    )
    found = block(left, C, weight)
    require_same(weight, before, f"{name} must leave the weights as they are", "work on a copy")
    wanted = differences(lambda rows: (weight * values(rows)) @ C, left)
    require_close(
        found,
        wanted,
        DIFFERENCES * largest(wanted),
        f"{name} with weights must be that of finite differences",
        "weight[i, j] multiplies the gradient of K(x_i, z_j)",
    )
    require_close(
        np.concatenate([block(left[at : at + 1], C) for at in range(len(left))], axis=1),
        plain,
        ROUNDING * largest(plain),
        f"{name} of one row at a time must be that of all rows",
        "a gradient may depend on its own row only",
    )
    single = fitted_kernel.gradient(right, "float32")(left, C, weight)
    require(
        single.dtype == np.float32,
        f"{name} must be float32 where the precision is, got {single.dtype}",
    )
    require_close(
        single,
        found,
        SINGLE * largest(found),
        f"{name} in float32 must be close to float64",
        "compute in float64 what cancels, such as distances",
    )
    if kernel.accepts_sparse:
        require_close(
            fitted_kernel.gradient(sparse.csr_array(right))(sparse.csr_array(left), C),
            plain,
            ROUNDING * largest(plain),
            f"{name} of sparse rows must be that of dense ones",
            "use mercer.kernels.kernel.dense",
        )


def check_gradients(basis: BasisTransformer, kernel: Kernel | None = None) -> None:
    """``gradients(c)`` is that of finite differences of ``h(x)'c``, if the functions have one."""
    found, X = fitted(basis, kernel), new_rows()
    c = normal_numbers(found.size)
    if not found.has_gradient:
        require_refusal(lambda: found.gradients(c), f"gradients(c) of {named(basis)}")
        return
    wanted, gradients = differences(lambda rows: found.evaluate(rows) @ c, X), found.gradients(c)
    require_close(
        gradients(X),
        wanted,
        DIFFERENCES * largest(wanted),
        f"gradients(c)(X) of {named(basis)} must be that of finite differences of h(x)'c",
        "c are coefficients of the functions of evaluate(), and the shape is (outputs, rows, "
        "columns)",
    )
    found.precision_ = "float32"
    found.bind()
    single = found.gradients(c)(X)
    require(
        single.dtype == np.float32,
        f"gradients(c)(X) of {named(basis)} must have the dtype precision_ = float32, got "
        f"{single.dtype}",
    )
    require_close(
        single,
        wanted,
        SINGLE * largest(wanted),
        f"gradients(c)(X) of {named(basis)} in float32 must be close to float64",
        "the kernel and features take the precision",
    )
