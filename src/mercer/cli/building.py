"""From the words of the command line to an estimator."""

from __future__ import annotations

from typing import Any

from mercer.bases import BASES, BasisTransformer, Landmarks
from mercer.bases.landmarks import SAMPLINGS
from mercer.bases.random_features import SAMPLINGS as FEATURE_SAMPLINGS
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRegressor
from mercer.kernels import KERNELS, Kernel, as_kernel
from mercer.solvers import SOLVERS
from mercer.validation import check_choice


def number_or(word: str, option: str, text: str) -> float | str:
    """Return a number, or ``word`` if that is what the text says.

    >>> number_or("auto", "--alpha", "1e-3"), number_or("auto", "--alpha", "auto")
    (0.001, 'auto')
    """
    if text == word:
        return word
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{option} must be a number or {word!r}, got {text!r}") from error


def build_kernel(name: str, bandwidth: str | None) -> Kernel:
    """Return the kernel, with its bandwidth if one was given."""
    usable = [kernel for kernel in KERNELS if kernel != "precomputed"]
    kernel = as_kernel(check_choice(name, "--kernel", usable))
    if bandwidth is None:
        return kernel
    if "bandwidth" not in kernel.get_params():
        raise ValueError(f"--bandwidth must be left out for the {name} kernel, which has none")
    kernel.set_params(bandwidth=number_or("median", "--bandwidth", bandwidth))
    return kernel


def build_basis(
    name: str, components: int | None, sampling: str | None = None
) -> str | BasisTransformer:
    """Return the basis, with the number of its functions and how they are chosen, if given."""
    check_choice(name, "--basis", ["auto", *BASES])
    if components is None and sampling is None:
        return name
    basis: BasisTransformer = Landmarks() if name == "auto" else BASES[name]()
    if components is not None:
        if "n_components" not in basis.get_params():
            raise ValueError(f"--components must be left out for --basis {name}: it has one a row")
        basis.set_params(n_components=components)
    if sampling is not None:
        known = SAMPLINGS if isinstance(basis, Landmarks) else FEATURE_SAMPLINGS
        if "sampling" not in basis.get_params() or basis.dual:
            raise ValueError(f"--sampling must be left out for --basis {name}, which has no choice")
        basis.set_params(sampling=check_choice(sampling, "--sampling", known))
    return basis


def check_solver(name: str) -> str:
    """Return the name of a solver, or say which is closest."""
    return check_choice(name, "--solver", list(SOLVERS))


def build_estimator(task: str, **params: Any) -> KernelEstimator:
    """Return the estimator for a task."""
    kinds: dict[str, type[KernelEstimator]] = {
        "classification": KernelClassifier,
        "regression": KernelRegressor,
    }
    return kinds[task](**params)
