"""Estimators with scikit-learn's interface."""

from mercer.estimators.classifier import KernelClassifier
from mercer.estimators.display import SolverPathDisplay
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.labeller import ImportanceLabeller
from mercer.estimators.ranker import KernelRanker
from mercer.estimators.regressor import KernelRegressor
from mercer.estimators.summary import Summary

__all__ = [
    "ImportanceLabeller",
    "KernelClassifier",
    "KernelEstimator",
    "KernelRanker",
    "KernelRegressor",
    "SolverPathDisplay",
    "Summary",
]
