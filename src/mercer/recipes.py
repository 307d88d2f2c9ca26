"""Published methods by name: the basis, solver and combination of each.

A recipe is an estimator with these parts fixed; everything else remains a parameter. Nothing is
searched that the paper does not search: the bandwidth is the median distance unless it is given,
columns are not scaled, and there is no metric. There is no intercept either: in all of these papers
f is in H and all of it is penalized. ``fit_intercept=True`` adds one.

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
from mercer.labelling.active_learner import ActiveLearner
from mercer.labelling.labeller import ImportanceLabeller
from mercer.solvers import (
    KCGM,
    BaseSolver,
    GradientDescent,
    PreconditionedCG,
    Ridge,
    StopAtPenalty,
)
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
    draws: bool = False  # whether rows are drawn from a pool and labelled first
    unlabelled: str = "use"


#: DKRR: Zhang, Duchi and Wainwright (2015). KCGM: Lin and Cevher (2018), *Kernel Conjugate
#: Gradient Methods with Random Projections*. DNystroem: Li, Liu and Wang (2023), *Optimal
#: Convergence Rates for Distributed Nystroem Approximation*. DKRR-RF: Li, Liu and Wang (2022),
#: *Towards Sharp Analysis for Distributed Learning with Random Features*. DRank-RF and DRank-RF-C:
#: *Distributed Least Square Ranking with Random Features*. CRED: Murata and Suzuki (2021),
#: *Gradient Descent in RKHS with Importance Labeling*, algorithms 1 and 2 with lambda_q = lambda_*
#: = ``alpha`` and ``T = ceil(1 / (eta alpha))``, or the analytic solution of its section C.
#:
#: These papers compare with methods whose formulas are elsewhere. DC-NY: Yin, Liu, Lu, Wang and
#: Meng (2020), *Divide-and-conquer Learning with Nystroem*. FALKON: Rudi, Carratino and Rosasco
#: (2017), *FALKON: An Optimal Large Scale Kernel Method*. DC-Sketch: Lian, Liu and Fan (2021),
#: *Distributed Learning for Sketched Kernel Regression*. KTR3: Jun, Cutkosky and Orabona (2019),
#: *Kernel Truncated Randomized Ridge Regression*. SSSR: Ji, Yang, Lin, Jin and Han (2012), *A
#: Simple Algorithm for Semi-supervised Learning with Improved Generalization Error Bound*. LSRank:
#: H. Chen (2012), *The Convergence Rate of a Regularized Ranking Algorithm*. MPRank: Cortes, Mohri
#: and Rastogi (2007), *Magnitude-preserving Ranking Algorithms*, which has the minimizer of LSRank
#: at ``alpha = 1 / C``, and chooses C by leave-one-out. DRank: Chen, Li and Pan (2019), *Error
#: Analysis of Distributed Least Squares Ranking*. DRank-C: Chen, Wang, Wang and Zheng (2021),
#: *Distributed Ranking with Communications*.
#:
#: As in the papers, the rounds of DRank-C and DRank-RF-C omit pairs of rows in different shards,
#: and nothing stops them: ``set_params(combine__unstopped=False)`` does, and
#: ``set_params(combine__pairs="all")`` counts all pairs in DRank-RF-C. Averages weigh the model of
#: a shard by its share of all rows, ``n_j / n``, of rows with a label where some have none, and
#: rankings by ``n_j^2``. Equations (7) and (10) of Li, Liu and Wang (2022) have ``1 / m`` for
#: equal shards, which is the same, and ``n*_j / n*`` would count rows without labels. For unequal
#: shards the two averages differ by about ``c / sqrt(m)`` times the spread of the models of the
#: shards, where c is the coefficient of variation of what is counted: by .7 % of f in a regression
#: with ten shards of 90 to 110 rows, by 3.6 % with 50 to 150.
RECIPES: dict[str, Recipe] = {
    "KRR": Recipe("exact kernel ridge regression", FullKernel),
    "KRR-RF": Recipe("ridge regression on random features", RandomFeatures),
    "KRR-Nystroem": Recipe("ridge regression on landmarks", Landmarks),
    "FALKON": Recipe(
        "landmarks by preconditioned conjugate gradients (Rudi, Carratino and Rosasco, 2017)",
        Landmarks,
        PreconditionedCG,
    ),
    "DKRR": Recipe("exact kernel in every shard, averaged", FullKernel, combine=Average()),
    "DC-NY": Recipe(
        "local landmarks in every shard, averaged",
        Landmarks,
        combine=Average(local_basis=True),
    ),
    "DNystroem": Recipe("landmarks shared by all shards, averaged", Landmarks, combine=Average()),
    "DNystroem leverage": Recipe(
        "landmarks by leverage scores of all rows at alpha, shared by all shards, averaged",
        partial(Landmarks, sampling="leverage", candidates="all"),
        combine=Average(),
    ),
    "DKRR-RF": Recipe(
        "random features shared by all shards, averaged", RandomFeatures, combine=Average()
    ),
    "DC-Sketch": Recipe(
        "a local sketch in every shard, averaged (Lian, Liu and Fan, 2021)",
        Sketch,
        combine=Average(),
    ),
    "KCGM": Recipe("kernel conjugate gradients on the exact kernel", FullKernel, KCGM),
    "sketched KCGM": Recipe("kernel conjugate gradients on a sketch", Sketch, KCGM),
    "Nystroem KCGM": Recipe("kernel conjugate gradients on landmarks", Landmarks, KCGM),
    "GD": Recipe("gradient descent, stopped early", RandomFeatures, GradientDescent),
    "KRR-Nystroem leverage": Recipe(
        "ridge regression on landmarks by leverage scores at alpha",
        partial(Landmarks, sampling="leverage"),
    ),
    "Nystroem KCGM leverage": Recipe(
        "kernel conjugate gradients on landmarks by leverage scores at a penalty suited to M",
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
        "shared features, averaged; needs rows without labels (NaN in y, or X_unlabelled)",
        RandomFeatures,
        combine=Average(),
        unlabelled="require",
    ),
    "CRED": Recipe(
        "draw rows of a pool by importance, label them; weighted ridge regression",
        FullKernel,
        draws=True,
    ),
    "CRED-GD": Recipe(
        "draw rows of a pool by importance, label them; weighted gradient descent",
        FullKernel,
        partial(GradientDescent, StopAtPenalty(), 100_000),
        draws=True,
    ),
    "RF-CRED-GD": Recipe(
        "the same on random features, which score the rows and make up f",
        RandomFeatures,
        partial(GradientDescent, StopAtPenalty(), 100_000),
        draws=True,
    ),
    "KTR3": Recipe(
        "ridge regression on a random prefix of the rows, clipped (Jun et al., 2019)",
        FullKernel,
        estimator=TruncatedRidge,
    ),
    "SSSR": Recipe(
        "least squares on the first eigenfunctions of all rows (Ji et al., 2012)",
        Landmarks,
        None,
        selection=None,
        estimator=EigenfunctionRegressor,
    ),
    "LSRank": Recipe("exact least-squares ranking", FullKernel, estimator=KernelRanker),
    "MPRank": Recipe(
        "magnitude-preserving ranking, alpha by leave-one-out (Cortes, Mohri and Rastogi, 2007)",
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
        "exact ranking by Newton rounds; shards exchange rows (Chen et al., 2021)",
        FullKernel,
        combine=NewtonRounds(pairs="within_shards", unstopped=True),
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
        combine=NewtonRounds(start="zero", pairs="within_shards", unstopped=True),
        estimator=KernelRanker,
    ),
}


#: Parameters that labeller and model both have, for a recipe that draws rows.
BOTH = ("dtype", "memory_limit", "random_state", "verbose")
Made = KernelRegressor | KernelClassifier | KernelRanker | EigenfunctionRegressor | ActiveLearner


def recipe(
    name: str,
    task: Literal["regression", "classification"] | None = None,
    *,
    n_components: int | None = None,
    **parameters: Any,
) -> Made:
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
        Further parameters of the estimator: ``kernel``, ``alpha``, ``shards`` and so on, also those
        of its parts, such as ``solver__max_steps``. Without ``kernel`` it is a Gaussian; a
        bandwidth that is not given is the median distance. Recipes that draw rows are an
        :class:`ActiveLearner`: ``alpha`` and ``budget`` are those of its labeller, ``labeller__``
        and ``model__`` come before the names of other parameters.
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
        table = {"columns": None, "missing": "error", "unlabelled": found.unlabelled}
        parts.update(solver=found.solver(), **choices, **table)
        if found.estimator is not KernelRanker:
            parts["fit_intercept"] = False
    if found.combine is not None:
        if "shards" not in parameters and "engine" not in parameters:
            raise ValueError(
                f"{name} needs shards: set shards= or engine= (shards=None if "
                f"shard_labels, files or partitions define them)"
            )
        parts["combine"] = type(found.combine)(**found.combine.get_params())
    by_task = KernelClassifier if task == "classification" else KernelRegressor
    own = {key: value for key, value in parameters.items() if "__" not in key}
    nested = {key: value for key, value in parameters.items() if "__" in key}
    if found.draws:
        made: Made = learner(by_task, parts, own)
    else:
        made = (found.estimator or by_task)(**{**parts, **own})
    return made.set_params(**nested)


def learner(
    model: type[KernelRegressor] | type[KernelClassifier],
    parts: dict[str, Any],
    own: dict[str, Any],
) -> ActiveLearner:
    """Return a model behind a labeller that scores by the same kernel, functions and alpha."""
    drawing: dict[str, Any] = {name: own[name] for name in BOTH if name in own}
    drawing |= {name: own.pop(name) for name in ("alpha", "budget") if name in own}
    labeller = ImportanceLabeller(
        clone(parts["kernel"]), clone(parts["basis"]), columns=None, missing="error", **drawing
    )
    shared: dict[str, Any] = {"same_basis": True, "same_alpha": True}
    shared |= {name: own.pop(name) for name in (*shared, "weight_type") if name in own}
    return ActiveLearner(labeller, model(**{**parts, **own}), **shared)


def as_in_paper(kernel: str | Kernel) -> str | Kernel:
    """Return a kernel whose bandwidths are fixed before the fit; "auto" stays as it is.

    >>> as_in_paper("matern")
    Matern(bandwidth='median')
    """
    if isinstance(kernel, str) and kernel == "auto":
        return kernel
    found: Kernel = clone(as_kernel(kernel))
    found.set_params(**dict.fromkeys(found.parameters_with("auto"), "median"))
    return found
