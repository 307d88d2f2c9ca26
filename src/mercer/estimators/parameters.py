"""The table of parameters: how each is read, and what it defines.

Names, types and defaults are those of the signatures of the estimators; :data:`PARAMETERS` has what
a signature cannot say. All else derives from it: which parameters end a model when they change,
which end a warm start or a checkpoint, the nested names of ``set_params``, and options of the
command line. A parameter is read once for each fit, by :func:`read_parameters`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from mercer.bases import as_basis
from mercer.columns import TableEncoder
from mercer.combine import Combination, as_combination
from mercer.contracts import Penalty
from mercer.inference.probability_map import NAMES as CALIBRATIONS
from mercer.kernels import as_kernel
from mercer.opening.encoding import encoder_of
from mercer.opening.opened_rows import RowOptions
from mercer.opening.weighing import WEIGHT_TYPES, check_class_weight
from mercer.plan import parse_memory
from mercer.request import Problem
from mercer.search import SCALES, as_metric
from mercer.search.space import FORMS, auto_kernels
from mercer.selection import as_criterion
from mercer.solvers import SOLVERS, BaseSolver, as_solver
from mercer.validation import (
    LARGEST,
    check_alphas,
    check_choice,
    check_count,
    check_flag,
    check_number,
)

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

HINT = "; alpha is relative to the mean loss: scikit-learn's KernelRidge alpha / n"

#: Returns the value of a parameter, given what was passed and its name; raises if it is invalid.
Read = Callable[[Any, str], Any]
#: A part of a fit that checks its own parameters.
Part = TypeVar("Part", BaseSolver, Combination)
#: The values of all parameters, by name.
Values = dict[str, Any]


def anything(value: object, name: str) -> Any:
    """Read what is checked where it is used."""
    return value


@dataclass(frozen=True)
class Parameter:
    """What the signature of an estimator does not say of a parameter.

    Attributes
    ----------
    read : function of a value and the name of the parameter
        Returns the value that a fit uses; raises ValueError or TypeError if it is invalid.
    defines : "sums", "result", "seed" or "run"
        What depends on it: the sums over rows and with them the result; only the result; the random
        draws; or only how the fit runs. A change of the first ends a model that rows are added to,
        of the second a warm start, and of either a checkpoint.
    absent : object
        Its value for estimators that do not have it.
    as_object : function or None
        For parameters that are objects and can also be given by name: returns the object.
    example : str
        What to set before a parameter of the object, if it is "auto".
    help : str
        What its flag on the command line says of it; empty if it has none of its own.
    from_text : function of a text and the name of the flag
        Returns what is passed to the estimator for a text on the command line.
    """

    read: Read
    defines: Literal["sums", "result", "seed", "run"]
    absent: object = None
    as_object: Callable[[Any], Any] | None = None
    example: str = ""
    help: str = ""
    from_text: Read = anything


# -- how values are read -----------------------------------------------------------------------


def choice(*options: str) -> Read:
    """Return a reader of one of these words."""

    def read(value: object, name: str) -> Any:
        return check_choice(value, name, options)

    return read


def word(*options: str) -> Read:
    """Return a reader of one of these words on the command line, where "none" is None."""

    def read(text: object, name: str) -> str | None:
        found = check_choice(text, name, options)
        return None if found == "none" else found

    return read


def optional(read: Read) -> Read:
    """Return a reader that leaves None as it is."""

    def read_or_none(value: object, name: str) -> Any:
        return None if value is None else read(value, name)

    return read_or_none


def unless_auto(as_object: Callable[[Any], Any]) -> Read:
    """Return a reader of an object that can be given by name; "auto" is None."""

    def read(value: object, name: str) -> Any:
        return None if isinstance(value, str) and value == "auto" else as_object(value)

    return read


def by(function: Callable[[Any], Any]) -> Read:
    """Return a reader that applies a function, whose errors name the parameter themselves."""

    def read(value: object, name: str) -> Any:
        return function(value)

    return read


def checked(as_object: Callable[[Any], Part]) -> Read:
    """Return a reader of an object that can be given by name, and that checks its parameters."""

    def read(value: object, name: str) -> Part:
        found = as_object(value)
        found.check()
        return found

    return read


def as_given(check: Callable[[Any], object]) -> Read:
    """Return a reader that checks a value, and leaves it as it was given."""

    def read(value: object, name: str) -> Any:
        check(value)
        return value

    return read


def read_alpha(alpha: object, name: str) -> Penalty | None:
    """Read a penalty: a number, an array with one of each output, or None for "auto"."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return None
        raise ValueError(f"alpha must be a number of at least 0, or 'auto', got {alpha!r}")
    if isinstance(alpha, (list, tuple)) or (isinstance(alpha, np.ndarray) and alpha.ndim):
        check_outputs(alpha, len(alpha))
        numbers = [
            check_number(one, f"alpha of output {place}", minimum=0.0, maximum=LARGEST, hint=HINT)
            for place, one in enumerate(np.asarray(alpha).tolist())
        ]
        return np.array(numbers)
    number = alpha.item() if isinstance(alpha, np.ndarray) else alpha
    return check_number(number, name, minimum=0.0, maximum=LARGEST, hint=HINT)


