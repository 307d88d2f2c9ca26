"""Gradient-boosted trees: XGBoost and LightGBM, which only this experiment needs."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from experiments.learning_to_rank.data import Fold, Judged
from experiments.learning_to_rank.methods import Method, Model, Settings, grid
from experiments.scaffold import Array

SEED = 0
#: Trees at most, and how many may pass without a better NDCG@10 on the validation part.
MOST_TREES, PATIENCE = 1000, 50
INSTALL = {"xgboost": "pip install xgboost-cpu", "lightgbm": 'pip install "lightgbm>=4.7"'}


def package(name: str) -> Any:
    """Import a package, or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this experiment compares with {name}, which is not installed: {INSTALL[name]}"
        ) from error


def xgboost_ranker(objective: str, settings: Settings, **further: Any) -> Any:
    """Return XGBoost's ranker on one thread."""
    return package("xgboost").XGBRanker(
        objective=objective,
        tree_method="hist",
        n_jobs=1,
        random_state=SEED,
        **({"n_estimators": MOST_TREES} | settings | further),
    )


def tune_xgboost(objective: str, settings: Settings, fold: Fold) -> tuple[Settings, Array]:
    """Add trees until NDCG@10 of the validation part no longer rises."""
    stop = {"early_stopping_rounds": PATIENCE, "eval_metric": "ndcg@10"}
    train, valid = fold.train, fold.valid
    model = xgboost_ranker(objective, settings, **stop).fit(
        train.X,
        train.y,
        qid=train.qid,
        eval_set=[(valid.X, valid.y)],
        eval_qid=[valid.qid],
        verbose=False,
    )
    return settings | {"n_estimators": model.best_iteration + 1}, model.predict(valid.X)


def fit_xgboost(objective: str, settings: Settings, rows: Judged) -> Model:
    """Fit with the number of trees that was chosen."""
    model = xgboost_ranker(objective, settings).fit(rows.X, rows.y, qid=rows.qid)
    return lambda X: model.predict(X)


def lightgbm_ranker(settings: Settings) -> Any:
    """Return LightGBM's ranker on one thread."""
    return package("lightgbm").LGBMRanker(
        objective="lambdarank",
        n_jobs=1,
        random_state=SEED,
        deterministic=True,
        force_row_wise=True,
        subsample_freq=1,
        verbose=-1,
        **({"n_estimators": MOST_TREES} | settings),
    )


def tune_lightgbm(settings: Settings, fold: Fold) -> tuple[Settings, Array]:
    """Add trees until NDCG@10 of the validation part no longer rises."""
    train, valid = fold.train, fold.valid
    stop = package("lightgbm").early_stopping(PATIENCE, verbose=False)
    model = lightgbm_ranker(settings).fit(
        train.X,
        train.y,
        group=train.sizes,
        eval_X=(valid.X,),
        eval_y=(valid.y,),
        eval_group=[valid.sizes],
        eval_at=[10],
        callbacks=[stop],
    )
    return settings | {"n_estimators": model.best_iteration_}, model.predict(valid.X)


def fit_lightgbm(settings: Settings, rows: Judged) -> Model:
    """Fit with the number of trees that was chosen."""
    model = lightgbm_ranker(settings).fit(rows.X, rows.y, group=rows.sizes)
    return lambda X: model.predict(X)


#: Against overfitting, tried with the best of the grid: the same for all trees.
CHANGES: tuple[Settings, ...] = (
    {"subsample": 0.7},
    {"colsample_bytree": 0.5},
    {"subsample": 0.7, "colsample_bytree": 0.5},
    {"reg_lambda": 10.0},
    {"reg_lambda": 100.0},
    {"subsample": 0.7, "colsample_bytree": 0.5, "reg_lambda": 10.0},
)


def xgboost_method(objective: str) -> Method:
    """Return XGBoost with one of its objectives."""
    return Method(
        f"XGBoost, {objective}",
        grid(
            learning_rate=[0.03, 0.1, 0.3], max_depth=[2, 4, 6], min_child_weight=[0.1, 1.0, 10.0]
        ),
        CHANGES,
        partial(tune_xgboost, objective),
        partial(fit_xgboost, objective),
        partial(package, "xgboost"),
    )


PAIRWISE, NDCG = xgboost_method("rank:pairwise"), xgboost_method("rank:ndcg")
LAMBDARANK = Method(
    "LightGBM, lambdarank",
    grid(learning_rate=[0.03, 0.1, 0.3], num_leaves=[4, 12, 31], min_child_samples=[5, 20, 80]),
    CHANGES,
    tune_lightgbm,
    fit_lightgbm,
    partial(package, "lightgbm"),
)
