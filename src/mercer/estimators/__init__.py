"""Estimators with scikit-learn's interface."""

from mercer.estimators.active_learner import ActiveLearner
from mercer.estimators.classifier import KernelClassifier
from mercer.estimators.error_parts_display import ErrorPartsDisplay
from mercer.estimators.explanation import Explanation
from mercer.estimators.fit_plan import FitPlan
from mercer.estimators.interval_display import IntervalDisplay
from mercer.estimators.kernel_estimator import KernelEstimator
from mercer.estimators.labeller import ImportanceLabeller
from mercer.estimators.leverage_display import ResidualLeverageDisplay
from mercer.estimators.metric_display import MetricDisplay
from mercer.estimators.path_display import SolverPathDisplay
from mercer.estimators.plan_display import PlanDisplay
from mercer.estimators.ranker import KernelRanker
from mercer.estimators.regressor import KernelRegressor
from mercer.estimators.reliability_display import ReliabilityDisplay
from mercer.estimators.rows_curve_display import RowsCurveDisplay
from mercer.estimators.search_display import SearchDisplay
from mercer.estimators.size_path_display import SizePathDisplay
from mercer.estimators.summary import Summary

__all__ = [
    "ActiveLearner",
    "ErrorPartsDisplay",
    "Explanation",
    "FitPlan",
    "ImportanceLabeller",
    "IntervalDisplay",
    "KernelClassifier",
    "KernelEstimator",
    "KernelRanker",
    "KernelRegressor",
    "MetricDisplay",
    "PlanDisplay",
    "ReliabilityDisplay",
    "ResidualLeverageDisplay",
    "RowsCurveDisplay",
    "SearchDisplay",
    "SizePathDisplay",
    "SolverPathDisplay",
    "Summary",
]
