"""From text on the command line to an estimator."""

from __future__ import annotations

from typing import Any

from mercer.bases import BASES, BasisTransformer, Landmarks
from mercer.estimators import KernelClassifier, KernelEstimator, KernelRegressor
from mercer.kernels import KERNELS, Kernel, as_kernel
from mercer.kernels.kernel import ESTIMATED
from mercer.validation import check_choice


def number_or(word: str, option: str, text: str) -> float | str:
    """Return a number, or ``word`` if the text is that word.

    >>> number_or("auto", "--alpha", "1e-3"), number_or("auto", "--alpha", "auto")
    (0.001, 'auto')
    """
    if text == word:
        return word
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{option} must be a number or {word!r}, got {text!r}") from error


def build_kernel(name: str, bandwidth: str | None) -> str | Kernel:
    """Return the kernel, with its bandwidth if one was given; "auto" stays as it is."""
    usable = [kernel for kernel in KERNELS if kernel != "precomputed"]
    check_choice(name, "--kernel", ["auto", *usable])
    if name == "auto":
        if bandwidth not in (None, "auto"):
            raise ValueError("--bandwidth must be left out for --kernel auto: name a kernel too")
        return name
    kernel = as_kernel(name)
    if bandwidth is None:
        return kernel
    if "bandwidth" not in kernel.get_params():
        raise ValueError(f"--bandwidth must be left out for the {name} kernel, which has none")
    estimated = bandwidth in ESTIMATED
    value = bandwidth if estimated else number_or("median", "--bandwidth", bandwidth)
    kernel.set_params(bandwidth=value)
    return kernel


def build_basis(name: str, components: int | None) -> str | BasisTransformer:
    """Return the basis, with its number of functions if one was given."""
    check_choice(name, "--basis", ["auto", *BASES])
    if components is None:
        return name
    if name == "auto":
        return Landmarks(components)
    if "n_components" not in BASES[name]().get_params():
        raise ValueError(
            f"--components must be left out for --basis {name}, which has one function per row"
        )
    basis: BasisTransformer = BASES[name]().set_params(n_components=components)
    return basis


def build_estimator(task: str, **params: Any) -> KernelEstimator:
    """Return the estimator for a task."""
    kinds: dict[str, type[KernelEstimator]] = {
        "classification": KernelClassifier,
        "regression": KernelRegressor,
    }
    return kinds[task](**params)
