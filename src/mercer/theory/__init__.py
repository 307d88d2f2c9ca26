"""Theory as a tool: exponents from data, what a system needs, and where errors come from."""

from mercer.theory.capacity import Capacity, capacity_of_rows
from mercer.theory.decomposition import ErrorParts, error_parts
from mercer.theory.forecast import Forecast, Forecaster, SystemForecast
from mercer.theory.learning_surface import Decay, Estimate, Point, PowerLaw, Surface
from mercer.theory.rows_curve import RowsCurve, measure_rows_curve
from mercer.theory.study import Study, study_rows
from mercer.theory.system_costs import Cluster

__all__ = [
    "Capacity",
    "Cluster",
    "Decay",
    "ErrorParts",
    "Estimate",
    "Forecast",
    "Forecaster",
    "Point",
    "PowerLaw",
    "RowsCurve",
    "Study",
    "Surface",
    "SystemForecast",
    "capacity_of_rows",
    "error_parts",
    "measure_rows_curve",
    "study_rows",
]
