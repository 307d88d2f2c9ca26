"""Checks of a parameter: its signature, its row in the table, its paragraph in the docstring."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, cleandoc, signature
from typing import Any

from sklearn.base import clone

from mercer.estimators import KernelEstimator
from mercer.estimators.parameters import PARAMETERS, read_parameters
from mercer.testing.assertions import named, require

WHERE = "mercer.estimators.parameters.PARAMETERS"


def check_parameter(estimator: KernelEstimator, name: str) -> None:
    """Check that a parameter of an estimator is declared, documented and read as all others.

    Runs every function of ``PARAMETER_CHECKS``; the first property that fails raises.

    Parameters
    ----------
    estimator : KernelEstimator
        An unfitted estimator with default parameters; it stays as it is.
    name : str
        The parameter.

    Raises
    ------
    AssertionError
        It says which property failed.

    Examples
    --------
    >>> from mercer import KernelRegressor
    >>> check_parameter(KernelRegressor(), "missing")
    """
    for check in PARAMETER_CHECKS:
        check(estimator, name)


def check_signature(estimator: KernelEstimator, name: str) -> None:
    """The class has it with a default, which is stored as it is; clones have it too."""
    parameters = signature(type(estimator)).parameters
    require(
        name in parameters and parameters[name].default is not Parameter.empty,
        f"{named(estimator)} must have the parameter {name!r} with a default in its __init__, got "
        f"{', '.join(parameters)}",
    )
    for model in (estimator, clone(estimator)):
        value, default = getattr(model, name, None), parameters[name].default
        require(
            repr(value) == repr(default),
            f"__init__ must store {name!r} as it is, {default!r}, got {value!r}: values are read "
            f"by {WHERE}",
        )


def check_row(estimator: KernelEstimator, name: str) -> None:
    """The table says how it is read; the default is valid, and reading leaves it as it is."""
    require(
        name in PARAMETERS,
        f"{name!r} must have a row in {WHERE}, which says how it is read and what it defines",
    )
    before = estimator.get_params(deep=False)
    read_parameters(estimator)
    after = estimator.get_params(deep=False)
    require(
        before.keys() == after.keys() and all(before[key] is after[key] for key in before),
        f"reading {name!r} must leave all parameters as they were passed: return a new value",
    )


def check_paragraph(estimator: KernelEstimator, name: str) -> None:
    """The docstring has a paragraph on it, whose type names only words that are valid."""
    types = documented_types(type(estimator))
    require(
        name in types,
        f"{name!r} must have a paragraph among the Parameters of {named(estimator)}, got "
        f"{', '.join(types)}",
    )
    for word in re.findall(r'"([^"]*)"', types[name]):
        try:
            PARAMETERS[name].read(word, name)
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"the docstring of {name!r} names {word!r}, which is refused: {error}"
            ) from error


def documented_types(kind: type[Any]) -> dict[str, str]:
    """Return the parameters in the docstring of a class, each with its type.

    >>> from mercer import KernelRegressor
    >>> documented_types(KernelRegressor)["missing"]
    '{"fill", "error"}'
    """
    text = cleandoc(kind.__doc__ or "").partition("Parameters\n----------\n")[2]
    text = re.split(r"\n\n\w+\n-+\n", text)[0]
    found = {}
    for entry in re.split(r"\n(?=\S)", text.replace(",\n", ", ")):
        names, _, type_ = entry.partition("\n")[0].partition(" : ")
        found.update(dict.fromkeys(names.split(", "), type_))
    return found


PARAMETER_CHECKS: list[Callable[[KernelEstimator, str], None]] = [
    check_signature,
    check_row,
    check_paragraph,
]
