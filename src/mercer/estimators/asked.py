"""The kernel that a user asked for, and what it implies before anything is fitted."""

from __future__ import annotations

from typing import Any

from mercer.kernels import Kernel, as_kernel


def asked_kernel(kernel: Any) -> Kernel | None:
    """Return the kernel that a user asked for; None for "auto"."""
    return None if isinstance(kernel, str) and kernel == "auto" else as_kernel(kernel)


def is_pairwise(kernel: Any) -> bool:
    """Return whether rows are kernel values instead of columns."""
    asked = asked_kernel(kernel)
    return asked is not None and asked.pairwise


def is_nonnegative(kernel: Any) -> bool:
    """Return whether columns must not have negative values."""
    asked = asked_kernel(kernel)
    return asked is not None and asked.nonnegative


def accepts_sparse(kernel: Any) -> bool:
    """Return whether rows may be sparse; "auto" then chooses among kernels that accept them."""
    asked = asked_kernel(kernel)
    return asked is None or asked.accepts_sparse
