"""Plots of fitted models, in one style, with scikit-learn's interface of displays."""

from mercer.displays.error_parts_display import ErrorPartsDisplay
from mercer.displays.interval_display import IntervalDisplay
from mercer.displays.leverage_display import ResidualLeverageDisplay
from mercer.displays.metric_display import MetricDisplay
from mercer.displays.path_display import SolverPathDisplay
from mercer.displays.plan_display import PlanDisplay
from mercer.displays.reliability_display import ReliabilityDisplay
from mercer.displays.rows_curve_display import RowsCurveDisplay
from mercer.displays.search_display import SearchDisplay
from mercer.displays.size_path_display import SizePathDisplay

__all__ = [
    "ErrorPartsDisplay",
    "IntervalDisplay",
    "MetricDisplay",
    "PlanDisplay",
    "ReliabilityDisplay",
    "ResidualLeverageDisplay",
    "RowsCurveDisplay",
    "SearchDisplay",
    "SizePathDisplay",
    "SolverPathDisplay",
]
