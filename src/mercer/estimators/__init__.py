"""Estimators with scikit-learn's interface."""

from mercer.estimators.active_learner import ActiveLearner
from mercer.estimators.classifier import KernelClassifier
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.labeller import ImportanceLabeller
from mercer.estimators.metric_display import MetricDisplay
from mercer.estimators.path_display import SolverPathDisplay
from mercer.estimators.ranker import KernelRanker
from mercer.estimators.regressor import KernelRegressor
from mercer.estimators.search_display import SearchDisplay
from mercer.estimators.summary import Summary

__all__ = [
    "ActiveLearner",
    "ImportanceLabeller",
    "KernelClassifier",
    "KernelEstimator",
    "KernelRanker",
    "KernelRegressor",
    "MetricDisplay",
    "SearchDisplay",
    "SolverPathDisplay",
    "Summary",
]
