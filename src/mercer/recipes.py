"""Published methods by name: the basis, solver and combination of each.

A recipe is an estimator with these parts fixed; everything else remains a parameter. Nothing is
searched that the paper does not search: the bandwidth is the median distance unless it is given,
columns are not scaled, and there is no metric.

>>> model = recipe("DNystroem", n_components=100, shards=4, alpha=1e-4)
>>> model.kernel, model.basis, model.solver, model.combine
(Gaussian(bandwidth='median'), Landmarks(n_components=100), Ridge(), Average())
>>> model.metric is None and model.scale is None
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from sklearn.base import clone

from mercer.bases import BasisTransformer, FullKernel, Landmarks, RandomFeatures, Sketch
from mercer.combine import Average, Combination, NewtonRounds
from mercer.estimators import KernelClassifier, KernelRanker, KernelRegressor
from mercer.estimators.baselines import EigenfunctionRegressor, TruncatedRidge
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.solvers import KCGM, BaseSolver, GradientDescent, PreconditionedCG, Ridge
from mercer.validation import check_choice, closest


@dataclass(frozen=True)
class Recipe:
    """The parts of a method."""

    about: str
    basis: Callable[..., BasisTransformer]
    solver: Callable[[], BaseSolver] | None = Ridge  # None: the estimator has no solver parameter
    combine: Combination | None = None  # None: all rows in one place
    selection: str | None = "gcv"  # None: the estimator has no path of alphas
    estimator: type[Any] | None = None  # None: chosen by task


#: DKRR: Zhang, Duchi and Wainwright (2015). FALKON: Rudi, Carratino and Rosasco (2017). KCGM: Lin
#: and Cevher (2018), *Kernel Conjugate Gradient Methods with Random Projections*. DC-NY, DNystroem
#: and DC-Sketch: Li, Liu and Wang (2023), *Optimal Convergence Rates for Distributed Nystroem
#: Approximation*. DKRR-RF: Li, Liu and Wang (2022), *Towards Sharp Analysis for Distributed
#: Learning with Random Features*. LSRank, DRank and DRank-C: Chen et al. (2019, 2021). MPRank:
#: Cortes, Mohri and Rastogi (2007), which has the minimizer of LSRank at ``alpha = 1 / C``, and
#: chooses C by leave-one-out. DRank-RF and DRank-RF-C: *Distributed Least Square Ranking with
#: Random Features*, whose rounds omit pairs of rows in different shards: pass the shards as ``qid``
#: for that. CRED: Murata and Suzuki (2021), *Gradient Descent in RKHS with Importance Labeling*;
#: KTR3: Jun, Cutkosky and Orabona (2019); SSSR: Ji et al. (2012).
RECIPES: dict[str, Recipe] = {
    "KRR": Recipe("exact kernel ridge regression", FullKernel),
    "KRR-RF": Recipe("ridge regression on random features", RandomFeatures),
    "KRR-Nystroem": Recipe("ridge regression on landmarks", Landmarks),
    "FALKON": Recipe(
        "landmarks by preconditioned conjugate gradients", Landmarks, PreconditionedCG
    ),
    "DKRR": Recipe("exact kernel in every shard, averaged", FullKernel, combine=Average()),
    "DC-NY": Recipe(
        "local landmarks in every shard, averaged",
        Landmarks,
        combine=Average(local_basis=True),
    ),
    "DNystroem": Recipe("landmarks shared by all shards, averaged", Landmarks, combine=Average()),
    "DKRR-RF": Recipe(
        "random features shared by all shards, averaged", RandomFeatures, combine=Average()
    ),
    "DC-Sketch": Recipe("a local sketch in every shard, averaged", Sketch, combine=Average()),
    "KCGM": Recipe("kernel conjugate gradients on the exact kernel", FullKernel, KCGM),
    "sketched KCGM": Recipe("kernel conjugate gradients on a sketch", Sketch, KCGM),
    "Nystroem KCGM": Recipe("kernel conjugate gradients on landmarks", Landmarks, KCGM),
    "GD": Recipe("gradient descent, stopped early", RandomFeatures, GradientDescent),
    "KRR-Nystroem leverage": Recipe(
        "ridge regression on landmarks by leverage scores", partial(Landmarks, sampling="leverage")
    ),
    "Nystroem KCGM leverage": Recipe(
        "kernel conjugate gradients on landmarks by leverage scores",
        partial(Landmarks, sampling="leverage"),
        KCGM,
    ),
    "DKRR-RF data-dependent": Recipe(
        "features drawn by labels with weights p/q, shared by all shards, averaged",
        partial(RandomFeatures, sampling="labels", weighting="paper"),
        combine=Average(),
    ),
    "DKRR-RF unbiased": Recipe(
        "the same with weights sqrt(p/q), which keep the kernel (not in the paper)",
        partial(RandomFeatures, sampling="labels", weighting="unbiased"),
        combine=Average(),
    ),
    "DKRR-RF selected": Recipe(
        "features selected by labels, without weights (not in the paper)",
        partial(RandomFeatures, sampling="labels", weighting="none"),
        combine=Average(),
    ),
    "DKRR-RF semi-supervised": Recipe(
        "shared features, averaged; fit with unlabelled rows (NaN, or X_unlabelled)",
        RandomFeatures,
        combine=Average(),
    ),
    "CRED": Recipe("ridge regression on rows from an ImportanceLabeller", FullKernel),
    "CRED-GD": Recipe(
        "gradient descent on rows from an ImportanceLabeller", FullKernel, GradientDescent
    ),
    "RF-CRED-GD": Recipe("the same with random features", RandomFeatures, GradientDescent),
    "KTR3": Recipe(
        "ridge regression on a random prefix of the rows, clipped",
        FullKernel,
        estimator=TruncatedRidge,
    ),
    "SSSR": Recipe(
        "least squares on the first eigenfunctions of all rows",
        Landmarks,
        None,
        selection=None,
        estimator=EigenfunctionRegressor,
    ),
    "LSRank": Recipe("exact least-squares ranking", FullKernel, estimator=KernelRanker),
    "MPRank": Recipe(
        "magnitude-preserving ranking: the exact kernel, alpha by leave-one-out",
        FullKernel,
        estimator=KernelRanker,
        selection="loo",
    ),
    "DRank": Recipe(
        "exact ranking in every shard, averaged",
        FullKernel,
        combine=Average(),
        estimator=KernelRanker,
    ),
    "DRank-C": Recipe(
        "exact ranking by Newton rounds from the average; shards exchange rows",
        FullKernel,
        combine=NewtonRounds(),
        estimator=KernelRanker,
    ),
    "DRank-RF": Recipe(
        "ranking on random features shared by all shards, averaged",
        RandomFeatures,
        combine=Average(),
        estimator=KernelRanker,
    ),
    "DRank-RF-C": Recipe(
        "ranking on shared random features, by Newton rounds from zero",
        RandomFeatures,
        combine=NewtonRounds(start="zero"),
        estimator=KernelRanker,
    ),
}


def recipe(
    name: str,
    task: Literal["regression", "classification"] | None = None,
    *,
    n_components: int | None = None,
    **parameters: Any,
) -> KernelRegressor | KernelClassifier | KernelRanker | EigenfunctionRegressor:
    """Return the estimator for a published method.

    Parameters
    ----------
    name : str
        A key of :data:`RECIPES`.
    task : "regression" or "classification", or None
        Which estimator to use if the recipe does not determine it; None means regression.
    n_components : int or None
        M, the number of functions; not allowed for the exact kernel.
    **parameters
        Further parameters of the estimator: ``kernel``, ``alpha``, ``shards`` and so on. Without
        ``kernel`` it is a Gaussian; a bandwidth that is not given is the median distance.
    """
    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}{closest(name, RECIPES)}")
    found = RECIPES[name]
    if task is not None:
        check_choice(task, "task", ["regression", "classification"])
        if found.estimator is not None:
            raise ValueError(f"{name} is always a {found.estimator.__name__}: omit task=")
    taken = {"basis": "n_components", "combine": "another recipe"}
    if found.combine is None:
        taken["shards"] = "a recipe that averages, or KernelRegressor itself"
    for parameter, instead in taken.items():
        if parameter in parameters:
            raise ValueError(f"{parameter}= is not a parameter of {name}: use {instead}")
    if n_components is not None and found.basis is FullKernel:
        raise ValueError(f"{name} has one function per row: omit n_components=")
    basis = found.basis() if n_components is None else found.basis(n_components)
    kernel = as_in_paper(parameters.pop("kernel", Gaussian()))
    parts: dict[str, Any] = {"kernel": kernel, "basis": basis}
    if found.solver is not None:
        choices = {"selection": found.selection, "metric": None, "scale": None}
        table = {"columns": None, "missing": "error", "unlabelled": "use"}
        parts.update(solver=found.solver(), **choices, **table)
    if found.combine is not None:
        if "shards" not in parameters and "engine" not in parameters:
            raise ValueError(
                f"{name} needs shards: set shards= or engine= (shards=None if "
                f"shard_labels, files or partitions define them)"
            )
        parts["combine"] = type(found.combine)(**found.combine.get_params())
    by_task = KernelClassifier if task == "classification" else KernelRegressor
    made: KernelRegressor | KernelClassifier | KernelRanker | EigenfunctionRegressor
    made = (found.estimator or by_task)(**{**parts, **parameters})
    return made


def as_in_paper(kernel: Any) -> str | Kernel:
    """Return a kernel whose bandwidths are fixed before the fit; "auto" stays as it is.

    >>> as_in_paper("matern")
    Matern(bandwidth='median')
    """
    if isinstance(kernel, str) and kernel == "auto":
        return kernel
    found: Kernel = clone(as_kernel(kernel))
    found.set_params(**dict.fromkeys(found.parameters_with("auto"), "median"))
    return found
