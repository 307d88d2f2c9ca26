"""Copies of estimators: engines are connections, which are neither copied nor stored."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from mercer.estimators.sharding import stored_engine


def cloned(estimator: Any) -> Any:
    """Copy the parameters of an estimator except its engine, which is shared."""
    engine = estimator.engine
    if engine is None:
        return BaseEstimator.__sklearn_clone__(estimator)
    plain = estimator.get_params(deep=False)
    bare = type(estimator)(**{**plain, "engine": None})
    for name in ("_metadata_request", "_sklearn_output_config"):
        if hasattr(estimator, name):
            setattr(bare, name, getattr(estimator, name))
    found = BaseEstimator.__sklearn_clone__(bare)
    found.engine = engine
    return found


def without_connection(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an estimator, with an engine as its address."""
    return {**state, "engine": stored_engine(state["engine"])} if "engine" in state else state
