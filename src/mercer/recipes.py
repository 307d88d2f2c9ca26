"""Every system of the papers by its name: which basis, solver and combination it is.

A recipe is an estimator with its parts chosen; everything else stays a parameter.

>>> recipe("DNystroem", n_components=100, shards=4, alpha=1e-4)
KernelRegressor(alpha=0.0001, basis=Landmarks(n_components=100), combine=Average(), shards=4,
                solver=Ridge())
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from mercer.bases import BasisTransformer, FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.combine import Average, Combination
from mercer.estimators import KernelClassifier, KernelRegressor
from mercer.solvers import KCGM, BaseSolver, GradientDescent, PreconditionedCG, Ridge
from mercer.validation import check_choice, closest


@dataclass(frozen=True)
class Recipe:
    """The parts of a system, and where it comes from."""

    about: str
    basis: Callable[..., BasisTransformer]
    solver: Callable[[], BaseSolver] = Ridge
    combine: Combination | None = None  # None: all rows in one place


#: DKRR: Zhang, Duchi and Wainwright (2015). FALKON: Rudi, Carratino and Rosasco (2017). KCGM: Lin
#: and Cevher (2018), *Kernel Conjugate Gradient Methods with Random Projections*. DC-NY, DNystroem
#: and DC-Sketch: Li, Liu and Wang (2023), *Optimal Convergence Rates for Distributed Nystroem
#: Approximation*. DKRR-RF: Li, Liu and Wang (2022), *Towards Sharp Analysis for Distributed
#: Learning with Random Features*.
RECIPES: dict[str, Recipe] = {
    "KRR": Recipe("exact kernel ridge regression", FullKernel),
    "KRR-RF": Recipe("ridge regression on random features", RandomFeatures),
    "KRR-Nystroem": Recipe("ridge regression on landmarks", Landmarks),
    "FALKON": Recipe(
        "landmarks by preconditioned conjugate gradients", Landmarks, PreconditionedCG
    ),
    "DKRR": Recipe("exact kernel in every shard, averaged", FullKernel, combine=Average()),
    "DC-NY": Recipe(
        "landmarks of its own in every shard, averaged",
        Landmarks,
        combine=Average(local_basis=True),
    ),
    "DNystroem": Recipe("landmarks that all shards share, averaged", Landmarks, combine=Average()),
    "DKRR-RF": Recipe(
        "random features that all shards share, averaged", RandomFeatures, combine=Average()
    ),
    "DC-Sketch": Recipe("a sketch of its own in every shard, averaged", Sketch, combine=Average()),
    "KCGM": Recipe("kernel conjugate gradients on the exact kernel", FullKernel, KCGM),
    "sketched KCGM": Recipe("kernel conjugate gradients on a sketch", Sketch, KCGM),
    "Nystroem KCGM": Recipe("kernel conjugate gradients on landmarks", Landmarks, KCGM),
    "GD": Recipe("gradient descent, stopped early", RandomFeatures, GradientDescent),
}


def recipe(
    name: str,
    task: Literal["regression", "classification"] = "regression",
    *,
    n_components: int | None = None,
    **parameters: Any,
) -> KernelRegressor | KernelClassifier:
    """Return the estimator that a paper calls by this name.

    Parameters
    ----------
    name : str
        A key of :data:`RECIPES`.
    task : "regression" or "classification"
        Which estimator.
    n_components : int or None
        M, the number of functions; not for the exact kernel.
    **parameters
        Further parameters of the estimator: ``kernel``, ``alpha``, ``shards`` and so on.
    """
    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}{closest(name, RECIPES)}")
    check_choice(task, "task", ["regression", "classification"])
    found = RECIPES[name]
    taken = {"basis": "n_components", "combine": "another recipe"}
    if found.combine is None:
        taken["shards"] = "a recipe that averages, or KernelRegressor itself"
    for parameter, instead in taken.items():
        if parameter in parameters:
            raise ValueError(f"{name} says what {parameter} is: use {instead}")
    if n_components is not None and found.basis is FullKernel:
        raise ValueError(f"{name} has a function at every row: leave out n_components")
    basis = found.basis() if n_components is None else found.basis(n_components)
    parts: dict[str, Any] = {"basis": basis, "solver": found.solver()}
    if found.combine is not None:
        if "shards" not in parameters and "engine" not in parameters:
            raise ValueError(f"{name} is made of shards: give shards=, or an engine=")
        parts["combine"] = type(found.combine)(**found.combine.get_params())
    estimator = KernelRegressor if task == "regression" else KernelClassifier
    return estimator(**{**parts, **parameters})
