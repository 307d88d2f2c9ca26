"""Kernel least squares on pairs: settings, and alpha chosen by NDCG on the validation part."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from experiments.learning_to_rank.data import Fold, Judged
from experiments.learning_to_rank.methods import Method, Model, Settings, grid
from experiments.scaffold import Array
from mercer import Gaussian, KernelRanker, Landmarks, Linear, RandomFeatures
from mercer.metrics import ndcg
from mercer.selection import Criterion, Scored
from mercer.selection.criteria import Scores

SEED = 0
#: Alphas that one fit tries: three a decade.
ALPHAS = {"gaussian": np.geomspace(1e-7, 1.0, 22), "linear": np.geomspace(1e-5, 100.0, 22)}
SCALINGS = ("as given", "standardized", "quantiles")


class ValidationNDCG(Criterion):
    """Scores alphas by one minus NDCG@10 on other rows: one fit tries a whole path."""

    label = "NDCG@10 of the validation part"

    def __init__(self, rows: Judged) -> None:
        self.rows = rows

    def score(self, system: Scored, alphas: Array, rng: np.random.Generator) -> Scores:
        """Return one minus NDCG@10 for every alpha."""
        values = system.basis.evaluate(self.rows.X)
        found = (system.coefficients(system.spectrum.solve(alpha))[0] for alpha in alphas)
        orders = (values @ coefficients[:, 0] for coefficients in found)
        return Scores(np.array([1.0 - ndcg(self.rows.y, f, self.rows.qid) for f in orders]))


def scaler(name: str) -> Any:
    """Return what the columns go through first: fitted to the rows of the fit."""
    if name == "standardized":
        return StandardScaler()
    if name == "quantiles":
        return QuantileTransformer(n_quantiles=200, random_state=SEED)
    return FunctionTransformer()


def kernel_of(settings: Settings, X: Array) -> Gaussian | Linear:
    """Return the kernel; the bandwidth is in multiples of the median distance between rows."""
    if settings["kernel"] == "linear":
        return Linear()
    median = Gaussian("median").fitted(X)
    return median.with_bandwidth(settings["bandwidth"] * median.bandwidth)


def ranker(settings: Settings, X: Array, **alpha: Any) -> KernelRanker:
    """Return the ranker of these settings for rows that are scaled already."""
    linear = settings["kernel"] == "linear"  # whose features are the columns themselves
    return KernelRanker(
        kernel_of(settings, X),
        RandomFeatures() if linear else Landmarks(settings["landmarks"]),
        pair_weighting=settings["pair_weighting"],
        random_state=SEED,
        metric=None,
        scale=None,
        **alpha,
    )


def tune(settings: Settings, fold: Fold) -> tuple[Settings, Array]:
    """Fit with every alpha at once; return the best one, and its validation scores."""
    scale = scaler(settings["scaling"]).fit(fold.train.X)
    X, X_valid = scale.transform(fold.train.X), scale.transform(fold.valid.X)
    criterion = ValidationNDCG(Judged(X_valid, fold.valid.y, fold.valid.qid))
    model = ranker(settings, X, alphas=ALPHAS[settings["kernel"]], selection=criterion)
    model.fit(X, fold.train.y, fold.train.qid)
    return settings | {"alpha": model.alpha_}, model.predict(X_valid)


def fit(settings: Settings, rows: Judged) -> Model:
    """Fit with the alpha that was chosen."""
    scale = scaler(settings["scaling"]).fit(rows.X)
    X = scale.transform(rows.X)
    model = ranker(settings, X, alpha=settings["alpha"]).fit(X, rows.y, rows.qid)
    return lambda X: model.predict(scale.transform(X))


GAUSSIAN = Method(
    "KernelRanker, Gaussian",
    grid(
        kernel=["gaussian"],
        scaling=SCALINGS,
        bandwidth=[0.5, 1.0, 2.0, 4.0, 8.0],
        pair_weighting=["pair", "query"],
        landmarks=[500],
    ),
    grid(landmarks=[250, 1000, 2000]),
    tune,
    fit,
)
LINEAR = Method(
    "KernelRanker, linear",
    grid(kernel=["linear"], scaling=SCALINGS, pair_weighting=["pair", "query"]),
    (),
    tune,
    fit,
)