def check_outputs(alpha: ArrayLike, outputs: int) -> None:
    """Raise ValueError unless there is one alpha for each output."""
    if np.shape(alpha) != (outputs,):
        raise ValueError(
            f"alpha must be one number, or one for each of the {outputs} columns of y, got shape "
            f"{np.shape(alpha)}"
        )


def read_verbose(value: object, name: str) -> float:
    """Read how much is said; True is 1."""
    return check_number(int(value) if isinstance(value, bool) else value, name)


def read_path(path: object, name: str) -> Path:
    """Read the path of a folder."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be the path of a folder, or None, got {type(path).__name__}")
    return Path(path)


# -- the table ---------------------------------------------------------------------------------

PARAMETERS: dict[str, Parameter] = {
    "alpha": Parameter(read_alpha, "result"),
    "kernel": Parameter(
        unless_auto(as_kernel),
        "sums",
        as_object=as_kernel,
        example="kernel='gaussian' or another",
    ),
    "basis": Parameter(
        unless_auto(as_basis),
        "sums",
        as_object=as_basis,
        example="basis='landmarks' or basis='random_features'",
    ),
    "metric": Parameter(
        by(as_metric),
        "sums",
        help="The metric to learn: auto, diagonal, full or none.",
        from_text=word(*FORMS, "none"),
    ),
    "scale": Parameter(
        optional(choice(*SCALES)),
        "sums",
        help="How columns are scaled: auto, standard, quantile or none.",
        from_text=word(*SCALES, "none"),
    ),
    "columns": Parameter(by(encoder_of), "sums"),
    "missing": Parameter(
        choice("fill", "error"),
        "sums",
        help="Missing values of features: fill them, or refuse with error.",
        from_text=choice("fill", "error"),
    ),
    "unlabelled": Parameter(
        choice("drop", "use", "require"),
        "result",
        help="Rows without a target: drop, use in sums over features, or require some.",
        from_text=choice("drop", "use", "require"),
    ),
    "fit_intercept": Parameter(check_flag, "sums", absent=True),
    "weight_type": Parameter(
        choice(*WEIGHT_TYPES),
        "sums",
        absent="frequency",
        help="What weights are: frequency (repeated rows), relative or importance.",
        from_text=choice(*WEIGHT_TYPES),
    ),
    "class_weight": Parameter(as_given(check_class_weight), "sums"),
    "solver": Parameter(
        checked(as_solver),
        "sums",
        as_object=as_solver,
        help="auto, ridge, pcg, kcgm, gradient_descent or cutoff.",
        from_text=choice(*SOLVERS),
    ),
    "selection": Parameter(
        by(as_criterion),
        "result",
        as_object=as_criterion,
        help="How alpha is chosen: auto, gcv, kfold or loo (rankings leave out queries).",
    ),
    "combine": Parameter(
        checked(as_combination),
        "result",
        as_object=as_combination,
        help="How shards are combined: sum, average, newton or conjugate.",
    ),
    "rounds": Parameter(
        check_count, "result", help="The number of rounds of --combine newton or conjugate."
    ),
    "alphas": Parameter(optional(by(check_alphas)), "result"),
    "alpha_per_target": Parameter(check_flag, "result", absent=False),
    "intervals": Parameter(optional(choice("cv+", "jackknife+")), "result"),
    "calibration": Parameter(optional(choice(*CALIBRATIONS)), "result"),
    "pair_weighting": Parameter(choice("pair", "query"), "result", absent="pair"),
    "dtype": Parameter(
        choice("auto", "float32", "float64"), "result", help="auto, float32 or float64."
    ),
    "memory_limit": Parameter(
        as_given(parse_memory),
        "result",
        help="How much memory to use, such as 2GB; auto is half of what is free.",
    ),
    "warm_start": Parameter(check_flag, "result", absent=False),
    "remember_rows": Parameter(check_flag, "result", absent=False),
    "shards": Parameter(
        optional(check_count), "result", help="Split the rows into this many shards."
    ),
    "shuffle": Parameter(check_flag, "result"),
    "random_state": Parameter(anything, "seed"),
    "verbose": Parameter(read_verbose, "run"),
    "engine": Parameter(anything, "run", help="The address of a Dask scheduler, tcp://host:8786."),
    "checkpoint": Parameter(
        optional(read_path),
        "run",
        help="A folder to resume from if a fit over shards is stopped.",
    ),
}

#: Parameters that decide which functions are summed, and which problem is solved: they may not
#: change while rows come and go. All others, such as alpha, take effect in the next call.
FIXED = tuple(name for name, known in PARAMETERS.items() if known.defines == "sums")


def read_parameters(estimator: KernelEstimator) -> Values:
    """Return the value of every parameter; raise ValueError or TypeError if one is invalid."""
    passed = vars(estimator)
    values: Values = {
        name: known.read(passed[name], name) if name in passed else known.absent
        for name, known in PARAMETERS.items()
    }
    if values["columns"] is not None and not isinstance(estimator.columns, TableEncoder):
        values["columns"].missing = values["missing"]
    return values


def parameters_that_define(estimator: KernelEstimator, *what: str) -> Values:
    """Return the parameters, as they were passed, that define one of these; see Parameter.

    Those of a subclass that the table does not know may change the result.
    """
    passed = estimator.get_params(deep=False)
    unknown = Parameter(anything, "result")
    return {
        name: value
        for name, value in passed.items()
        if PARAMETERS.get(name, unknown).defines in what
    }


def check_parameters(estimator: KernelEstimator) -> None:
    """Raise ValueError or TypeError if a parameter, or two of them together, are invalid."""
    estimator._problem(read_parameters(estimator))


def problem_of(estimator: KernelEstimator, values: Values, ranks: bool = False) -> Problem:
    """Return what an estimator solves, with parameters that go together."""
    check_together(estimator, values)
    is_open = isinstance(estimator.solver, str) and estimator.solver == "auto"
    return Problem(
        kernel=values["kernel"] or auto_kernels()[0],
        basis=values["basis"],
        solver=None if is_open else values["solver"],
        alpha=values["alpha"],
        alphas=values["alphas"],
        alpha_per_target=values["alpha_per_target"],
        criterion=values["selection"],
        intercept=values["fit_intercept"],
        dtype=values["dtype"],
        combination=values["combine"],
        rounds=values["rounds"],
        ranks=ranks,
    )


def row_options(estimator: KernelEstimator, values: Values) -> RowOptions:
    """Return how the rows of an estimator are read."""
    kernel, encoder = values["kernel"], values["columns"]
    pairwise = kernel is not None and kernel.pairwise
    return RowOptions(
        estimator,
        pairwise,
        sparse=kernel is None or kernel.accepts_sparse,
        tables=encoder is not None and not pairwise,
        encoder=None if pairwise else encoder,
        combination=values["combine"],
        basis_seed=getattr(values["basis"], "random_state", None),
        identity=parameters_that_define(estimator, "sums", "result"),
        # What opening rows takes as it is has the name of its parameter.
        **{field.name: values[field.name] for field in fields(RowOptions) if field.name in values},
    )


def check_together(estimator: KernelEstimator, values: Values) -> None:
    """Raise ValueError or TypeError for parameters that do not go together."""
    alpha, solver, criterion = values["alpha"], values["solver"], values["selection"]
    if np.ndim(alpha) > 0 and "alpha_per_target" not in estimator.get_params(deep=False):
        raise TypeError(
            f"alpha of a {type(estimator).__name__} must be one number or 'auto', since its "
            f"outputs are one problem, got {type(estimator.alpha).__name__}: one for each column "
            f"of y is for KernelRegressor"
        )
    basis = values["basis"]
    if basis is not None and basis.kernel is not None:
        raise ValueError(
            f"the basis has its own kernel, {basis.kernel!r}: inside an estimator, "
            f"pass it as {type(estimator).__name__}(kernel=...) and leave it None in the basis"
        )
    check_alphas_of_outputs(estimator, values)
    no_shortcut = criterion.second_pass and not criterion.falls_back
    if solver.cuts_off and alpha is None and no_shortcut:
        raise ValueError(
            f"{criterion.label} has no shortcut for solver='cutoff', whose components depend "
            f"on every row: use selection='gcv' or 'kfold'"
        )


def check_alphas_of_outputs(estimator: KernelEstimator, values: Values) -> None:
    """Raise ValueError if outputs cannot have penalties of their own: with other than one A."""
    alpha, solver = values["alpha"], values["solver"]
    several = np.ndim(alpha) > 0
    if not (several or (alpha is None and values["alpha_per_target"])):
        return
    what = "an alpha of each output" if several else "alpha_per_target=True"
    if solver.regularized_by_steps:
        raise ValueError(
            f"{what} needs a penalty, but {type(solver).__name__} regularizes all outputs by one "
            f"number of steps: use solver='ridge', or a model for each output"
        )
    if solver.needs == "products":
        raise ValueError(
            f"{what} needs a decomposition, but products solve for one alpha: use solver='ridge'"
        )
    if values["combine"].depends_on_shards:
        raise ValueError(
            f"{what} needs the sums of all rows in one place, but combine={estimator.combine!r} "
            f"solves with one alpha in every shard: use combine='sum', or a model for each output"
        )
    if values["intervals"] == "jackknife+":
        raise ValueError(
            f"{what} would leave out every row once for each alpha: use intervals='cv+' or None"
        )


def with_objects(before: Values, params: Values) -> Values:
    """Return parameters in which a name is an object if a parameter of it is set too.

    Objects that are changed are copied, so that an error leaves the old ones as they were.
    """
    params = dict(params)
    for name, known in PARAMETERS.items():
        if known.as_object is None or name not in before:
            continue
        if not any(key.startswith(f"{name}__") for key in params):
            continue
        value = params.get(name, before[name])
        if not isinstance(value, str):
            params[name] = clone(known.as_object(value))
            continue
        if value == "auto" and known.example:
            raise ValueError(f"{name}='auto' has no parameters: set {known.example} too")
        params[name] = known.as_object(value)
    return params
