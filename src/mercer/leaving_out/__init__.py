"""Leave rows out: one at a time, with the landmark at them, by query, or by fold."""

from mercer.leaving_out.errors_on_folds import fold_errors
from mercer.leaving_out.fold_models import FoldModels, Model
from mercer.leaving_out.leave_one_out import LeftOut
from mercer.leaving_out.models_by_form import LeaveOut, check_one_row, models_without
from mercer.leaving_out.one_at_a_time import left_out, left_out_errors, prepare_left_out

__all__ = [
    "FoldModels",
    "LeaveOut",
    "LeftOut",
    "Model",
    "check_one_row",
    "fold_errors",
    "left_out",
    "left_out_errors",
    "models_without",
    "prepare_left_out",
]
