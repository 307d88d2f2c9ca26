"""Estimators with scikit-learn's interface."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mercer.estimators.classifier import KernelClassifier
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.ranker import KernelRanker
from mercer.estimators.regressor import KernelRegressor
from mercer.report import Summary
from mercer.theory.fit_plan import FitPlan

__all__ = [
    "FitPlan",
    "KernelClassifier",
    "KernelEstimator",
    "KernelRanker",
    "KernelRegressor",
    "Summary",
]


def __getattr__(name: str) -> Any:
    """Return what had its place here before it got a folder of its own."""
    for folder in ("displays", "explain", "labelling"):
        found = getattr(import_module(f"mercer.{folder}"), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
